"""Verification: results of the repository's own tests, run by the host on a commit. Facts, except for the output."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from bot.domain.change import Objection


class CheckResult(StrEnum):
    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CountedTests:
    """Numbers that the test runner printed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    @property
    def none_ran(self) -> bool:
        """No test ran."""
        return not self.ran


@dataclass(frozen=True, slots=True)
class VerifiedCommand:
    """A command, run once."""

    command: str
    folder: str = ""
    """In which it ran, seen from the worktree."""
    exit_code: int | None = None
    """Exit code; unset if it did not exit by itself."""
    seconds: float = 0.0
    counts: CountedTests | None = None
    """Unset if its output has no counts in a known format."""
    problem: str = ""
    """Why it says nothing about the commit: it was not run, or ended for something else."""
    timed_out: bool = False
    """It took too long, and was ended."""
    output: str = ""
    """The end of what it printed. Untrusted."""

    def __str__(self) -> str:
        return f"{self.command} in {self.folder}" if self.folder else self.command

    @property
    def result(self) -> CheckResult:
        if self.problem or (self.exit_code is None and not self.timed_out):
            return CheckResult.UNKNOWN
        return CheckResult.GREEN if self.exit_code == 0 and not self.timed_out else CheckResult.RED


@dataclass(frozen=True, slots=True)
class Verification:
    commit: str
    """The commit it was run on."""
    base: str = ""
    """The commit it is held against."""
    commands: tuple[VerifiedCommand, ...] = ()
    base_commands: tuple[VerifiedCommand, ...] = ()
    """Results on the base: of failed commands, and of those whose result is known or whose tests changed."""
    problem: str = ""
    """Why something is not known."""
    setup: str = ""
    """Setup of the worktree in words, with the commands that had network and those that had none."""
    test_files: tuple[str, ...] = ()
    """Files of the change that decide what the tests say: tests and settings of their runner."""
    objection: Objection | None = None
    """Setup did not work for this commit; a person may approve that it runs with network."""

    def find_on_base(self, trial: VerifiedCommand) -> VerifiedCommand | None:
        return next((one for one in self.base_commands if str(one) == str(trial)), None)

    @property
    def regressions(self) -> tuple[VerifiedCommand, ...]:
        """Returns commands that failed but passed on the base."""
        red = (trial for trial in self.commands if trial.result is CheckResult.RED)
        return tuple(
            trial for trial in red if (old := self.find_on_base(trial)) and old.result is CheckResult.GREEN
        )  # fmt: skip

    def tests_lost(self, trial: VerifiedCommand) -> int:
        """Number of tests that ran on the base but not on the commit, as their runner counts them."""
        old = self.find_on_base(trial)
        return max(old.counts.ran - trial.counts.ran, 0) if old and old.counts and trial.counts else 0

    @property
    def is_done(self) -> bool:
        return bool(self.commands)

    def without_output(self) -> Self:
        """Drops the output of every command except regressions, which the agent still has to read."""
        broken = self.regressions
        trials = tuple(one if one in broken else replace(one, output="") for one in self.commands)
        return replace(
            self, commands=trials, base_commands=tuple(replace(one, output="") for one in self.base_commands)
        )

"""Verification: results of the repository's own tests, run by the host on a commit. Facts, except for the output."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from bot.domain.change import Objection
from bot.domain.runner_report import CountedTests

_NAMES_KEPT = 30
_LONGEST_NAME = 200


class CheckResult(StrEnum):
    GREEN = "green"
    UNCOUNTED = "uncounted"
    """It ended with exit code 0, and no test is known to have run."""
    RED = "red"
    UNKNOWN = "unknown"


class ComparedBy(StrEnum):
    """Basis on which results on a commit and on its base could be compared."""

    NAMES = "names"
    COUNTS = "counts"
    EXIT_CODES = "exit codes"


@dataclass(frozen=True, slots=True)
class NamedTests:
    """Some tests of a command: how many, and as many of their names as people can use."""

    count: int = 0
    names: tuple[str, ...] = ()
    """Untrusted. The first of them; none if only the number is known."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Self:
        return cls(len(names), tuple(name[:_LONGEST_NAME] for name in names[:_NAMES_KEPT]))


@dataclass(frozen=True, slots=True)
class BaseComparison:
    """Effect of a change on the tests of one command."""

    by: ComparedBy = ComparedBy.EXIT_CODES
    is_broken: bool = False
    """The change broke it: a regression."""
    is_flaky: bool = False
    """It looked broken by the change, and a second run showed that it fails by chance."""
    broken: NamedTests = NamedTests()
    """Fail now, each time they ran, and not on the base."""
    flaky: NamedTests = NamedTests()
    """Failed once and passed once on the same commit."""
    still_failing: NamedTests = NamedTests()
    fixed: NamedTests = NamedTests()
    """Failed on the base and pass now."""
    vanished: NamedTests = NamedTests()
    """Ran on the base and not on the commit: deleted, skipped, left out, or lost in a crash."""
    added: NamedTests = NamedTests()
    was_repeated: bool = False
    """The command was run a second time before it was called broken."""


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
    against_base: BaseComparison | None = None
    """Unset if there is no result on the base, and in records of older versions."""

    def __str__(self) -> str:
        return f"{self.command} in {self.folder}" if self.folder else self.command

    @property
    def result(self) -> CheckResult:
        if self.problem or (self.exit_code is None and not self.timed_out):
            return CheckResult.UNKNOWN
        if self.exit_code or self.timed_out:
            return CheckResult.RED
        return CheckResult.UNCOUNTED if self.counts is None or self.counts.none_ran else CheckResult.GREEN


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
    without_network: bool = False
    """The commands could reach no host."""
    objection: Objection | None = None
    """Setup did not work for this commit; a person may approve that it runs with network."""

    def find_on_base(self, trial: VerifiedCommand) -> VerifiedCommand | None:
        return next((one for one in self.base_commands if str(one) == str(trial)), None)

    @property
    def regressions(self) -> tuple[VerifiedCommand, ...]:
        """Returns the commands that the change broke."""
        return tuple(one for one in self.commands if one.result is CheckResult.RED and self._is_broken(one))

    def _is_broken(self, command: VerifiedCommand) -> bool:
        if command.against_base:
            return command.against_base.is_broken
        old = self.find_on_base(command)
        return old is not None and old.result in {CheckResult.GREEN, CheckResult.UNCOUNTED}

    def vanished(self, command: VerifiedCommand) -> NamedTests:
        """Tests that ran on the base but not on the commit, as their runner says."""
        if command.against_base:
            return command.against_base.vanished
        old = self.find_on_base(command)
        return NamedTests(max(old.counts.ran - command.counts.ran, 0) if old and old.counts and command.counts else 0)

    @property
    def result(self) -> CheckResult:
        """The result of all commands: the worst. A linter that counts nothing takes nothing from tests that passed."""
        results = {one.result for one in self.commands}
        order = (CheckResult.RED, CheckResult.UNKNOWN, CheckResult.GREEN, CheckResult.UNCOUNTED)
        return next((one for one in order if one in results), CheckResult.UNKNOWN)

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

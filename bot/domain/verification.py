"""What came of running a repository's own tests: by the host's order, on a commit. Facts, but for what was printed."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class Standing(StrEnum):
    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Counts:
    """As the runner itself printed them."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def is_nothing(self) -> bool:
        """No test ran."""
        return not (self.passed or self.failed)


@dataclass(frozen=True, slots=True)
class Trial:
    """One command, run once."""

    command: str
    folder: str = ""
    """In which it ran, seen from the worktree."""
    code: int | None = None
    """How it exited; None: it did not by itself."""
    seconds: float = 0.0
    counts: Counts | None = None
    """None: it printed none that we know how to read."""
    problem: str = ""
    """Why it says nothing about the commit: it was not run, or ended for something else."""
    is_late: bool = False
    """It took too long, and was ended."""
    output: str = ""
    """The end of what it printed. Untrusted."""

    def __str__(self) -> str:
        return f"{self.command} in {self.folder}" if self.folder else self.command

    @property
    def standing(self) -> Standing:
        if self.problem or (self.code is None and not self.is_late):
            return Standing.UNKNOWN
        return Standing.GREEN if self.code == 0 and not self.is_late else Standing.RED


@dataclass(frozen=True, slots=True)
class Verification:
    commit: str
    """What it was run on."""
    base: str = ""
    """The commit it is held against."""
    trials: tuple[Trial, ...] = ()
    before: tuple[Trial, ...] = ()
    """On the base, of those that are red."""
    trouble: str = ""
    """Why something is not known."""

    def find_before(self, trial: Trial) -> Trial | None:
        return next((one for one in self.before if str(one) == str(trial)), None)

    @property
    def broken(self) -> tuple[Trial, ...]:
        """Red, and green on the base."""
        red = (trial for trial in self.trials if trial.standing is Standing.RED)
        return tuple(
            trial for trial in red if (old := self.find_before(trial)) and old.standing is Standing.GREEN
        )  # fmt: skip

    @property
    def is_done(self) -> bool:
        return bool(self.trials)

    def without_output(self) -> Self:
        """But of what is broken, which the agent is still to see."""
        broken = self.broken
        trials = tuple(one if one in broken else replace(one, output="") for one in self.trials)
        return replace(self, trials=trials, before=tuple(replace(one, output="") for one in self.before))

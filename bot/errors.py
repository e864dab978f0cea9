"""Every error the bot raises on purpose, named by what should happen next.

BotError
    Retryable           the next tick may succeed: log a warning
        DiskFull            ... once there is room: held against no run
        RateLimited         ... but not before `retry_after`
        Elsewhere           ... but another daemon has the repository now
    NeedsHuman          a retry cannot help: post it on the issue
        NeedsTurn           ... but the agent can fix it: another turn starts
        NoBranch            ... but the branch may have another name by now
        OverLimit           ... what an agent made is more than is read
    BadSettings         stop at the start: print the file, the key and the fix; exit 2
    CannotStart         stop at the start: a problem outside the settings; exit 1
        Damaged             ... a database cannot be read; the daemon may set it aside and create a new one
    MustRestart         only a new process can continue: end everything; exit 1
    Bug                 an invariant broke: isolate the run, print a traceback
        IllegalTransition

Each class is caught differently somewhere. Exceptions of a library never leave its adapter, which raises one of these
`from` the original.
"""

from pathlib import Path


class BotError(Exception):
    """Something went wrong."""

    def __str__(self) -> str:
        return super().__str__() or type(self).__doc__ or type(self).__name__


class Retryable(BotError):
    """A temporary problem. The operation is repeated soon."""


class DiskFull(Retryable):
    """A disk or a quota has no room left. Nobody's work is at fault."""


class RateLimited(Retryable):
    """The service asked for slower requests."""

    def __init__(self, message: str = "", *, retry_after: float) -> None:
        super().__init__(*([message] if message else []))
        self.retry_after = retry_after


class Elsewhere(Retryable):
    """Another daemon holds the lease of this repository."""


class NeedsHuman(BotError):
    """A person has to help."""


class NeedsTurn(NeedsHuman):
    """The agent has to fix this first."""


class NoBranch(NeedsHuman):
    """The base branch does not exist."""

    def __init__(self, branch: str) -> None:
        super().__init__(
            f"The base branch `{branch}` does not exist. Correct `base` in the settings or in the issue, or create the "
            "branch; then reply here."
        )
        self.branch = branch


class OverLimit(NeedsHuman):
    """The worktree exceeds a limit."""


class BadSettings(BotError):
    """The settings are invalid."""


class CannotStart(BotError):
    """A problem prevents the start."""


class Damaged(CannotStart):
    """A database is damaged."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class MustRestart(BotError):
    """The process cannot continue and has to be restarted."""


class Bug(BotError):
    """The program reached a state that should be impossible."""


class IllegalTransition(Bug):
    """A run tried a transition that is not in TRANSITIONS."""

"""Every error the bot raises on purpose, named by what should happen next.

BotError
    Retryable           the next tick may succeed: log a warning
        RateLimited         ... but not before `retry_after`
        Elsewhere           ... but another daemon has the repository now
    NeedsHuman          a retry cannot help: post it on the issue
        NeedsTurn           ... but the agent can fix it: another turn starts
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
    """A temporary problem. I will try again shortly."""


class RateLimited(Retryable):
    """The service asked me to slow down."""

    def __init__(self, message: str = "", *, retry_after: float) -> None:
        super().__init__(*([message] if message else []))
        self.retry_after = retry_after


class Elsewhere(Retryable):
    """Another treehand works on this repository."""


class NeedsHuman(BotError):
    """I cannot go on without help."""


class NeedsTurn(NeedsHuman):
    """The agent has to look at this first."""


class OverLimit(NeedsHuman):
    """There is more in the worktree than I read."""


class BadSettings(BotError):
    """The settings cannot be used as they are."""


class CannotStart(BotError):
    """Something is in the way of starting."""


class Damaged(CannotStart):
    """A database is damaged."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class MustRestart(BotError):
    """I cannot go on as I am. Start me again."""


class Bug(BotError):
    """I reached a state that should be impossible."""


class IllegalTransition(Bug):
    """A run tried to make a move that is not in TRANSITIONS."""

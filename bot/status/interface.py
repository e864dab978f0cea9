"""What pages may look at, and what people may do there. Filled in by `bot/status/dashboard_data.py` and `bot/control/user_actions.py`.

Rule: there is no private lever. What people do here becomes comments, labels and issues, like anybody else's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.comment import Remark
from bot.domain.health import Health
from bot.domain.history import Past
from bot.domain.journal import Entry
from bot.domain.run import Run
from bot.domain.wish import Wish
from bot.status.as_json import Picture


@dataclass(frozen=True, slots=True)
class Site:
    """A project, as somebody who wants something done has to know it."""

    name: str
    tracker: str
    """`local`, `github` or `linear`."""
    place: str
    """Where its issues are, for people."""
    has_own_forge: bool
    """Its pull requests are merged and closed here."""


class Window(Protocol):
    """Every method may take a while, so that it is called in a thread; any thread may."""

    @property
    def label(self) -> str:
        """Asks for work; and the prefix of our other labels."""
        ...

    def sites(self) -> Sequence[Site]: ...
    def picture(self) -> Picture: ...
    def stations(self) -> Sequence[Health]:
        """All that we depend on, well or not."""
        ...

    def outlooks(self) -> Mapping[str, Sequence[Health]]:
        """What each project was found to need before any run, and what is in the way. By project."""
        ...

    def past(self, since: float) -> Past:
        """What happened from then on."""
        ...

    def find_run(self, key: str) -> Run | None:
        """The newest of an issue."""
        ...

    def journal(self, run: Run) -> Sequence[Entry]: ...
    def transcript(self, run: Run, *, since: int = 0) -> Sequence[Mapping[str, object]]:
        """Its lines from this one on."""
        ...

    def diff(self, run: Run) -> str:
        """Of the branch against its base, as git prints it. Untrusted."""
        ...


class Voice(Protocol):
    """Raises NeedsHuman and Retryable, in words for people."""

    async def say(self, key: str, text: str, *, by: str) -> None: ...
    async def order(self, key: str, words: str, *, by: str) -> None:
        """A comment command without its prefix: `stop`, `budget 10`."""
        ...

    async def ask(self, wish: Wish, *, by: str) -> str:
        """The key of the issue it became."""
        ...

    # For the embedded forge alone: others have pages of their own.

    async def merge(self, key: str, *, squash: bool = False, by: str) -> str:
        """What became of it, in words."""
        ...

    async def ready(self, key: str, *, by: str) -> None: ...
    async def close(self, key: str, *, by: str) -> None: ...
    async def review(self, key: str, text: str, *, verdict: str, remarks: Sequence[Remark], by: str) -> None:
        """`verdict`: comment, approve or request changes."""
        ...

"""What the page of one run may look at besides the window. Filled in by `bot/status/run_details.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.comment import Remark
from bot.domain.diff_view import SeenFile, Sight, Version
from bot.domain.evidence import Piece
from bot.domain.run import Run
from bot.domain.setup_plan import Step
from bot.domain.spend import Spend
from bot.domain.transcript import Stretch
from bot.status.as_json import Glimpse


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said on the issue or its pull request."""

    where: str
    author: str
    ours: bool
    at: float
    text: str
    verdict: str = ""
    remarks: tuple[Remark, ...] = ()


class Closeup(Protocol):
    """Methods that are not async may take a while, so that they are called in a thread; any thread may."""

    async def see(self, run: Run) -> Sight:
        """What it changed so far, also while its agent works."""
        ...

    async def patch(self, run: Run, file: SeenFile) -> bytes:
        """Of one file of what was seen, as git tells it."""
        ...

    async def content(self, run: Run, version: Version | None) -> bytes: ...
    def glimpse(self, run: Run) -> Glimpse: ...
    def talk_before(self, run: Run, place: int | None) -> Stretch:
        """What was said and done, up to a place in its transcript; None: to its end."""
        ...

    def talk_after(self, run: Run, place: int) -> Stretch: ...
    def given(self, run: Run) -> Stretch:
        """What its agent was given to read, in all turns."""
        ...

    def spending(self, run: Run) -> Sequence[Spend]:
        """Turn by turn."""
        ...

    def said(self, run: Run) -> Sequence[Said]:
        """Oldest first; nothing where that is on a site of its own."""
        ...

    def evidence(self, run: Run) -> Sequence[Piece]:
        """What its agent left for people to see. Untrusted."""
        ...

    def find_evidence(self, run: Run, name: str) -> tuple[bytes, str] | None:
        """The content, and its media type."""
        ...

    def servers(self, run: Run) -> Mapping[str, Step] | None:
        """What a person can start in its worktree, by name. None: it has no worktree now."""
        ...

    async def show(
        self, run: Run, name: str, *, begun: Callable[[str, Step], None], heard: Callable[[Sequence[str]], None]
    ) -> str:
        """One of those, until it ends: why, in words. `begun` is told the address, `heard` the lines it prints."""
        ...

"""The servers that people have started from the dashboard, to look at the work: of each run one at a time.

Rule: none outlives the dashboard. What one prints is an agent's word: text, and only the end of it is kept.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from bot.domain.run import Run
from bot.domain.setup_plan import Step
from bot.errors import BotError, NeedsHuman, Retryable
from bot.status.closeup import Closeup
from bot.web.event_hub import Hub, topic_of

log = logging.getLogger(__name__)

_LINES, _LETTERS = 20, 300
_REMEMBERED = 100
"""So many that have ended."""


@dataclass(slots=True, eq=False)
class Show:
    name: str
    by: str
    address: str = ""
    """Empty: it has not begun."""
    ended: str = ""
    """Why, in words; empty: it has not."""
    change: int = 0
    """The number of the latest: there is no other by it."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """It has begun, or never will."""
    task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return not self.ended


class Shows:
    def __init__(self, closeup: Closeup, hub: Hub) -> None:
        self._closeup, self._hub = closeup, hub
        self._group: asyncio.TaskGroup | None = None
        self._shows: dict[str, Show] = {}
        """The last one of each run, by the run's id."""
        self._life = secrets.token_hex(4)
        self._changes = count(1)

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def close(self) -> None:
        """The group they are in waits until each has ended."""
        self._group = None
        for show in self._shows.values():
            if show.task:
                show.task.cancel()

    def of(self, run: Run) -> Show | None:
        return self._shows.get(run.id)

    def print_of(self, run: Run) -> str:
        """Another one whenever anything is not as it was."""
        show = self.of(run)
        return f"{self._life}-{show.change}" if show else ""

    def standing_of(self, run: Run) -> str:
        """Another one whenever more than what it printed is not as it was."""
        show = self.of(run)
        return f"{show.name} {show.address} {show.ended}" if show else ""

    async def start(self, run: Run, name: str, *, by: str) -> None:
        """Until it has begun. Raises what keeps it from that."""
        if self._group is None:
            raise Retryable("I am going down, or have not begun yet: try again in a moment.")
        if (other := self.of(run)) and other.is_up:
            raise NeedsHuman(f"{other.name} is up, and of one worktree one server is up at a time: stop it first.")
        show = Show(name, by)
        self._remember(run, show)
        show.task = self._group.create_task(self._run(run, show))
        show.task.add_done_callback(lambda _: self._over(run, show))
        await show.settled.wait()
        if not show.address:
            if self.of(run) is show:
                del self._shows[run.id]
            raise NeedsHuman(show.ended)

    async def stop(self, run: Run) -> None:
        """Until nothing of it is left."""
        show = self.of(run)
        if show and show.task:
            show.task.cancel()
            await asyncio.wait([show.task])

    async def _run(self, run: Run, show: Show) -> None:
        begun, heard = partial(self._begun, run, show), partial(self._heard, show)
        try:
            show.ended = await self._closeup.show(run, show.name, begun=begun, heard=heard)
        except* (BotError, OSError) as problems:
            show.ended = "; ".join(str(one) for one in _single(problems))

    def _begun(self, run: Run, show: Show, address: str, step: Step) -> None:
        log.info("%s is up run=%s for=%s command=%s", show.name, run.id, show.by, step)
        show.address = address
        self._changed(run, show)
        show.settled.set()

    def _heard(self, show: Show, lines: Sequence[str]) -> None:
        show.lines.extend(line[:_LETTERS] for line in lines[-_LINES:])
        show.change = next(self._changes)

    def _over(self, run: Run, show: Show) -> None:
        show.ended = show.ended or "stopped"
        if show.address:
            log.info("%s is down run=%s reason=%s", show.name, run.id, show.ended)
        self._changed(run, show)
        show.settled.set()

    def _changed(self, run: Run, show: Show) -> None:
        show.change = next(self._changes)
        self._hub.tell(topic_of(run.id), "show", "")

    def _remember(self, run: Run, show: Show) -> None:
        self._shows.pop(run.id, None)
        self._shows[run.id] = show
        over = [one for one, known in self._shows.items() if not known.is_up]
        for one in over[: max(len(over) - _REMEMBERED, 0)]:
            del self._shows[one]


def _single(problems: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for one in problems.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _single(one)
        else:
            yield one

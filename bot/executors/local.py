"""Runs turns as tasks in this process. Of those that a kill ends the book tells, as far as they had come.

Rule: what a turn made is in the book before anybody is told of it. Entries wait for the disk, so of what a running turn
tells there are only a few a second; and no turn fails because its book cannot be written.
"""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from bot.domain.turn import Event, Failure, Message, Progress, TurnReport, TurnRequest, TurnState
from bot.errors import BotError, MustRestart, Retryable
from bot.ports import Book, Inbox, Notice
from bot.system.log_context import about

log = logging.getLogger(__name__)

TakeTurn = Callable[[TurnRequest, Inbox, Notice], Awaitable[TurnReport]]
Transcript = Callable[[TurnRequest, Event], None]

_LEAVE_SECONDS = 15.0
_NEWS_SECONDS = 2.0
_NEWS_A_SECOND = 4.0
"""Over all turns."""


@dataclass(slots=True, eq=False)
class _Turn:
    request: TurnRequest
    inbox: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    sent: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)
    task: asyncio.Task[TurnReport] | None = None
    report: TurnReport | None = None
    """How it ended."""
    stopping: bool = False
    news: asyncio.TimerHandle | None = None
    """What it told since the last entry is going to be entered."""
    entered: float = 0.0
    """When the last entry was made, by the loop's clock."""

    def stands(self) -> TurnReport:
        return self.report or self.standing(TurnState.RUNNING)

    def standing(self, state: TurnState, *, failure: Failure = Failure.NONE, detail: str = "") -> TurnReport:
        """A report made of nothing but what its events told."""
        return TurnReport(
            state,
            progress=self.progress,
            session=self.progress.session or self.request.session,
            session_cost_usd=self.progress.session_cost_usd,
            tokens=self.progress.tokens,
            failure=failure,
            detail=detail,
            heard=self.progress.heard,
        )


class LocalExecutor:
    """Owns its tasks: leaving the `async with` block stops every turn and waits for it."""

    def __init__(
        self,
        take_turn: TakeTurn,
        *,
        book: Book,
        on_change: Callable[[], None],
        transcript: Transcript,
        clock: Callable[[], float],
    ) -> None:
        self._take_turn = take_turn
        self._book = book
        self._before = {name: _as_left(report) for name, report in book.kept().items()}
        """What earlier lives of ours left behind."""
        self._damage: MustRestart | None = None
        self._on_change = on_change
        self._transcript = transcript
        self._clock = clock
        self._turns: dict[str, _Turn] = {}
        self._group = asyncio.TaskGroup()
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(_LEAVE_SECONDS)
        await self._group.__aexit__(kind, exc, trace)

    async def ensure_started(self, request: TurnRequest) -> None:
        if request.turn_id in self._turns or request.turn_id in self._before:
            return
        if self._closed:
            raise Retryable("No new turns: I am shutting down.")
        turn = _Turn(request, progress=Progress(last_at=self._clock()))
        self._turns[request.turn_id] = turn
        self._enter(turn)
        turn.task = self._group.create_task(self._run(turn), name=request.turn_id)
        turn.task.add_done_callback(lambda task: self._take_in(turn, task))

    async def reports(self) -> Mapping[str, TurnReport]:
        if self._damage:
            raise self._damage
        return {**self._before, **{name: turn.stands() for name, turn in self._turns.items()}}

    def progress(self) -> Mapping[str, Progress]:
        """Of the turns that run, by their ids. Any thread may ask."""
        return {name: turn.progress for name, turn in dict(self._turns).items() if turn.report is None}

    async def send(self, turn_id: str, message: Message) -> None:
        turn = self._turns.get(turn_id)
        if turn is None or turn.report or turn.stopping:
            raise Retryable("The turn has ended; the message was not handed over.")
        if message.id not in turn.sent:
            turn.sent.add(message.id)
            turn.inbox.put_nowait(message)

    async def cancel(self, turn_id: str) -> None:
        if turn := self._turns.get(turn_id):
            await self._stop([turn])

    async def release(self, turn_id: str) -> None:
        turn = self._turns.get(turn_id)
        if turn is not None and turn.report is None:
            return
        self._turns.pop(turn_id, None)
        self._before.pop(turn_id, None)
        self._book.forget(turn_id)

    async def drain(self, seconds: float) -> None:
        """Start nothing more and stop every turn at once; insist with those that are not done in time."""
        self._closed = True
        late = await self._stop(list(self._turns.values()), seconds)
        for task in late:
            log.warning("still busy after %.0f s turn=%s", seconds, task.get_name())
            task.cancel()

    async def _stop(self, turns: list[_Turn], seconds: float | None = None) -> set[asyncio.Task[TurnReport]]:
        """Those that are still running after so many seconds."""
        tasks = [turn.task for turn in turns if turn.task is not None and not turn.task.done()]
        for turn in turns:
            if turn.task is not None and not turn.stopping:
                turn.stopping = True
                turn.task.cancel()  # once only: a second time would interrupt its tidying up
        return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()

    async def _run(self, turn: _Turn) -> TurnReport:
        with about(turn.request):
            return await self._taken(turn)

    async def _taken(self, turn: _Turn) -> TurnReport:
        def notice(event: Event) -> None:
            turn.progress = turn.progress.after(event)
            self._transcript(turn.request, event)
            self._enter_soon(turn)

        try:
            report = await self._take_turn(turn.request, turn.inbox, notice)
        except BotError as problem:
            log.warning("turn failed turn=%s: %s", turn.request.turn_id, problem)
            return turn.standing(TurnState.FAILED, failure=Failure.SETUP, detail=str(problem))
        except Exception as problem:
            if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
                log.warning("disk full turn=%s: %s", turn.request.turn_id, problem)
                return turn.standing(TurnState.FAILED, failure=Failure.DISK, detail=str(problem))
            log.exception("turn crashed turn=%s", turn.request.turn_id)
            detail = f"the turn crashed ({type(problem).__name__}: {problem}); the log has more."
            return turn.standing(TurnState.FAILED, failure=Failure.AGENT, detail=detail)
        return replace(report, progress=turn.progress)

    def _take_in(self, turn: _Turn, task: asyncio.Task[TurnReport]) -> None:
        """Also of a task that was cancelled before it took its first step."""
        report = turn.standing(TurnState.STOPPED) if task.cancelled() else task.result()
        turn.report = replace(report, ended_at=self._clock())
        self._enter(turn)
        self._on_change()

    def _enter_soon(self, turn: _Turn) -> None:
        if turn.news is None and turn.report is None:
            running = sum(other.report is None for other in self._turns.values())
            due = turn.entered + max(_NEWS_SECONDS, running / _NEWS_A_SECOND)
            turn.news = asyncio.get_running_loop().call_at(due, self._enter, turn)

    def _enter(self, turn: _Turn) -> None:
        """Before anybody else is told. A full disk passes: the next entry says it all again."""
        if turn.news:
            turn.news.cancel()
        turn.news, turn.entered = None, asyncio.get_running_loop().time()
        try:
            self._book.keep(turn.request.turn_id, turn.stands(), at=self._clock())
        except Retryable as problem:
            log.warning("turn not entered turn=%s reason=%s", turn.request.turn_id, problem)
        except MustRestart as damage:
            self._damage = damage  # raised where somebody waits for an answer
            self._on_change()


def _as_left(report: TurnReport) -> TurnReport:
    """It ended, or its process did."""
    return replace(report, state=TurnState.LOST) if report.state is TurnState.RUNNING else report

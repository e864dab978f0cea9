"""Runs turns as tasks in this process. A restart forgets them all, and they are simply not known any more."""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from bot.domain.turn import Event, Failure, Message, Progress, TurnReport, TurnRequest, TurnState
from bot.errors import BotError, Retryable
from bot.ports import Inbox, Notice

log = logging.getLogger(__name__)

TakeTurn = Callable[[TurnRequest, Inbox, Notice], Awaitable[TurnReport]]
Transcript = Callable[[TurnRequest, Event], None]

_LEAVE_SECONDS = 15.0


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
        self, take_turn: TakeTurn, *, on_change: Callable[[], None], transcript: Transcript, clock: Callable[[], float]
    ) -> None:
        self._take_turn = take_turn
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
        if request.turn_id in self._turns:
            return
        if self._closed:
            raise Retryable("No new turns: I am shutting down.")
        turn = _Turn(request, progress=Progress(last_at=self._clock()))
        self._turns[request.turn_id] = turn
        turn.task = self._group.create_task(self._run(turn), name=request.turn_id)
        turn.task.add_done_callback(lambda task: self._take_in(turn, task))

    async def reports(self) -> Mapping[str, TurnReport]:
        return {name: turn.report or turn.standing(TurnState.RUNNING) for name, turn in self._turns.items()}

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
        if turn is not None and turn.report is not None:
            del self._turns[turn_id]

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
        def notice(event: Event) -> None:
            turn.progress = turn.progress.after(event)
            self._transcript(turn.request, event)

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
        turn.report = turn.standing(TurnState.STOPPED) if task.cancelled() else task.result()
        self._on_change()

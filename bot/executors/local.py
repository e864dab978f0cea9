"""Runs turns as tasks of this process, and saves their state so that a restart reports those that a kill has ended.

Rule: a turn's report is saved before it is visible to anybody, money before it may be spent and as soon as it is
counted. Saving waits for the disk, so other progress is saved only a few times a second. A turn whose state cannot be
saved continues, but spends nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from bot.domain.run_names import turn_log_fields
from bot.domain.turn import Event, EventKind, Failure, Message, Progress, TurnOrder, TurnReport, TurnState
from bot.errors import BotError, DiskFull, MustRestart, Retryable
from bot.ports import EventSink, Inbox, TurnStore
from bot.system.disk import full_disk_text, is_full_disk
from bot.system.log_context import logging_about

log = logging.getLogger(__name__)

RunTurn = Callable[[TurnOrder, Inbox, EventSink], Awaitable[TurnReport]]
WriteTranscript = Callable[[TurnOrder, Event], None]

_EXIT_SECONDS = 15.0
_MIN_SAVE_SECONDS = 2.0
_SAVES_A_SECOND = 4.0
"""Number for all turns together."""


@dataclass(slots=True, eq=False)
class _Turn:
    request: TurnOrder
    inbox: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    sent: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)
    task: asyncio.Task[TurnReport] | None = None
    report: TurnReport | None = None
    """Set when it has ended."""
    stopping: bool = False
    pending_save: asyncio.TimerHandle | None = None
    """Saves the progress made since the last save."""
    saved_at: float = 0.0
    """Time of the last save, by the loop's clock."""

    def current_report(self) -> TurnReport:
        return self.report or self.interim_report(TurnState.RUNNING)

    def interim_report(self, state: TurnState, *, failure: Failure = Failure.NONE, detail: str = "") -> TurnReport:
        """A report made of the turn's events alone."""
        return TurnReport(
            state,
            progress=self.progress,
            session=self.progress.session or self.request.session,
            session_cost_usd=self.progress.session_cost_usd,
            usd=self.progress.usd,
            tokens=self.progress.tokens,
            failure=failure,
            detail=detail,
            delivered=self.progress.delivered,
        )


class LocalExecutor:
    """Owns its tasks: leaving the `async with` block stops every turn and waits for it."""

    def __init__(
        self,
        run_turn: RunTurn,
        *,
        turn_store: TurnStore,
        on_change: Callable[[], None],
        transcript: WriteTranscript,
        clock: Callable[[], float],
    ) -> None:
        self._run_turn = run_turn
        self._store = turn_store
        self._from_earlier_process = {name: _mark_lost(report) for name, report in turn_store.kept_reports().items()}
        """Reports of turns that an earlier process ran."""
        self._store_failure: MustRestart | None = None
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
        await self.drain(_EXIT_SECONDS)
        await self._group.__aexit__(kind, exc, trace)

    async def ensure_started(self, request: TurnOrder) -> None:
        if request.turn_id in self._turns or request.turn_id in self._from_earlier_process:
            return
        if self._closed:
            raise Retryable("No turn starts: Treehand is shutting down.")
        turn = _Turn(request, progress=Progress(last_event_at=self._clock()))
        self._turns[request.turn_id] = turn
        if problem := self._save(turn):
            del self._turns[request.turn_id]
            raise problem
        turn.task = self._group.create_task(self._run(turn), name=request.turn_id)
        turn.task.add_done_callback(lambda task: self._finish(turn, task))

    async def reports(self) -> Mapping[str, TurnReport]:
        if self._store_failure:
            raise self._store_failure
        return {**self._from_earlier_process, **{name: turn.current_report() for name, turn in self._turns.items()}}

    def progress(self) -> Mapping[str, Progress]:
        """Progress of the running turns by id. Callable from any thread."""
        return {name: turn.progress for name, turn in dict(self._turns).items() if turn.report is None}

    async def send(self, turn_id: str, message: Message) -> None:
        turn = self._turns.get(turn_id)
        if turn is None or turn.report or turn.stopping:
            raise Retryable("The turn has ended; the message was not delivered.")
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
        self._from_earlier_process.pop(turn_id, None)
        self._store.forget_report(turn_id)

    async def drain(self, seconds: float) -> None:
        """Starts no more turns and stops every turn; cancels those again that take longer than `seconds`."""
        self._closed = True
        unfinished = await self._stop(list(self._turns.values()), seconds)
        for task in unfinished:
            log.warning("turn not stopped within %.0f s turn=%s", seconds, task.get_name())
            task.cancel()

    async def _stop(self, turns: list[_Turn], seconds: float | None = None) -> set[asyncio.Task[TurnReport]]:
        """Returns the tasks that are still running after `seconds`."""
        tasks = [turn.task for turn in turns if turn.task is not None and not turn.task.done()]
        for turn in turns:
            if turn.task is not None and not turn.stopping:
                turn.stopping = True
                turn.task.cancel()  # only once: a second cancellation would interrupt its clean-up
        return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()

    async def _run(self, turn: _Turn) -> TurnReport:
        with logging_about(**turn_log_fields(turn.request)):
            return await self._run_safely(turn)

    async def _run_safely(self, turn: _Turn) -> TurnReport:
        def emit(event: Event) -> None:
            if event.kind is EventKind.USAGE:
                self._save_money(turn, event)
                return
            turn.progress = turn.progress.after(event)
            self._transcript(turn.request, event)
            self._save_soon(turn)

        try:
            report = await self._run_turn(turn.request, turn.inbox, emit)
        except BotError as problem:
            log.warning("turn failed turn=%s: %s", turn.request.turn_id, problem)
            failure = Failure.DISK if isinstance(problem, DiskFull) else Failure.SETUP
            return turn.interim_report(TurnState.FAILED, failure=failure, detail=str(problem))
        except Exception as problem:
            if is_full_disk(problem):
                log.warning("disk full turn=%s: %s", turn.request.turn_id, problem)
                detail = f"{full_disk_text(problem)}; the run continues by itself."
                return turn.interim_report(TurnState.FAILED, failure=Failure.DISK, detail=detail)
            log.exception("turn crashed turn=%s", turn.request.turn_id)
            detail = f"the turn crashed ({type(problem).__name__}: {problem}); see the log for details."
            return turn.interim_report(TurnState.FAILED, failure=Failure.AGENT, detail=detail)
        return replace(report, progress=turn.progress)

    def _finish(self, turn: _Turn, task: asyncio.Task[TurnReport]) -> None:
        """Called for every task, even if it was cancelled before its first step."""
        report = turn.interim_report(TurnState.STOPPED) if task.cancelled() else task.result()
        turn.report = replace(report, ended_at=self._clock())
        self._save(turn)
        self._on_change()

    def _save_soon(self, turn: _Turn) -> None:
        if turn.pending_save is None and turn.report is None:
            running = sum(other.report is None for other in self._turns.values())
            due = turn.saved_at + max(_MIN_SAVE_SECONDS, running / _SAVES_A_SECOND)
            turn.pending_save = asyncio.get_running_loop().call_at(due, self._save, turn)

    def _save_money(self, turn: _Turn, event: Event) -> None:
        """Money is on disk before the agent gets the answer that cost it, and before a request may spend it.

        Raises Retryable if a new reservation cannot be saved; then nothing is reserved.
        """
        before = turn.progress
        turn.progress = before.after(event)
        problem = self._save(turn)
        if event.reserved_usd > before.reserved_usd and (problem or self._store_failure):
            turn.progress = before
            raise problem or Retryable(str(self._store_failure))

    def _save(self, turn: _Turn) -> Retryable | None:
        """Saves the current report. Returns why it could not: the next save contains everything again."""
        if turn.pending_save:
            turn.pending_save.cancel()
        turn.pending_save, turn.saved_at = None, asyncio.get_running_loop().time()
        try:
            self._store.keep_report(turn.request.turn_id, turn.current_report(), at=self._clock())
        except Retryable as problem:
            log.warning("turn not saved turn=%s reason=%s", turn.request.turn_id, problem)
            return problem
        except MustRestart as damage:
            self._store_failure = damage  # raised by the next call of reports()
            self._on_change()
        return None


def _mark_lost(report: TurnReport) -> TurnReport:
    """A turn saved as running ended with its process. Requests whose answers were not seen cost the most they may."""
    if report.state is not TurnState.RUNNING:
        return report
    unseen = report.progress.reserved_usd
    usd = report.usd if report.usd is None else report.usd + unseen
    return replace(report, state=TurnState.LOST, usd=usd, unseen_usd=unseen)

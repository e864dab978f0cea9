"""Every executor runs a turn once, delivers each message once, and reports the end as a value."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.domain.spend import TotalSpend
from bot.domain.turn import Event, EventKind, Failure, Message, TurnOrder, TurnReport, TurnState
from bot.errors import MustRestart, NeedsHuman, Retryable
from bot.executors.local import LocalExecutor
from bot.ports import EventSink, Executor, Inbox
from bot.store.runs import RunStore
from tests.fakes.ports import FakeExecutor
from tests.fakes.world import World


def request(number: int = 1, **more) -> TurnOrder:
    run = f"acme/shop#{number}/1"
    return TurnOrder(
        f"{run}/turn-1", run, "shop", f"treehand/{number}", "main", "Do it.", "All of it.", "A change", 0.0, **more
    )


@dataclass
class ScriptedTurns:
    """Turns that report work and wait until the test ends them."""

    book: RunStore
    begun: list[str] = field(default_factory=list)
    told: list[tuple[str, Message]] = field(default_factory=list)
    ends: dict[str, asyncio.Future] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    transcript: list[tuple[str, Event]] = field(default_factory=list)
    told_of: list[dict[str, TurnReport]] = field(default_factory=list)
    """What was in the book each time somebody was woken."""
    tidied: list[str] = field(default_factory=list)
    news: tuple[Event, ...] = ()
    """What each turn tells once it has begun."""
    notice: EventSink | None = None
    """That of the turn that began last."""

    async def take(self, request: TurnOrder, inbox: Inbox, notice: EventSink) -> TurnReport:
        name = request.turn_id
        self.begun.append(name)
        self.notice = notice
        self.ends[name] = asyncio.get_running_loop().create_future()
        notice(Event(EventKind.SESSION, 1.0, text=f"session-of-{request.run_id}"))
        for event in self.news:
            notice(event)
        try:
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._read(name, inbox))
                report = await self.ends[name]
                reading.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self.tidied.append(name)
        return report

    async def _read(self, name: str, inbox: Inbox) -> None:
        while True:
            self.told.append((name, await inbox.get()))

    def note(self, request: TurnOrder, event: Event) -> None:
        self.transcript.append((request.turn_id, event))

    def executor(self) -> LocalExecutor:
        return LocalExecutor(
            self.take, turn_store=self.book, on_change=self.wake, transcript=self.note, clock=lambda: 1.0
        )

    def wake(self) -> None:
        self.told_of.append(dict(self.book.kept_reports()))
        self.changed.set()


class LocalStage:
    def __init__(self, turns: ScriptedTurns) -> None:
        self.turns = turns

    @property
    def begun(self):
        return self.turns.begun

    @property
    def told(self):
        return self.turns.told

    async def fail(self, turn_id: str) -> None:
        self.turns.changed.clear()
        self.turns.ends[turn_id].set_result(TurnReport(TurnState.FAILED, failure=Failure.MODEL, detail="Overloaded."))
        await self.turns.changed.wait()

    def born_again(self) -> Executor:
        """Replaces the process after a kill."""
        return self.turns.executor()


class FakeStage:
    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def begun(self):
        return list(self.world.requests)

    @property
    def told(self):
        return self.world.told

    async def fail(self, turn_id: str) -> None:
        self.world.fail_turn(Failure.MODEL, "Overloaded.", turn=turn_id)

    def born_again(self) -> Executor:
        self.world.forget_turns()
        return FakeExecutor(self.world)


@asynccontextmanager
async def local(store: RunStore):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        yield executor, LocalStage(turns)


@asynccontextmanager
async def fake(_: RunStore):
    world = World()
    yield FakeExecutor(world), FakeStage(world)


@pytest.fixture(params=[local, fake], ids=["local", "fake"])
async def subject(request, store) -> AsyncIterator[tuple[Executor, LocalStage | FakeStage]]:
    async with request.param(store) as both:
        yield both


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_unknown_turn_is_not_in_the_reports(subject):
    executor, _ = subject
    assert await executor.reports() == {}
    await executor.cancel("nobody/1/turn-1")
    await executor.release("nobody/1/turn-1")


async def test_a_turn_is_started_once_for_repeated_requests(subject):
    executor, stage = subject
    for _ in range(3):
        await executor.ensure_started(request())
        await settle()

    assert stage.begun == [request().turn_id]


async def test_a_running_turn_reports_its_state_and_session(subject):
    executor, _ = subject
    await executor.ensure_started(request())
    await settle()

    report = (await executor.reports())[request().turn_id]
    assert (report.state, report.session) == (TurnState.RUNNING, "session-of-acme/shop#1/1")


async def test_one_call_reports_all_turns(subject):
    executor, _ = subject
    for number in (1, 2, 3):
        await executor.ensure_started(request(number))

    assert set(await executor.reports()) == {request(number).turn_id for number in (1, 2, 3)}


async def test_a_turn_ends_as_a_value(subject):
    executor, stage = subject
    await executor.ensure_started(request())
    await settle()
    await stage.fail(request().turn_id)

    report = (await executor.reports())[request().turn_id]
    assert (report.state, report.failure, report.detail) == (TurnState.FAILED, Failure.MODEL, "Overloaded.")


async def test_a_message_is_delivered_once_per_id(subject):
    executor, stage = subject
    await executor.ensure_started(request())
    await settle()
    for _ in range(2):
        await executor.send(request().turn_id, Message("c1", "Use tabs."))
        await settle()

    assert stage.told == [(request().turn_id, Message("c1", "Use tabs."))]


async def test_a_message_for_a_turn_that_ended_is_refused(subject):
    executor, stage = subject
    await executor.ensure_started(request())
    await settle()
    await stage.fail(request().turn_id)

    with pytest.raises(Retryable):
        await executor.send(request().turn_id, Message("c1", "Too late."))
    with pytest.raises(Retryable):
        await executor.send("nobody/1/turn-1", Message("c1", "To nobody."))


async def test_a_cancelled_turn_stops_and_keeps_its_session(subject):
    executor, _ = subject
    await executor.ensure_started(request())
    await settle()
    await executor.cancel(request().turn_id)
    await executor.cancel(request().turn_id)

    report = (await executor.reports())[request().turn_id]
    assert (report.state, report.session) == (TurnState.STOPPED, "session-of-acme/shop#1/1")


async def test_an_ended_turn_is_not_started_again_before_it_is_released(subject):
    executor, _ = subject
    await executor.ensure_started(request())
    await settle()
    await executor.cancel(request().turn_id)
    await executor.ensure_started(request())
    assert (await executor.reports())[request().turn_id].state is TurnState.STOPPED

    await executor.release(request().turn_id)
    assert await executor.reports() == {}


async def test_a_failed_turn_is_reported_after_a_restart_and_not_started_again(subject):
    executor, stage = subject
    await executor.ensure_started(request())
    await settle()
    await stage.fail(request().turn_id)

    before, again = (await executor.reports())[request().turn_id], stage.born_again()
    await again.ensure_started(request())
    await settle()
    report = (await again.reports())[request().turn_id]
    assert (report.state, report.failure, report.session) == (TurnState.FAILED, Failure.MODEL, before.session)
    assert stage.begun == [request().turn_id]


async def test_a_turn_that_was_running_is_reported_lost_after_a_restart_and_not_started_again(subject):
    executor, stage = subject
    await executor.ensure_started(request(session="old"))
    await settle()

    again = stage.born_again()
    await again.ensure_started(request(session="old"))
    await settle()
    report = (await again.reports())[request().turn_id]
    assert (report.state, report.session) == (TurnState.LOST, "old")
    assert stage.begun == [request().turn_id]
    await again.release(request().turn_id)
    assert await again.reports() == {}


async def test_a_released_turn_is_not_reported_after_a_restart(subject):
    executor, stage = subject
    await executor.ensure_started(request())
    await settle()
    await stage.fail(request().turn_id)
    await executor.release(request().turn_id)
    assert await stage.born_again().reports() == {}


# Only turns in this process can show these.


async def test_a_report_is_saved_before_the_loop_is_woken(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        turns.ends[request().turn_id].set_result(TurnReport(TurnState.SUCCEEDED, summary="Done.", session_cost_usd=0.5))
        await turns.changed.wait()
    (kept,) = turns.told_of[0].values()
    assert (kept.state, kept.summary, kept.session_cost_usd, kept.ended_at) == (TurnState.SUCCEEDED, "Done.", 0.5, 1.0)


async def test_the_progress_of_a_running_turn_survives_its_process(store, monkeypatch):
    monkeypatch.setattr("bot.executors.local._MIN_SAVE_SECONDS", 0.0)
    turns = ScriptedTurns(store)
    turns.news = (
        Event(EventKind.RESULT, 5.0, tokens=70, session_cost_usd=0.2),
        Event(EventKind.DELIVERED, 6.0, text="c1"),
    )
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        while not any(report.delivered for report in store.kept_reports().values()):
            await asyncio.sleep(0.01)
        report = (await turns.executor().reports())[request().turn_id]
    assert (report.state, report.session, report.delivered) == (TurnState.LOST, "session-of-acme/shop#1/1", {"c1"})
    assert (report.tokens, report.session_cost_usd, report.progress.last_event_at) == (70, 0.2, 6.0)


async def test_money_is_on_disk_before_anything_else_happens(store):
    turns, kept = ScriptedTurns(store), []
    turns.news = (Event(EventKind.USAGE, 5.0, tokens=70, usd=0.2), Event(EventKind.TEXT, 6.0, text="word", tokens=40))
    executor = turns.executor()
    executor._transcript = lambda _order, event: kept.append((event.kind, store.unrecorded()))
    async with executor:
        await executor.ensure_started(request())
        await settle()
        cost = {request().turn_id: TotalSpend(0.2, 70)}
        assert (EventKind.TEXT, cost) in kept
        assert EventKind.USAGE not in dict(kept), "it is no part of the conversation"
        report = (await executor.reports())[request().turn_id]
        assert (report.usd, report.tokens) == (0.2, 70), "where the host counts, nothing else does"


async def test_a_turn_with_many_events_is_saved_at_intervals(store):
    turns, entries = ScriptedTurns(store), []
    turns.news = tuple(Event(EventKind.TEXT, float(n), text=f"word {n}") for n in range(500))
    executor = turns.executor()
    store._db.set_trace_callback(lambda sql: entries.append(sql) if "INTO turns" in sql else None)
    async with executor:
        await executor.ensure_started(request())
        await settle()
        assert len(turns.transcript) == 501
        assert len(entries) == 1
    assert len(entries) == 2


def fill(store: RunStore) -> None:
    store._db.execute(f"PRAGMA max_page_count = {store._db.execute('PRAGMA page_count').fetchone()[0]}")


async def test_a_full_disk_starts_no_turn_whose_cost_would_be_unknown_after_a_kill(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        fill(store)
        with pytest.raises(Retryable):
            await executor.ensure_started(request(session="s" * 50_000))
        await settle()
        assert (turns.begun, await executor.reports()) == ([], {})
        store._db.execute("PRAGMA max_page_count = 1000000")
        await executor.ensure_started(request(session="s" * 50_000))
        await settle()
        assert turns.begun == [request().turn_id]


async def test_what_a_killed_turn_had_reserved_counts_as_spent(store):
    """The answers of its requests are not known: they cost the most that they may."""
    turns = ScriptedTurns(store)
    turns.news = (
        Event(EventKind.USAGE, 1.0, reserved_usd=0.5),
        Event(EventKind.USAGE, 2.0, tokens=70, usd=0.2, reserved_usd=0.3),
    )
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        killed = ScriptedTurns(store).executor()
        (report,) = (await killed.reports()).values()
        (running,) = (await executor.reports()).values()
    assert (running.usd, running.unseen_usd) == (0.2, 0.0)
    assert (report.state, report.usd, report.unseen_usd) == (TurnState.LOST, pytest.approx(0.5), 0.3)
    assert store.spent(since=0.0) == pytest.approx(0.2), "what is counted; the next daemon records the rest"


async def test_nothing_is_reserved_that_cannot_be_saved(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        fill(store)
        turns.notice(Event(EventKind.SESSION, 1.0, text="s" * 50_000))
        with pytest.raises(Retryable):
            turns.notice(Event(EventKind.USAGE, 1.0, reserved_usd=0.5))
        turns.notice(Event(EventKind.USAGE, 2.0, tokens=7, usd=0.2))  # what was spent already is counted
        (report,) = (await executor.reports()).values()
        store._db.execute("PRAGMA max_page_count = 1000000")
    assert (report.usd, report.progress.reserved_usd) == (0.2, 0.0)


async def test_a_full_disk_fails_no_turn_and_its_report_is_saved_later(store, caplog):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        fill(store)
        turns.notice(Event(EventKind.SESSION, 1.0, text="s" * 50_000))
        turns.notice(Event(EventKind.USAGE, 1.0, tokens=7, usd=0.2))
        assert (await executor.reports())[request().turn_id].state is TurnState.RUNNING
        assert [report.usd for report in store.kept_reports().values()] == [None]
        store._db.execute("PRAGMA max_page_count = 1000000")
        turns.ends[request().turn_id].set_result(TurnReport(TurnState.SUCCEEDED))
        await turns.changed.wait()
        assert [report.state for report in store.kept_reports().values()] == [TurnState.SUCCEEDED]
    assert "turn not saved" in caplog.text


async def test_a_damaged_database_ends_the_process_and_not_the_turn(store):
    turns = ScriptedTurns(store)
    turns.wake = turns.changed.set
    async with turns.executor() as executor:
        await executor.ensure_started(request(1))
        await settle()
        page = store._db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'turns'").fetchone()[0]
        spoil(store, page)
        await executor.ensure_started(request(2))
        await settle()
        assert turns.begun == [request(1).turn_id, request(2).turn_id]
        with pytest.raises(MustRestart, match="is damaged"):
            await executor.reports()


def spoil(store: RunStore, page: int) -> None:
    """Overwrites a page of the database file."""
    db = store._db
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file, size = db.execute("PRAGMA database_list").fetchone()["file"], db.execute("PRAGMA page_size").fetchone()[0]
    with open(file, "r+b") as raw:  # noqa: PTH123 - SQLite says it as text
        raw.seek((page - 1) * size)
        raw.write(b"\xff" * size)
    db.execute("PRAGMA shrink_memory")


async def test_a_turn_cancelled_before_its_first_step_is_reported_as_stopped(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request(session="old"))
        await executor.cancel(request().turn_id)

        report = (await executor.reports())[request().turn_id]
    assert (report.state, report.session, turns.begun) == (TurnState.STOPPED, "old", [])


async def test_cancel_returns_after_the_clean_up_of_the_turn(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        async with asyncio.TaskGroup() as group:
            group.create_task(executor.cancel(request().turn_id))
            group.create_task(executor.cancel(request().turn_id))
        assert turns.tidied == [request().turn_id]


async def test_closing_the_executor_stops_all_turns_at_the_same_time(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        for number in range(20):
            await executor.ensure_started(request(number))
        await settle()
    assert len(turns.tidied) == 20


async def test_draining_refuses_new_turns_and_keeps_the_reports(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        await executor.drain(5)

        assert (await executor.reports())[request().turn_id].state is TurnState.STOPPED
        with pytest.raises(Retryable):
            await executor.ensure_started(request(2))


@pytest.mark.expects_errors
async def test_a_crash_in_one_turn_is_logged_and_leaves_other_turns_running(caplog, store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request(1))
        await executor.ensure_started(request(2))
        await settle()
        turns.ends[request(1).turn_id].set_exception(RuntimeError("surprise"))
        await turns.changed.wait()

        reports = await executor.reports()
    crashed = reports[request(1).turn_id]
    assert (crashed.state, crashed.failure) == (TurnState.FAILED, Failure.AGENT)
    assert "surprise" in crashed.detail
    assert crashed.session == "session-of-acme/shop#1/1"
    assert reports[request(2).turn_id].state is TurnState.RUNNING
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize(
    ("problem", "failure"),
    [
        (NeedsHuman("No such base branch."), Failure.SETUP),
        (OSError(28, "No space left on device"), Failure.DISK),
    ],
)
async def test_a_turn_that_could_not_be_prepared_reports_the_reason(problem, failure, store):
    async def take(*_):
        raise problem

    ended = asyncio.Event()
    async with LocalExecutor(
        take, turn_store=store, on_change=ended.set, transcript=lambda *_: None, clock=lambda: 1.0
    ) as executor:
        await executor.ensure_started(request())
        await ended.wait()
        report = (await executor.reports())[request().turn_id]
    assert (report.state, report.failure) == (TurnState.FAILED, failure)
    assert ("The disk is full" if failure is Failure.DISK else str(problem)) in report.detail


async def test_events_become_progress_and_transcript(store):
    turns = ScriptedTurns(store)
    async with turns.executor() as executor:
        await executor.ensure_started(request())
        await settle()
        turns.ends[request().turn_id].set_result(TurnReport(TurnState.SUCCEEDED, session="s2"))
        await turns.changed.wait()
        report = (await executor.reports())[request().turn_id]
    assert (report.progress.events, report.session) == (1, "s2")
    assert [(name, event.kind) for name, event in turns.transcript] == [(request().turn_id, EventKind.SESSION)]

"""Slow data is read in a thread beside the daemon's loop."""

import asyncio
import threading

import pytest

from bot.app import open_app
from bot.domain.run import Phase, Run, RunTurns
from bot.domain.spend import Spend
from bot.domain.turn import TurnOutcome
from bot.errors import CannotStart
from bot.settings.load import load
from bot.status.metrics import collect_metrics
from bot.status.reader_thread import StatusReader
from bot.store.runs import RunStore


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "shop").mkdir()
    file = tmp_path / "treehand.toml"
    file.write_text('state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "shop"\n')
    (tmp_path / "state").mkdir()
    return load(file)


@pytest.fixture
def reader(settings):
    there = StatusReader(settings)
    yield there
    there.close()


async def test_the_loop_continues_during_a_read(reader):
    begun, may_end = threading.Event(), threading.Event()

    def look(_house) -> int:
        begun.set()
        assert may_end.wait(60)
        return threading.get_ident()

    reading = asyncio.create_task(reader.read(look))
    async with asyncio.timeout(60):
        while not begun.is_set():
            await asyncio.sleep(0.01)
    assert not reading.done()
    may_end.set()
    assert await reading != threading.get_ident()


async def test_databases_are_opened_once_and_read_by_one_thread(reader):
    looks = await asyncio.gather(*(reader.read(lambda house: (id(house), threading.get_ident())) for _ in range(5)))
    assert len(set(looks)) == 1
    assert looks[0][1] != threading.get_ident()


async def test_a_read_returns_the_latest_data(reader, settings):
    store = RunStore.open(settings.state_dir / "treehand.db")
    assert await reader.read(lambda house: house.store.active()) == []
    store.save(Run("shop#1", "shop", phase=Phase.QUEUED), at=1.0)
    assert [run.key for run in await reader.read(lambda house: house.store.active())] == ["shop#1"]
    store.close()


async def test_a_failed_open_is_retried(reader, settings):
    file = settings.state_dir / "treehand.db"
    file.write_text("This is no database. " * 100)
    with pytest.raises(CannotStart):
        await reader.read(lambda house: house.store.active())
    file.unlink()
    assert await reader.read(lambda house: house.store.active()) == []


async def test_health_checks_and_metrics_do_not_read_growing_tables_on_the_loop(settings):
    """These tables grow for ever; the loop's own connection does not read them."""
    async with open_app(settings, {}) as app:
        app.store.save(
            Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1)),
            at=1.0,
            spend=Spend(1, 1.0, 0.5, 7),
            outcome=TurnOutcome("shop", "shop#1", 1, 1, 1.0, 2.0),
        )
        said: list[str] = []
        app.store._db.set_trace_callback(said.append)
        await app.monitor.check({})
        await collect_metrics(app.monitor, app.engine.failed_projects)
        app.store._db.set_trace_callback(None)
        assert app.store.notifications.health_records(), "it has looked"
    tables = ("money", "turn_outcomes", "runs", "journal")
    assert [sql for sql in said if any(name in sql for name in tables)] == []

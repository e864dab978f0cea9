"""Fixtures of all tests: an imaginary world and a whole engine in it."""

import contextlib
import gc
import getpass
import logging
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bot.domain.policy import Policy
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.store.runs import RunStore
from bot.system.descriptors import raise_limit
from tests.fakes.ports import FakeBoard, FakeExecutor, FakeForge, FakeTracker, FakeWorkspaces
from tests.fakes.world import World
from tests.order import dealt
from tests.restored import restored

_PASSED = pytest.StashKey[bool]()

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # how fast a machine is says nothing about what is right


def pytest_configure(config: pytest.Config) -> None:
    raise_limit()  # as commands do: the number of connections depends on it
    if not hasattr(config, "workerinput"):
        remove_folders_of_killed_runs()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = dealt(items, config.workerinput["workercount"])


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """A run without failures leaves nothing behind. Others leave their files, to look at them."""
    if not hasattr(config, "workerinput") and config.stash.get(_PASSED, False):
        factory = config._tmp_path_factory
        if factory._given_basetemp is None and factory._basetemp is not None:
            link = factory._basetemp.with_name("pytest-current")
            subprocess.run(["rm", "-rf", "--", str(factory._basetemp), str(link)], check=False)
            with contextlib.suppress(OSError):  # there are folders of other runs
                link.parent.rmdir()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_PASSED] = exitstatus == pytest.ExitCode.OK


def remove_folders_of_killed_runs() -> None:
    """Some tests make folders deeper than pytest can delete: it fails at the end if a killed run has left one."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"  # as pytest calls a user without a name
    place = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()) / f"pytest-of-{user}"
    stale = [run for run in place.glob("pytest-[0-9]*") if not _is_in_use(run)]
    subprocess.run(["rm", "-rf", "--", *map(str, (*place.glob("garbage-*"), *stale))], check=False)


def _is_in_use(run: Path) -> bool:
    """Without a lock it has just begun, or has ended by itself, and pytest removes it."""
    try:
        os.kill(int((run / ".lock").read_text()), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True


@pytest.fixture(autouse=True)
def _process_stays() -> Iterator[None]:
    """Commands set them for their process, and some tests call commands in their own."""
    with restored():
        yield


@pytest.fixture
def removes_deep_folders(tmp_path) -> Iterator[None]:
    """For tests with folders deeper than pytest can delete."""
    yield
    subprocess.run(["rm", "-rf", "--", str(tmp_path)], check=False)


def pytest_collection_finish() -> None:
    """The collected tests stay: otherwise the garbage collector would look through all of them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def policy() -> Policy:
    return Policy(max_working=2, max_working_per_project=2, base="main")


@pytest.fixture
def store(tmp_path) -> Iterator[RunStore]:
    store = RunStore.open(tmp_path / "treehand.db")
    yield store
    store.close()


class Bot:
    """The whole engine in the imaginary world, ticked by tests."""

    def __init__(self, engine: Engine, store: RunStore, world: World, moved: list[bool]) -> None:
        self.engine, self.store, self.world, self.moved = engine, store, world, moved

    async def tick(self, times: int = 1) -> None:
        """Ticks like the daemon: again while something changed."""
        for _ in range(times):
            self.moved.append(True)
            while self.moved:
                self.moved.clear()
                await self.engine.tick()
                await self.engine.wait_until_idle()

    async def wait(self, seconds: float) -> None:
        self.world.wait(seconds)
        await self.tick()

    def run(self, key: str):
        run = self.store.find_run(key)
        assert run, f"{key} has no run"
        return run


@pytest.fixture
async def bot(world: World, policy: Policy, store: RunStore) -> AsyncIterator[Bot]:
    project = Project(
        "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), policy, hand_over=world.by_hand,
        issue_states=FakeBoard(world),
    )  # fmt: skip
    outside = Ports({"shop": project}, FakeExecutor(world), store)
    capacity = lambda: Capacity(  # noqa: E731
        policy.max_working, policy.per_day_usd, store.spent(since=world.now - world.now % 86400)
    )
    moved: list[bool] = []
    async with Engine(outside, clock=world.clock, capacity=capacity, on_change=lambda: moved.append(True)) as engine:
        yield Bot(engine, store, world, moved)


@pytest.fixture(autouse=True)
def no_hidden_errors(request, caplog):
    """The loop survives bugs in production; in tests a logged bug is a failure."""
    yield
    if not request.node.get_closest_marker("expects_errors"):
        assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []

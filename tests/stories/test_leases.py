"""Two daemons serve one repository: one acts, the other stands by, and nothing is done or posted twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.domain.run import Phase
from bot.domain.turn import TurnState
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.errors import Elsewhere
from bot.ports import LeaseState, Ports, Project
from bot.store.runs import RunStore
from tests.conftest import Bot
from tests.fakes.ports import FakeExecutor, FakeForge, FakeTracker, FakeWorkspaces


@dataclass
class Record:
    """The lease, as both daemons see it."""

    holder: str = ""
    last: str = ""


@dataclass
class FakeLease:
    record: Record
    name: str

    async def ensure(self, *, quiet: bool = False) -> LeaseState:
        if self.record.holder not in {"", self.name}:
            return LeaseState.HELD_ELSEWHERE
        regained = self.record.last not in {"", self.name}
        self.record.holder = self.record.last = self.name
        return LeaseState.REACQUIRED if regained else LeaseState.HELD

    def check(self) -> None:
        if self.record.holder != self.name:
            raise Elsewhere

    async def release(self) -> None:
        self.record.holder = ""


@pytest.fixture
def daemon(world, policy, tmp_path):
    record = Record()

    @asynccontextmanager
    async def named(name: str) -> AsyncIterator[Bot]:
        store = RunStore.open(tmp_path / f"{name}.db")
        lease = FakeLease(record, name)
        project = Project(
            "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), policy,
            hand_over=world.by_hand, lease=lease,
        )  # fmt: skip
        moved: list[bool] = []
        outside = Ports({"shop": project}, FakeExecutor(world), store)
        async with Engine(
            outside, clock=world.clock, capacity=lambda: Capacity(2), on_change=lambda: moved.append(True)
        ) as engine:
            bot = Bot(engine, store, world, moved)
            bot.lease = lease
            yield bot
        store.close()

    return named


async def test_only_the_daemon_with_the_lease_acts(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        await two.tick()
        assert one.run("shop#1").phase is Phase.WORKING
        assert two.store.find_run("shop#1") is None
        assert not two.engine.may_go_on()


async def test_the_daemon_that_takes_over_continues_where_the_other_was(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        await one.tick()
        await two.tick()
        world.comment_on_pull("shop#1", "Rename it")

        await one.lease.release()
        await two.tick()
        assert (two.run("shop#1").phase, two.run("shop#1").turns.number) == (Phase.WORKING, 2)
        world.finish_turn("shop#1", cost=0.3)
        await two.tick()
        said, pulls = dict(world.said), dict(world.pulls)

        await one.tick()
        assert (dict(world.said), dict(world.pulls)) == (said, pulls), "it stands by"
        await two.lease.release()
        await one.tick()
        assert (one.run("shop#1").phase, one.run("shop#1").turns.number) == (Phase.REVIEW, 2)
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(two.store.spent_by_issue()["shop#1"].usd)
        assert set(world.said) == set(said)
        world.merge("shop#1")
        await one.tick()
        assert one.run("shop#1").phase is Phase.DONE


async def test_a_daemon_that_loses_the_lease_ends_its_agents_and_records_their_cost(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (turn,) = world.running()
        world.say_progress(doing="edits app.py")
        two.lease.record.holder = two.lease.record.last = "two"
        one.engine.expect_news()
        await one.tick()
        assert turn not in world.running()
        assert one.store.spent_by_issue()["shop#1"].turns == 1
        assert one.run("shop#1").phase is Phase.WORKING, "what becomes of the run is for the other to say"
        await two.tick()
        assert two.run("shop#1").turns.number == 2


async def test_a_run_that_was_finished_elsewhere_is_finished_here_without_a_comment(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        await one.tick()
        await one.lease.release()
        await two.tick()
        world.merge("shop#1")
        await two.tick()
        assert two.run("shop#1").phase is Phase.DONE
        said = dict(world.said)
        await two.lease.release()
        await one.tick()
        assert one.run("shop#1").phase is Phase.DONE
        assert dict(world.said) == said


async def test_an_agent_started_while_the_lease_was_being_lost_is_ended(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        world.fails["ensure_labels"] = Elsewhere()
        await one.tick()
        assert world.running(), "it was started, and that could not be said"
        world.say_progress(doing="edits app.py")
        one.lease.record.holder = one.lease.record.last = "two"
        one.engine.expect_news()
        await one.tick()
        assert world.running() == []
        world.fails.clear()
        one.lease.record.holder = ""
        await one.tick()
        assert one.run("shop#1").turns.number == 2, "what it had done was taken in, and it goes on"


async def test_steps_decided_before_another_daemon_had_the_lease_are_cancelled(world, daemon, monkeypatch):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        slow, begun = asyncio.Event(), asyncio.Event()
        tracker, ensure = one.engine.ports.projects["shop"].tracker, FakeTracker.ensure_comment

        async def late(*args, **kwargs):
            begun.set()
            await slow.wait()
            await ensure(tracker, *args, **kwargs)

        await one.engine.tick()
        await one.engine.wait_until_idle()
        monkeypatch.setattr(tracker, "ensure_comment", late)
        await one.engine.tick()  # the progress comment gets the link of the pull request
        await begun.wait()

        one.lease.record.holder = ""
        await two.tick()
        world.comment_on_pull("shop#1", "Rename it")
        await two.tick()
        assert two.run("shop#1").turns.number == 2
        noted = dict(world.notes)
        await two.lease.release()
        await one.engine.tick()
        monkeypatch.undo()
        slow.set()
        await one.engine.wait_until_idle()
        assert dict(world.notes) == noted
        await one.tick()
        assert one.run("shop#1").turns.number == 2


async def test_a_cost_recorded_when_the_lease_was_lost_is_not_recorded_again_when_it_is_back(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (turn,) = world.running()
        world.turns[turn] = world._ended(turn, TurnState.STOPPED, 0.4, 1000)
        one.lease.record.holder = one.lease.record.last = "two"
        one.engine.expect_news()
        await one.tick(3)
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(0.4)
        one.lease.record.holder = ""
        await one.tick()
        assert one.run("shop#1").turns.number == 2
        world.finish_turn("shop#1", cost=0.1)
        await one.tick()
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(0.5)
        assert one.run("shop#1").spend.session_cost_usd == pytest.approx(0.5)


async def test_a_daemon_without_the_lease_treats_the_project_as_unseen(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        await two.tick()
        assert "shop" in two.engine.unseen_projects, "nothing of it may be tidied up"
        assert "shop" not in one.engine.unseen_projects
        await one.lease.release()
        await two.tick()
        assert "shop" not in two.engine.unseen_projects


async def test_one_daemon_maintains_the_workspaces_even_without_runs(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        (shop,) = one.engine.ports.projects.values()
        (theirs,) = two.engine.ports.projects.values()
        assert await one.engine.may_maintain(shop)
        assert not await two.engine.may_maintain(theirs)
        await two.tick()
        await shop.lease.release()
        assert await two.engine.may_maintain(theirs)
        assert two.engine.unseen_projects == {"shop"}  # another one had it: what is remembered there may be old
        assert not await one.engine.may_maintain(shop)


async def test_maintenance_takes_no_lease_while_runs_are_active(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (shop,) = one.engine.ports.projects.values()
        assert await one.engine.may_maintain(shop)
        await shop.lease.release()
        assert not await one.engine.may_maintain(shop)

"""Two daemons serve one repository: one acts, the other stands by, and nothing is done or said twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.claim import Tenure
from bot.domain.run import Phase
from bot.domain.turn import TurnState
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.errors import Elsewhere
from bot.ports import Outside, Project
from bot.store.runs import RunStore
from tests.conftest import Bot
from tests.fakes.ports import FakeExecutor, FakeForge, FakeTracker, FakeWorkspaces


@dataclass
class Record:
    """Who holds the claim, as both see it."""

    holder: str = ""
    last: str = ""


@dataclass
class FakeClaim:
    record: Record
    name: str

    async def ensure(self) -> Tenure:
        if self.record.holder not in {"", self.name}:
            return Tenure.OTHERS
        regained = self.record.last not in {"", self.name}
        self.record.holder = self.record.last = self.name
        return Tenure.REGAINED if regained else Tenure.OURS

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
        claim = FakeClaim(record, name)
        project = Project(
            "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), policy,
            by_hand=world.by_hand, claim=claim,
        )  # fmt: skip
        moved: list[bool] = []
        outside = Outside({"shop": project}, FakeExecutor(world), store)
        async with Engine(
            outside, clock=world.clock, capacity=lambda: Capacity(2), on_change=lambda: moved.append(True)
        ) as engine:
            bot = Bot(engine, store, world, moved)
            bot.claim = claim
            yield bot
        store.close()

    return named


async def test_only_the_one_that_has_the_claim_acts(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        await two.tick()
        assert one.run("shop#1").phase is Phase.WORKING
        assert two.store.find_run("shop#1") is None
        assert not two.engine.may_go_on()


async def test_whoever_takes_over_goes_on_from_where_the_other_was(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        await one.tick()
        await two.tick()
        world.comment_on_pull("shop#1", "Rename it")

        await one.claim.release()
        await two.tick()
        assert (two.run("shop#1").phase, two.run("shop#1").turn) == (Phase.WORKING, 2)
        world.finish_turn("shop#1", cost=0.3)
        await two.tick()
        said, pulls = dict(world.said), dict(world.pulls)

        await one.tick()
        assert (dict(world.said), dict(world.pulls)) == (said, pulls), "it stands by"
        await two.claim.release()
        await one.tick()
        assert (one.run("shop#1").phase, one.run("shop#1").turn) == (Phase.REVIEW, 2)
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(two.store.spent_by_issue()["shop#1"].usd)
        assert set(world.said) == set(said)
        world.merge("shop#1")
        await one.tick()
        assert one.run("shop#1").phase is Phase.DONE


async def test_who_loses_it_ends_its_agents_and_pays_for_them(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (turn,) = world.running()
        world.say_progress(doing="edits app.py")
        two.claim.record.holder = two.claim.record.last = "two"
        one.engine.expect_news()
        await one.tick()
        assert turn not in world.running()
        assert one.store.spent_by_issue()["shop#1"].turns == 1
        assert one.run("shop#1").phase is Phase.WORKING, "what becomes of the run is for the other to say"
        await two.tick()
        assert two.run("shop#1").turn == 2


async def test_what_was_finished_elsewhere_is_finished_here_without_a_word(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        await one.tick()
        await one.claim.release()
        await two.tick()
        world.merge("shop#1")
        await two.tick()
        assert two.run("shop#1").phase is Phase.DONE
        said = dict(world.said)
        await two.claim.release()
        await one.tick()
        assert one.run("shop#1").phase is Phase.DONE
        assert dict(world.said) == said


async def test_an_agent_that_was_started_in_the_moment_of_losing_it_is_ended_as_well(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        world.fails["ensure_labels"] = Elsewhere()
        await one.tick()
        assert world.running(), "it was started, and that could not be said"
        world.say_progress(doing="edits app.py")
        one.claim.record.holder = one.claim.record.last = "two"
        one.engine.expect_news()
        await one.tick()
        assert world.running() == []
        world.fails.clear()
        one.claim.record.holder = ""
        await one.tick()
        assert one.run("shop#1").turn == 2, "what it had done was taken in, and it goes on"


async def test_what_was_being_done_before_another_had_it_is_not_gone_on_with(world, daemon, monkeypatch):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        world.finish_turn("shop#1")
        slow, begun = asyncio.Event(), asyncio.Event()
        tracker, ensure = one.engine.outside.projects["shop"].tracker, FakeTracker.ensure_comment

        async def late(*args, **kwargs):
            begun.set()
            await slow.wait()
            await ensure(tracker, *args, **kwargs)

        monkeypatch.setattr(tracker, "ensure_comment", late)
        await one.engine.tick()
        await begun.wait()

        one.claim.record.holder = ""
        await two.tick()
        world.comment_on_pull("shop#1", "Rename it")
        await two.tick()
        assert two.run("shop#1").turn == 2
        noted = dict(world.notes)
        await two.claim.release()
        await one.engine.tick()
        monkeypatch.undo()
        slow.set()
        await one.engine.settled()
        assert dict(world.notes) == noted
        await one.tick()
        assert one.run("shop#1").turn == 2


async def test_what_was_paid_when_the_claim_was_lost_is_not_paid_again_when_it_is_back(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (turn,) = world.running()
        world.turns[turn] = world._ended(turn, TurnState.STOPPED, 0.4, 1000)
        one.claim.record.holder = one.claim.record.last = "two"
        one.engine.expect_news()
        await one.tick(3)
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(0.4)
        one.claim.record.holder = ""
        await one.tick()
        assert one.run("shop#1").turn == 2
        world.finish_turn("shop#1", cost=0.1)
        await one.tick()
        assert one.store.spent_by_issue()["shop#1"].usd == pytest.approx(0.5)
        assert one.run("shop#1").session_cost_usd == pytest.approx(0.5)


async def test_of_what_another_one_has_had_all_along_not_every_run_is_known_here(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        world.open_issue("shop#1", "ai")
        await one.tick()
        await two.tick()
        assert "shop" in two.engine.out_of_sight, "nothing of it may be tidied up"
        assert "shop" not in one.engine.out_of_sight
        await one.claim.release()
        await two.tick()
        assert "shop" not in two.engine.out_of_sight


async def test_what_is_kept_is_tended_by_one_of_them_also_where_there_is_no_run(world, daemon):
    async with daemon("one") as one, daemon("two") as two:
        (shop,) = one.engine.outside.projects.values()
        (theirs,) = two.engine.outside.projects.values()
        assert await one.engine.may_tend(shop)
        assert not await two.engine.may_tend(theirs)
        await two.tick()
        await shop.claim.release()
        assert await two.engine.may_tend(theirs)
        assert two.engine.out_of_sight == {"shop"}  # another one had it: what is remembered there may be old
        assert not await one.engine.may_tend(shop)


async def test_while_there_are_runs_tending_takes_the_claim_from_nobody(world, daemon):
    async with daemon("one") as one:
        world.open_issue("shop#1", "ai")
        await one.tick()
        (shop,) = one.engine.outside.projects.values()
        assert await one.engine.may_tend(shop)
        await shop.claim.release()
        assert not await one.engine.may_tend(shop)

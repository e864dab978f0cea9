"""Two daemons serve one repository: one acts, the other stands by, and nothing is done or said twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.domain.claim import Tenure
from bot.domain.run import Phase
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
        assert turn not in world.turns, "its agent was ended, and its report is of no use to anybody"
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

"""A daemon without its database, or one that follows another daemon, continues the runs from their notes."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from bot.domain.pull_request import PullRequestState
from bot.domain.reaction import Reaction
from bot.domain.run import Phase
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.store.runs import RunStore
from tests.conftest import Bot
from tests.fakes.ports import FakeExecutor, FakeForge, FakeTracker, FakeWorkspaces


@pytest.fixture
def amnesia(world, policy, tmp_path) -> Iterator:
    """A life that begins with an empty database."""
    stores = []

    @asynccontextmanager
    async def life() -> AsyncIterator[Bot]:
        stores.append(RunStore.open(tmp_path / f"life{len(stores)}.db"))
        project = Project(
            "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), policy, hand_over=world.by_hand
        )
        moved: list[bool] = []
        outside = Ports({"shop": project}, FakeExecutor(world), stores[-1])
        capacity = lambda: Capacity(2)  # noqa: E731
        async with Engine(
            outside, clock=world.clock, capacity=capacity, on_change=lambda: moved.append(True)
        ) as engine:
            yield Bot(engine, stores[-1], world, moved)

    yield life
    for store in stores:
        store.close()


async def in_review(bot, world):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn()
    await bot.tick()


async def test_an_agent_at_work_goes_on_in_its_session_and_nothing_is_said_twice(world, amnesia):
    async with amnesia() as bot:
        world.open_issue("shop#1", "ai")
        await bot.tick()
        world.write_file()
        await bot.wait(60)
    said = set(world.said)
    world.forget_turns()
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.WORKING
        assert bot.run("shop#1").ordinal == 1
        assert set(world.said) == said


async def test_a_pull_request_in_review_is_gone_on_with_and_what_was_heard_is_not_heard_again(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.comment_on_pull("shop#1", "Rename it")
        await bot.tick()
        world.finish_turn()
        await bot.tick()
        spent, turns = bot.store.spent_by_issue()["shop#1"], bot.run("shop#1").turns.number
    async with amnesia() as bot:
        await bot.tick()
        run = bot.run("shop#1")
        assert (run.phase, run.turns.number, run.ordinal) == (Phase.REVIEW, turns, 1)
        assert bot.store.spent_by_issue()["shop#1"].usd == pytest.approx(spent.usd)
        heard = world.comment_on_pull("shop#1", "And test it")
        await bot.tick()
        assert bot.run("shop#1").turns.number == turns + 1
        assert Reaction.SEEN in world.reactions[heard]
        assert len(world.pulls) == 1
        world.finish_turn()
        await bot.tick()
        world.merge("shop#1")
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE


async def test_a_run_that_was_over_stays_over_though_its_label_is_still_shown(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.close_pull("shop#1")
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        request = world.issues["shop#1"].request
    world.label("shop#1", "ai")
    world._edit("shop#1", request=request)
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        world.unlabel("shop#1", "ai")
        world.label("shop#1", "ai", by="bob")
        await bot.tick()
        assert (bot.run("shop#1").ordinal, bot.run("shop#1").phase) == (2, Phase.WORKING)


async def test_what_was_merged_when_the_memory_was_lost_is_tidied_up_all_the_same(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.merge("shop#1")
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        assert world.labels("shop#1") == frozenset()
        assert world.branches == {}
        assert world.worktrees == {}


async def test_whose_label_was_taken_off_when_the_memory_was_lost_is_tidied_up_all_the_same(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.unlabel("shop#1", "ai")
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        assert world.labels("shop#1") == frozenset()
        assert world.worktrees == {}


async def test_where_the_notes_are_gone_an_open_pull_request_is_gone_on_with(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
    world.notes.clear()
    async with amnesia() as bot:
        await bot.tick()
        assert bot.store.find_run("shop#1") is None, "it may only not be shown yet"
        await bot.wait(31)
        assert (bot.run("shop#1").ordinal, bot.run("shop#1").phase) == (1, Phase.REVIEW)
        world.comment_on_pull("shop#1", "Rename it")
        await bot.tick()
        world.finish_turn()
        await bot.tick()
    assert [pull.state for pull in world.pulls.values()] == [PullRequestState.OPEN]


async def test_a_database_from_an_old_copy_learns_from_the_issue_how_far_it_was(world, amnesia, tmp_path):
    async with amnesia() as bot:
        await in_review(bot, world)
        old = bot.run("shop#1")
        world.comment_on_pull("shop#1", "Rename it")
        await bot.tick()
        world.finish_turn()
        await bot.tick()
        turns = len(world.requests)
    async with amnesia() as bot:
        bot.store.save(old, at=world.now)
        await bot.tick()
        assert (bot.run("shop#1").turns.number, bot.run("shop#1").phase) == (2, Phase.REVIEW)
        assert len(world.requests) == turns, "nothing is done again"


async def test_a_note_of_another_issue_or_of_nonsense_is_no_memory(world, amnesia):
    world.open_issue("shop#1", "ai")
    world.notes["shop#1", "1/progress"] = '{"key": "shop#2", "project": "shop", "ordinal": 7}'
    world.notes["shop#1", "2/progress"] = "not a note"
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").ordinal == 1


async def test_of_two_notes_that_say_that_they_go_on_the_later_one_does(world, amnesia):
    """The end of the first could not be noted: the conversation was locked, for one."""
    async with amnesia() as bot:
        await in_review(bot, world)
        at_first = dict(world.notes)
        world.close_pull("shop#1")
        await bot.tick(2)
        world.label("shop#1", "ai")
        await bot.tick(2)
        assert (bot.run("shop#1").ordinal, bot.run("shop#1").phase) == (2, Phase.WORKING)
    world.notes.update(at_first)

    async with amnesia() as bot:
        world.forget_turns()
        await bot.tick(2)
        assert [(run.ordinal, run.phase) for run in bot.store.active()] == [(2, Phase.WORKING)]

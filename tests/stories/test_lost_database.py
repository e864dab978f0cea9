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
    """Starts a daemon with an empty database."""
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


async def test_a_running_turn_continues_without_the_database_and_no_comment_is_repeated(world, amnesia):
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


async def test_a_pull_request_in_review_continues_without_the_database_and_old_comments_stay_used(world, amnesia):
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


async def test_a_finished_run_stays_finished_while_its_label_is_still_shown(world, amnesia):
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


async def test_a_run_merged_while_the_database_was_lost_is_cleaned_up(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.merge("shop#1")
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        assert world.labels("shop#1") == frozenset()
        assert world.branches == {}
        assert world.worktrees == {}


async def test_a_run_unlabelled_while_the_database_was_lost_is_cleaned_up(world, amnesia):
    async with amnesia() as bot:
        await in_review(bot, world)
        world.unlabel("shop#1", "ai")
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
        assert world.labels("shop#1") == frozenset()
        assert world.worktrees == {}


async def test_an_open_pull_request_continues_when_its_notes_are_gone(world, amnesia):
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


async def test_a_database_restored_from_an_old_copy_catches_up_from_the_notes(world, amnesia, tmp_path):
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


async def test_a_note_of_another_issue_or_with_invalid_data_is_ignored(world, amnesia):
    world.open_issue("shop#1", "ai")
    world.notes["shop#1", "1/progress"] = '{"key": "shop#2", "project": "shop", "ordinal": 7}'
    world.notes["shop#1", "2/progress"] = "not a note"
    async with amnesia() as bot:
        await bot.tick()
        assert bot.run("shop#1").ordinal == 1


async def test_the_later_of_two_unfinished_notes_is_continued(world, amnesia):
    """The first note still says active, because for example the conversation was locked."""
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


async def test_a_label_that_was_left_on_an_issue_of_a_run_that_is_over_goes_at_the_next_start(world, policy, tmp_path):
    store = RunStore.open(tmp_path / "runs.db")
    project = Project(
        "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), policy, hand_over=world.by_hand
    )

    @asynccontextmanager
    async def life() -> AsyncIterator[Bot]:
        moved: list[bool] = []
        outside = Ports({"shop": project}, FakeExecutor(world), store)
        async with Engine(
            outside, clock=world.clock, capacity=lambda: Capacity(2), on_change=lambda: moved.append(True)
        ) as engine:
            yield Bot(engine, store, world, moved)

    async with life() as bot:
        await in_review(bot, world)
        world.unlabel("shop#1", "ai")
        await bot.tick()
        assert bot.run("shop#1").phase is Phase.DONE
    world.label("shop#1", "ai:review")
    async with life() as bot:
        await bot.tick()
        assert world.issues["shop#1"].labels == frozenset()
        assert bot.run("shop#1").unshown == ()
    store.close()

"""A model that fails or reaches its usage limit pauses projects, and they continue by themselves."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bot.domain.policy import Policy
from bot.domain.run import Phase, WaitReason
from bot.domain.turn import Failure
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Project
from bot.store.runs import RunStore
from tests.conftest import Bot
from tests.fakes.ports import FakeForge, FakeTracker, FakeWorkspaces

OVERLOADED = "API Error: 529 Overloaded."


@pytest.fixture
def policy() -> Policy:
    return Policy(max_working=15, max_working_per_project=15, base="main")


@pytest.fixture
async def busy(bot, world) -> AsyncIterator[Bot]:
    for number in range(15):
        world.open_issue(f"shop#{number}", "ai")
    await bot.tick()
    assert len(world.running()) == 15
    yield bot


async def fail_all(bot, world, failure: Failure = Failure.MODEL, detail: str = OVERLOADED, **more) -> None:
    for turn in world.running():
        world.fail_turn(failure, detail, turn=turn, **more)
    await bot.tick()


@asynccontextmanager
async def next_life(bot: Bot, world, tmp_path) -> AsyncIterator[Bot]:
    """Starts a new process over the same database."""
    store, moved = RunStore.open(tmp_path / "treehand.db"), list[bool]()
    outside = replace(bot.engine.ports, store=store)
    capacity = lambda: Capacity(15)  # noqa: E731
    async with Engine(outside, clock=world.clock, capacity=capacity, on_change=lambda: moved.append(True)) as engine:
        yield Bot(engine, store, world, moved)
    store.close()


async def test_a_model_outage_pauses_the_project_asks_no_questions_and_ends_by_itself(busy, world):
    await fail_all(busy, world)
    for _ in range(12):
        await busy.wait(30)
        await fail_all(busy, world)

    runs = busy.store.active()
    assert {run.phase for run in runs} == {Phase.WORKING}
    assert len(world.requests) <= 15 + 1
    why = "paused after 15 turns failed in the same way: the model does not answer (API Error: 529 Overloaded.)"
    assert all(run.reason.startswith(why) and "the next probe is at" in run.reason for run in runs)
    assert all(why in world.comments_of(run.key)[0] for run in runs)

    await busy.wait(600)
    (trying,) = world.running()
    world.finish_turn(trying)
    await busy.tick()
    assert len(world.running()) == 14
    assert {run.turns.failures for run in busy.store.active()} == {0}
    assert "ended early" not in "".join(world.prompts[-14:])


async def test_trial_runs_during_a_pause_start_at_growing_intervals(busy, world):
    await fail_all(busy, world)
    tries = []
    begun = world.now
    while world.now < begun + 4 * 3600:
        await busy.wait(60)
        if world.running():
            assert len(world.running()) == 1
            tries.append((world.now - begun) // 60)
            await fail_all(busy, world)
    assert tries == [10, 30, 70, 130, 190]


async def test_new_issues_and_comments_wait_for_the_end_of_a_pause_and_show_it(bot, world):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    for number in range(2, 7):
        world.open_issue(f"shop#{number}", "ai")
    await bot.tick()
    await fail_all(bot, world, Failure.SETUP, "No such program.")
    world.open_issue("shop#7", "ai")
    world.comment("shop#1", "Shorter, please.")
    await bot.wait(20)

    assert world.running() == []
    for key in ("shop#1", "shop#2", "shop#7"):
        assert bot.run(key).reason.startswith("paused after 5 turns failed in the same way: the setup of a turn fails")
        assert "No such program." in world.comments_of(key)[0]
    world.comment("shop#7", "/ai why")
    await bot.tick()
    assert "paused" in world.comments_of("shop#7")[-1]


async def test_the_pause_survives_a_restart_and_a_new_label(busy, world, tmp_path):
    await fail_all(busy, world)
    async with next_life(busy, world, tmp_path) as again:
        world.unlabel("shop#3", "ai")
        await again.wait(20)
        world.label("shop#3", "ai")
        await again.wait(60)
        assert world.running() == []
        assert again.run("shop#3").ordinal == 2
        assert again.run("shop#3").reason.startswith("paused")


@pytest.mark.parametrize("command", ["retry", "resume"])
async def test_a_command_starts_one_run_during_a_pause(busy, world, command):
    await fail_all(busy, world)
    world.comment("shop#4", f"/ai {command}")
    await busy.tick()
    (trying,) = world.running()
    assert trying.startswith("shop#4/")
    world.finish_turn(trying)
    await busy.wait(30)
    assert len(world.running()) == 14


async def test_the_pause_of_a_project_and_its_end_are_logged_once_each(busy, world, caplog):
    caplog.set_level(logging.INFO, "bot.engine.loop")
    await fail_all(busy, world)
    await busy.wait(30)
    await busy.wait(600)
    world.finish_turn()
    await busy.tick(2)
    lines = [record.getMessage() for record in caplog.records if record.name == "bot.engine.loop"]
    lines = [text for text in lines if text.startswith(("project paused", "project resumed"))]
    assert [text.partition(" reason")[0] for text in lines] == [
        "project paused project=shop",
        "project resumed project=shop",
    ]


async def test_an_outage_asks_no_questions_with_two_slots(bot, world):
    calm = replace(bot.engine.ports.projects["shop"].policy, max_working=2, max_working_per_project=2)
    bot.engine.ports.projects["shop"] = replace(bot.engine.ports.projects["shop"], policy=calm)
    for number in range(6):
        world.open_issue(f"shop#{number}", "ai")
    for _ in range(40):
        await bot.wait(30)
        await fail_all(bot, world)
    assert {run.phase for run in bot.store.active()} == {Phase.QUEUED, Phase.WORKING}

    await bot.wait(3600)
    for _ in range(20):
        await bot.wait(300)
        while world.running():
            world.finish_turn()
        await bot.tick()
    assert {run.phase for run in bot.store.active()} == {Phase.REVIEW}


async def test_a_run_that_fails_alone_asks_after_three_failures(bot, world):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    for _ in range(3):
        await fail_all(bot, world)
        await bot.wait(60)
    assert bot.run("shop#1").phase is Phase.ASKING
    assert "3 times in a row" in world.comments_of("shop#1")[-1]


# The usage limit of the model.


@pytest.fixture
async def limited(busy, world) -> AsyncIterator[Bot]:
    for number in range(3, 15):
        world.delete_issue(f"shop#{number}")
    await busy.tick()
    await fail_all(busy, world, Failure.LIMIT, "You've hit your limit.", retry_at=world.now + 7200)
    yield busy


async def test_a_usage_limit_parks_all_runs_until_it_ends(limited, world):
    world.open_issue("shop#20", "ai")
    await limited.wait(3600)
    assert world.running() == []
    runs = limited.store.active()
    assert {(run.phase, run.turns.failures) for run in runs} == {(Phase.WORKING, 0), (Phase.QUEUED, 0)}
    until = {run.reason for run in runs}
    assert len(until) == 1
    (words,) = until
    assert words.startswith("the model's usage limit is reached; the run continues at ")
    assert words.endswith(" UTC")
    assert all(words in world.comments_of(run.key)[0] for run in runs)
    assert not any("Needs you" in text for run in runs for text in world.comments_of(run.key))


async def test_after_a_usage_limit_each_run_starts_when_the_one_before_shows_progress(limited, world):
    world.open_issue("shop#20", "ai")
    await limited.wait(7200)
    seen = []
    while len(world.running()) < 3:
        (*_, newest) = world.running()
        seen.append(len(world.running()))
        await limited.wait(60)
        assert len(world.running()) == seen[-1]
        world.say_progress(newest, tokens=10)
        await limited.tick()
    assert seen == [1, 2]
    world.say_progress(world.running()[-1], tokens=10)
    await limited.tick()
    assert len(world.running()) == 4
    assert {run.wait_reason for run in limited.store.active()} == {WaitReason.NONE}


async def test_a_repeated_usage_limit_parks_all_runs_again(limited, world):
    await limited.wait(7200)
    assert len(world.running()) == 1
    await fail_all(limited, world, Failure.LIMIT, retry_at=world.now + 3600)
    for _ in range(5):
        await limited.wait(600)
        assert world.running() == []
    assert {run.turns.failures for run in limited.store.active()} == {0}


async def test_a_usage_limit_survives_a_restart(limited, world, tmp_path):
    async with next_life(limited, world, tmp_path) as again:
        await again.wait(3600)
        assert world.running() == []
        await again.wait(3600)
        assert len(world.running()) == 1


async def test_retry_starts_at_once_and_its_progress_ends_the_usage_limit(limited, world):
    world.comment("shop#1", "/ai retry")
    await limited.wait(20)
    (trying,) = world.running()
    assert trying.startswith("shop#1/")
    world.finish_turn(trying)
    await limited.tick()
    assert len(world.running()) == 1
    world.say_progress(tokens=5)
    await limited.tick()
    assert len(world.running()) == 2


async def test_a_usage_limit_stops_other_projects_too(bot, world, policy):
    outside = bot.engine.ports
    outside.projects["bar"] = Project(
        "bar",
        FakeTracker(world, "bar"),
        FakeForge(world, "bar"),
        FakeWorkspaces(world),
        policy,
        hand_over=world.by_hand,
    )
    bot.engine.expect_news(["bar"])
    world.open_issue("shop#1", "ai")
    await bot.tick()
    await fail_all(bot, world, Failure.LIMIT, retry_at=world.now + 600)
    world.open_issue("bar#1", "ai", project="bar")
    await bot.wait(60)
    assert world.running() == []
    assert "usage limit" in bot.run("bar#1").reason


async def test_parked_runs_do_not_keep_the_engine_open(limited, world):
    assert not limited.engine.may_go_on()


async def test_paused_runs_do_not_keep_the_engine_open(busy, world):
    await fail_all(busy, world)
    assert not busy.engine.may_go_on()

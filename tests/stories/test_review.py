"""Stories with faults at an awkward moment."""

import asyncio
from dataclasses import replace

import pytest

from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.reaction import Reaction
from bot.domain.run import Phase, Run, RunTurns, WaitReason
from bot.domain.turn import TurnReport, TurnState
from bot.engine.actions import CancelTurn
from bot.engine.decide import ask_for_help, decide
from bot.engine.observation import Observation
from bot.engine.schedule import may_go_on
from bot.errors import NeedsHuman, Retryable
from tests.fakes.ports import FakeForge, FakeTracker, FakeWorkspaces

KEY = "shop#1"


async def in_review(bot, world, key=KEY):
    world.open_issue(key, "ai")
    await bot.tick()
    world.finish_turn(key)
    await bot.tick()


async def queued_behind_two_others(bot, world):
    for number in (1, 2, 3):
        world.open_issue(f"shop#{number}", "ai")
        world.wait(1)
    await bot.tick()
    assert bot.run("shop#3").phase is Phase.QUEUED


async def test_stopping_a_queued_run_ends_it(bot, world):
    await queued_behind_two_others(bot, world)
    world.comment("shop#3", "/ai stop")
    await bot.tick(4)

    assert world.labels("shop#3") == frozenset()
    assert (bot.run("shop#3").ordinal, bot.run("shop#3").phase) == (1, Phase.DONE)


async def test_unlabelling_a_queued_run_removes_the_phase_label(bot, world):
    await queued_behind_two_others(bot, world)
    world.unlabel("shop#3", "ai")
    await bot.tick()

    assert world.labels("shop#3") == frozenset()
    assert "Ended" in world.comments_of("shop#3")[0]


async def test_an_issue_stopped_by_command_can_be_requested_again(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, "/ai stop")
    await bot.tick(4)
    assert bot.run(KEY).phase is Phase.DONE
    world.wait(60)
    world.label(KEY, "ai")
    await bot.tick(4)

    assert (bot.run(KEY).ordinal, bot.run(KEY).phase) == (2, Phase.WORKING)


async def test_an_observation_older_than_the_end_of_a_run_starts_no_second_run(bot, world):
    """The step that ends a run is carried out while the next tick waits for the forge."""
    await in_review(bot, world)
    world.comment(KEY, "/ai stop")
    await bot.engine.tick()
    await bot.engine.wait_until_idle()
    project, looked = bot.engine.ports.projects["shop"], asyncio.Event()
    look, remove = project.forge.snapshot, project.workspaces.remove

    async def slow_remove(branch):
        await looked.wait()
        await remove(branch)

    async def slow_look(branches, **how):
        seen = await look(branches, **how)
        looked.set()
        await bot.engine.wait_until_idle()
        return seen

    project.workspaces.remove = slow_remove
    await bot.engine.tick()
    project.forge.snapshot = slow_look
    await bot.engine.tick()
    await bot.engine.wait_until_idle()

    assert (bot.run(KEY).ordinal, bot.run(KEY).phase) == (1, Phase.DONE)


async def test_a_run_that_waits_for_people_is_not_saved_every_minute(bot, world):
    await in_review(bot, world)
    await bot.wait(20)
    before = bot.run(KEY)
    assert "Pull request: " in world.comments_of(KEY)[0]
    for _ in range(5):
        await bot.wait(120)

    assert bot.run(KEY) == before


async def test_a_turn_that_ended_just_before_the_shutdown_is_published_and_charged(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.engine.park()

    assert bot.run(KEY).phase is Phase.REVIEW
    assert bot.store.spent(since=0) == pytest.approx(0.1)
    assert world.pull(KEY).draft


async def test_a_turn_that_could_not_be_pushed_is_charged(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    world.fails["ensure_pushed"] = NeedsHuman("Somebody else pushed to the branch.")
    await bot.tick()

    assert bot.run(KEY).phase is Phase.ASKING
    assert bot.store.spent(since=0) == pytest.approx(0.1)
    assert bot.run(KEY).session


@pytest.mark.parametrize("order", ["/ai pause", "/ai stop", "/ai status"])
async def test_a_turn_that_ended_when_a_command_came_is_charged(bot, world, order):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    world.comment(KEY, order)
    await bot.tick(3)

    assert bot.store.spent(since=0) == pytest.approx(0.1)


async def test_a_deleted_issue_ends_its_run_and_salvages_its_work(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.write_file(KEY)
    world.delete_issue(KEY)
    await bot.tick(3)

    assert bot.run(KEY).phase is Phase.DONE
    assert world.salvaged
    assert world.worktrees == {}


async def test_a_reply_after_repeated_failures_skips_the_backoff(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    for _ in range(3):
        world.fail_turn(detail="it fell over.")
        await bot.tick()
        if bot.run(KEY).phase is Phase.WORKING:
            await bot.wait(40)
    assert bot.run(KEY).phase is Phase.ASKING
    world.comment(KEY, "try the other way")
    await bot.tick(2)

    assert bot.run(KEY).phase is Phase.WORKING


async def test_a_comment_on_a_queued_issue_is_seen(bot, world):
    await queued_behind_two_others(bot, world)
    said = world.comment("shop#3", "mind the tests")
    await bot.tick()

    assert world.reactions[said] == {Reaction.SEEN}


async def test_agents_of_an_unreachable_project_still_count_against_the_limit(bot, world):
    shop = bot.engine.ports.projects["shop"]
    bar = replace(
        shop,
        name="bar",
        tracker=FakeTracker(world, "bar"),
        forge=FakeForge(world, "bar"),
        workspaces=FakeWorkspaces(world, "bar"),
    )
    bot.engine.ports.projects["bar"] = bar
    world.open_issue("shop#1", "ai")
    world.open_issue("shop#2", "ai")
    await bot.tick()

    async def dark(keys, **how):
        raise Retryable("The tracker of the shop does not answer.")

    shop.tracker.snapshot = dark
    world.open_issue("bar#1", "ai", project="bar")
    await bot.tick()

    assert len(world.running()) == 2
    assert bot.run("bar#1").phase is Phase.QUEUED


def test_a_refusal_during_a_turn_leaves_no_agent_running():
    run = Run(KEY, "shop", phase=Phase.WORKING, turns=RunTurns(number=1, started_at=90.0))
    seen = Observation(
        100.0, Issue(KEY, "Fix it", "", frozenset({"ai"}), open=True), turn=TurnReport(TurnState.RUNNING)
    )
    decision = ask_for_help(run, seen, Policy(), "It cannot be told anything.")
    assert decision.actions == (CancelTurn(1),)
    stopped = replace(seen, turn=TurnReport(TurnState.STOPPED, tokens=7))
    asking = decide(decision.run, stopped, Policy())
    assert (asking.run.phase, asking.run.turns.ended) == (Phase.ASKING, 1)
    assert asking.run.reason == "It cannot be told anything."
    assert asking.spend
    assert asking.spend.tokens == 7


async def test_a_turn_that_is_being_cancelled_still_holds_its_slot(bot, world, monkeypatch):
    world.open_issue(KEY, "ai")
    await bot.tick()
    unsaved = replace(bot.run(KEY), phase=Phase.ASKING, wait_reason=WaitReason.FAILED, turns=RunTurns())
    bot.store.save(unsaved, at=world.now)
    ended, cancel = asyncio.Event(), bot.engine.ports.executor.cancel

    async def cancel_slowly(turn_id):
        await ended.wait()
        await cancel(turn_id)

    monkeypatch.setattr(bot.engine.ports.executor, "cancel", cancel_slowly)
    world.open_issue("shop#2", "ai")
    world.open_issue("shop#3", "ai")
    for _ in range(2):
        await bot.engine.tick()
        await asyncio.sleep(0)
    meanwhile = len(world.running())
    ended.set()
    await bot.engine.wait_until_idle()
    assert meanwhile == 2


def test_a_refused_key_keeps_no_run_going():
    speaking = Run(
        "shop#1", "shop", phase=Phase.ASKING, wait_reason=WaitReason.KEY_REFUSED, turns=RunTurns(number=1, ended=1)
    )
    silent = Run("shop#2", "shop", phase=Phase.WORKING, turns=RunTurns(number=1, ended=1))
    assert not may_go_on([speaking, silent])
    assert may_go_on([silent])
    assert may_go_on([speaking, replace(silent, turns=replace(silent.turns, ended=0))])

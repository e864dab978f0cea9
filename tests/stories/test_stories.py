"""Whole stories with the real engine and SQLite, and an imaginary world."""

import asyncio
from collections import Counter

import pytest

from bot.domain.change import DiffStat
from bot.domain.comment import CommentOutcome
from bot.domain.history import FirstPullRequest, QueueWait
from bot.domain.reaction import Reaction
from bot.domain.run import Phase, WaitReason
from bot.domain.turn import Failure
from bot.engine.loop import Engine
from bot.errors import MustRestart, NeedsHuman, Retryable
from bot.store.statistics import history_since

KEY = "shop#1"


async def in_review(bot, world, key=KEY):
    world.open_issue(key, "ai")
    await bot.tick()
    world.finish_turn(key)
    await bot.tick()


async def test_from_label_to_clean_up(bot, world):
    world.open_issue(KEY, "ai", title="Fix the login", body="It breaks.")
    await bot.tick()
    assert world.labels(KEY) == {"ai", "ai:working"}
    assert "It breaks." in world.requests["shop#1/1/turn-1"].briefing

    world.finish_turn(KEY, words="I mended it.")
    await bot.tick()
    pull = world.pull(KEY)
    assert pull.draft
    assert pull.title == "Fix the login"
    assert "Closes shop#1" in pull.body
    assert "> I mended it." in pull.body
    assert world.labels(KEY) == {"ai", "ai:review"}

    said = world.comment_on_pull(KEY, "use OAuth instead")
    await bot.tick()
    assert "use OAuth instead" in world.prompts[-1]
    assert "It breaks." not in world.prompts[-1]
    assert world.labels(KEY) == {"ai", "ai:working"}
    assert world.reactions[said] == {Reaction.SEEN}

    world.finish_turn(KEY, words="OAuth it is.")
    await bot.tick()
    assert world.reactions[said] == {Reaction.SEEN, Reaction.DONE}
    assert any("> use OAuth instead" in text and "OAuth it is." in text for text in world.comments_of(pull.branch))

    world.merge(KEY)
    await bot.tick()
    assert world.worktrees == {}
    assert world.branches == {}
    assert world.salvaged == {}
    assert world.labels(KEY) == frozenset()
    assert bot.store.active() == []
    assert bot.run(KEY).reason == "the pull request was merged"


async def test_of_a_hundred_runs_none_has_two_edits_of_a_comment_waiting(bot, world, monkeypatch):
    """So no newer edit can take the place of one that waits: its run decides again only after it (ADR 48)."""
    tracker = bot.engine.ports.projects["shop"].tracker
    write, waiting, most, may_go_on = tracker.ensure_comment, Counter(), Counter(), asyncio.Event()

    async def slow(key, *, slug, **what):
        waiting[key, slug] += 1
        most[key, slug] = max(most[key, slug], waiting[key, slug])
        await may_go_on.wait()
        waiting[key, slug] -= 1
        await write(key, slug=slug, **what)

    monkeypatch.setattr(tracker, "ensure_comment", slow)
    for number in range(1, 101):
        world.open_issue(f"shop#{number}", "ai")
    for at in range(20):
        world.now += 30
        await bot.engine.tick()
        for key in (key for key, _ in waiting):
            world.comment(key, f"Note {at}.")  # news for each of them, again and again
        await asyncio.sleep(0)
    may_go_on.set()
    await bot.engine.wait_until_idle()
    assert most
    assert set(most.values()) == {1}


async def test_the_cost_of_a_model_without_a_price_is_called_a_guess(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.use_model("claude-nova-9")
    world.now += 20
    await bot.tick()
    guess = "because the price of `claude-nova-9` is not known: set it in `budget.prices`"
    assert guess in world.said[KEY, "1/progress"]
    world.finish_turn(KEY)
    await bot.tick(3)
    assert guess in world.said[KEY, "1/progress"]
    (pull,) = world.pulls.values()
    assert guess in pull.body
    assert bot.store.unpriced_models() == ["claude-nova-9"]


async def test_an_issue_gets_one_progress_comment(bot, world):
    await in_review(bot, world)
    world.merge(KEY)
    await bot.tick(3)

    assert len(world.comments_of(KEY)) == 1
    assert "Done" in world.comments_of(KEY)[0]


async def test_a_comment_while_the_agent_works_reaches_the_running_turn(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    said = world.comment(KEY, "use OAuth instead")
    await bot.tick(2)
    assert "use OAuth instead" in world.heard(KEY)[-1]
    assert len(world.requests) == 1

    world.finish_turn(KEY)
    await bot.tick(2)
    assert len(world.requests) == 1
    assert world.reactions[said] == {Reaction.SEEN, Reaction.DONE}
    [row] = bot.run(KEY).comments
    assert row.outcome is CommentOutcome.APPLIED


async def test_a_message_the_agent_did_not_read_starts_the_next_turn(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.deaf = True
    world.comment(KEY, "use OAuth instead")
    await bot.tick()
    world.deaf = False
    world.finish_turn(KEY)
    await bot.tick(2)

    assert "use OAuth instead" in world.prompts[-1]
    assert bot.run(KEY).turns.number == 2


async def test_a_comment_that_arrives_as_the_turn_ends_is_not_lost(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.fails["send"] = Retryable("the turn has ended")
    world.comment(KEY, "use OAuth instead")
    await bot.tick()
    world.finish_turn(KEY)
    world.fails.clear()
    await bot.tick(2)

    assert "use OAuth instead" in world.prompts[-1]


async def test_a_third_run_waits_for_one_of_two_slots_with_a_reason(bot, world):
    for number in range(1, 4):
        world.open_issue(f"shop#{number}", "ai")
        world.wait(1)
    await bot.tick()
    assert bot.run("shop#3").phase is Phase.QUEUED
    assert bot.run("shop#3").reason == "waiting for a free slot: 2 agents are working, 0 ahead of this one"
    assert world.labels("shop#3") == {"ai", "ai:queued"}
    assert bot.run("shop#3").turns.failures == 0

    world.finish_turn("shop#1")
    await bot.tick(2)
    assert bot.run("shop#3").phase is Phase.WORKING


async def test_urgent_runs_start_first_then_by_priority_then_by_age(bot, world):
    world.open_issue("shop#1", "ai")
    world.open_issue("shop#2", "ai")
    await bot.tick()
    world.wait(1)
    world.open_issue("shop#3", "ai")
    world.wait(1)
    world.open_issue("shop#4", "ai", priority=2)
    world.wait(1)
    world.open_issue("shop#5", "ai", "ai:now")
    await bot.tick()
    order = []
    for done in ("shop#1", "shop#2", "shop#5"):
        world.finish_turn(done)
        await bot.tick(2)
        order += [run.key for run in bot.store.active() if run.phase is Phase.WORKING and run.key not in order]

    assert [key for key in order if key in {"shop#3", "shop#4", "shop#5"}] == ["shop#5", "shop#4", "shop#3"]


async def test_a_turn_without_changes_asks_and_opens_no_pull_request(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY, files=(), words="There is nothing to do.")
    await bot.tick()

    assert world.pulls == {}
    assert bot.run(KEY).phase is Phase.ASKING
    assert world.labels(KEY) == {"ai", "ai:asking"}
    assert any("> There is nothing to do." in text for text in world.comments_of(KEY))

    world.comment(KEY, "there is: the login page")
    await bot.tick()
    assert bot.run(KEY).phase is Phase.WORKING
    assert "the login page" in world.prompts[-1]


async def test_a_question_of_the_agent_is_posted_and_the_answer_continues_its_session(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY, question="Which provider?")
    await bot.tick()
    assert (bot.run(KEY).wait_reason, bot.run(KEY).reason) == (WaitReason.QUESTION, "The agent asks: Which provider?")
    assert any("> Which provider?" in text for text in world.comments_of(KEY))

    world.comment(KEY, "the second one")
    await bot.tick()
    assert world.requests["shop#1/1/turn-2"].session == "session-of-shop#1/1"


async def test_unlabelling_stops_and_salvages(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.write_file(KEY)
    world.unlabel(KEY, "ai")
    await bot.tick(2)

    assert world.running() == []
    assert list(world.salvaged) == ["treehand/shop-1"]
    assert any("refs/treehand/salvage" in text for text in world.comments_of(KEY))
    assert world.worktrees == {}
    assert world.labels(KEY) == frozenset()


async def test_relabelling_after_the_end_starts_run_two_on_a_new_branch(bot, world):
    await in_review(bot, world)
    world.merge(KEY)
    await bot.tick()
    world.reopen_issue(KEY)
    world.label(KEY, "ai")
    await bot.tick()

    assert bot.run(KEY).ordinal == 2
    world.finish_turn(KEY)
    await bot.tick()
    assert world.pull(KEY).branch == "treehand/shop-1-2"


async def test_an_existing_branch_of_the_same_name_is_not_touched(bot, world):
    world.branches["treehand/shop-1"] = ["somebody's commit"]
    world.projects["treehand/shop-1"] = "shop"
    await in_review(bot, world)

    assert world.branches["treehand/shop-1"] == ["somebody's commit"]
    assert world.pull(KEY).branch == "treehand/shop-1-2"


@pytest.mark.parametrize("ending", ["close_issue", "delete_issue", "close_pull"])
async def test_every_way_to_end_an_issue_ends_its_run(bot, world, ending):
    await in_review(bot, world)
    getattr(world, ending)(KEY)
    await bot.tick()

    assert bot.run(KEY).phase is Phase.DONE
    assert world.worktrees == {}


async def test_an_outage_leaves_the_run_unchanged(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    before = bot.run(KEY)
    world.finish_turn(KEY)
    world.down = True
    await bot.tick()
    assert bot.run(KEY) == before

    world.down = False
    await bot.tick()
    assert len(world.pulls) == 1


async def test_a_run_changes_phase_only_after_its_actions_succeeded(bot, world):
    world.open_issue(KEY, "ai")
    world.fails["ensure_started"] = Retryable("no")
    await bot.tick()
    assert bot.run(KEY).phase is Phase.QUEUED

    world.fails.clear()
    await bot.tick()
    assert bot.run(KEY).phase is Phase.WORKING


@pytest.mark.parametrize("verb", ["ensure_pushed", "ensure_draft", "ensure_comment", "ensure_labels", "remove_branch"])
async def test_a_lost_response_repeats_no_action(bot, world, verb):
    world.drops = {verb}
    await in_review(bot, world)
    await bot.tick()
    world.merge(KEY)
    await bot.tick(2)

    assert len(world.pulls) == 1
    assert len(world.requests) == 1
    assert bot.run(KEY).phase is Phase.DONE


async def test_a_restart_loses_the_turn_but_not_the_work(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.write_file(KEY)
    world.forget_turns()
    await bot.tick()

    assert list(world.requests) == ["shop#1/1/turn-1", "shop#1/1/turn-2"]
    assert world.requests["shop#1/1/turn-2"].session == "session-of-shop#1/1"
    assert bot.run(KEY).turns.failures == 0


async def test_a_turn_that_ended_just_before_the_process_was_killed_is_published_and_charged_once(bot, world, store):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.finish_turn(KEY, cost=0.3)
    world.forget_turns()
    await bot.tick(2)

    assert bot.run(KEY).phase is Phase.REVIEW
    assert list(world.requests) == ["shop#1/1/turn-1"]
    assert store.spent(since=0) == pytest.approx(0.3)


async def test_a_turn_started_just_before_the_process_was_killed_is_not_started_twice(bot, world):
    world.drops = {"ensure_started"}
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.forget_turns()
    await bot.wait(60)

    assert list(world.requests) == ["shop#1/1/turn-1", "shop#1/1/turn-2"]
    assert bot.run(KEY).turns.number == 2


async def test_comments_of_a_lost_turn_are_in_the_prompt_of_the_next_turn(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, "use OAuth instead")
    await bot.tick()
    world.forget_turns()
    await bot.tick()

    assert "use OAuth instead" in world.prompts[-1]


async def test_a_turn_that_kills_its_process_is_given_up_after_the_maximum_of_losses(bot, world, policy):
    world.open_issue(KEY, "ai")
    for _ in range(policy.max_losses + 1):
        await bot.wait(policy.loss_seconds)
        world.forget_turns()

    assert bot.run(KEY).phase is Phase.ASKING


async def test_a_failed_turn_is_retried_after_a_growing_delay_and_then_asked_about(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    for pause in (10, 20):
        world.fail_turn(detail="it fell over.")
        await bot.tick()
        await bot.wait(pause - 1)
        assert world.running() == []
        await bot.wait(1)
        assert len(world.running()) == 1
    world.fail_turn(detail="it fell over.")
    await bot.tick()

    assert bot.run(KEY).phase is Phase.ASKING
    assert any("3 times in a row" in text and "it fell over." in text for text in world.comments_of(KEY))
    assert bot.run(KEY).turns.number == 3


async def test_a_refusal_is_explained_on_the_issue(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    world.fails["ensure_pushed"] = NeedsHuman("Somebody else pushed to the branch.")
    await bot.tick()

    assert bot.run(KEY).phase is Phase.ASKING
    assert any("Somebody else pushed" in text for text in world.comments_of(KEY))


async def test_a_refused_key_stops_all_runs_and_is_reported_on_one_issue(bot, world):
    world.open_issue("shop#1", "ai")
    world.open_issue("shop#2", "ai")
    await bot.tick()
    world.fail_turn(Failure.KEY, "401", turn="shop#1")
    world.fail_turn(Failure.KEY, "401", turn="shop#2")
    await bot.tick()
    world.open_issue("shop#3", "ai")
    await bot.tick(3)

    told = [key for key in ("shop#1", "shop#2", "shop#3") if len(world.comments_of(key)) > 1]
    assert told == ["shop#1"]
    assert world.running() == []
    assert bot.run("shop#3").reason == "waiting: the model's service refuses the key"
    assert bot.run("shop#2").turns.failures == 0

    await bot.wait(300)
    assert [turn.rpartition("/")[0] for turn in world.running()] == ["shop#1/1"]
    world.finish_turn("shop#1")
    await bot.tick(3)
    assert {run.phase for run in bot.store.active() if run.key != "shop#1"} == {Phase.WORKING}


async def test_time_limits_end_a_turn_but_a_long_tool_is_no_stall(bot, world, policy):
    world.open_issue("shop#1", "ai")
    world.open_issue("shop#2", "ai")
    await bot.tick()
    world.start_tool("shop#1", doing="runs the tests")
    await bot.wait(policy.stall_seconds + 1)
    assert bot.run("shop#1").turns.failures == 0
    assert bot.run("shop#2").turns.failures == 1
    assert "no progress for 10 minutes" in bot.run("shop#2").reason

    await bot.wait(policy.turn_seconds)
    assert "limit of 60 minutes" in bot.run("shop#1").reason


async def test_the_progress_comment_is_edited_at_most_every_fifteen_seconds_while_working(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.say_progress(KEY, doing="reads app.py")
    await bot.wait(5)
    assert "reads app.py" not in world.comments_of(KEY)[0]
    await bot.wait(10)
    assert "Now: reads `app.py`" in world.comments_of(KEY)[0]


async def test_a_lost_session_is_reported_and_its_cost_is_counted_once(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY, cost=0.5)
    await bot.tick()
    world.comment(KEY, "more")
    await bot.tick()
    world.session_costs.clear()
    world.finish_turn(KEY, cost=0.2, fresh=True)
    await bot.tick()

    assert any("session was lost" in text for text in world.comments_of(KEY))
    assert bot.store.spent(since=0) == pytest.approx(0.7)


async def test_the_cost_of_a_resumed_session_is_counted_as_a_difference(bot, world):
    await in_review(bot, world)
    world.comment(KEY, "more")
    await bot.tick()
    world.finish_turn(KEY, cost=0.3)
    await bot.tick()

    assert bot.store.spent(since=0) == pytest.approx(0.4)


async def test_comments_of_untrusted_people_are_ignored(bot, world):
    await in_review(bot, world)
    said = world.comment(KEY, "do something else", by="eve", trusted=False)
    await bot.tick(2)

    assert bot.run(KEY).phase is Phase.REVIEW
    assert said not in world.reactions


async def test_a_failed_push_of_one_run_does_not_stop_the_others(bot, world):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn("shop#1")
    world.fails["ensure_pushed"] = Retryable("the forge is down")
    world.open_issue("shop#2", "ai")
    await bot.tick()

    assert bot.run("shop#2").phase is Phase.WORKING
    assert bot.run("shop#1").phase is Phase.WORKING


@pytest.mark.expects_errors
async def test_a_bug_in_one_run_does_not_stop_the_others(bot, world):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn("shop#1")
    del world.worktrees["treehand/shop-1"]
    world.open_issue("shop#2", "ai")
    await bot.tick(2)

    assert bot.run("shop#2").phase is Phase.WORKING
    assert bot.run("shop#1").phase is Phase.ASKING
    assert any("Treehand hit a bug (KeyError)" in text for text in world.comments_of("shop#1"))


async def test_a_damaged_database_ends_the_engine_and_is_not_blamed_on_the_run(bot, world, caplog):
    world.fails["ensure_labels"] = MustRestart("The database is damaged.")
    world.open_issue(KEY, "ai")
    with pytest.raises(ExceptionGroup) as ended:
        async with (
            asyncio.timeout(5),
            Engine(bot.engine.ports, clock=world.clock, capacity=bot.engine._capacity) as engine,
        ):
            while True:
                await engine.tick()
                await engine.wait_until_idle()
    assert ended.group_contains(MustRestart)
    assert "crashed" not in caplog.text


async def test_a_shutdown_keeps_the_phase_and_the_session(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    for turn in world.running():
        world.stop_turn(turn)
    await bot.engine.park()
    assert "restarting" in world.comments_of(KEY)[0] or "restarting" in bot.run(KEY).reason
    world.forget_turns()
    await bot.tick()

    assert world.requests["shop#1/1/turn-2"].session == "session-of-shop#1/1"
    assert bot.run(KEY).turns.losses == 0


async def test_a_run_records_its_requester_and_its_diff_size(bot, world):
    world.open_issue("shop#1")
    world.label("shop#1", "ai", by="bob")
    await bot.tick()
    assert bot.run("shop#1").person == "bob"
    world.write_file(path="app.py")
    world.finish_turn()
    await bot.tick()
    assert bot.run("shop#1").diff_stat == DiffStat(files=1, added=1)
    world.comment("shop#1", "More, please.")
    await bot.tick()
    world.fail_turn()
    await bot.tick()
    assert bot.run("shop#1").diff_stat == DiffStat(files=1, added=1)


async def test_waits_pull_requests_and_ends_are_recorded_for_statistics(bot, world, tmp_path):
    asked = world.now
    for key in (KEY, "shop#2", "shop#3"):
        world.open_issue(key, "ai")
    await bot.tick()
    world.wait(60)
    world.finish_turn(KEY)
    await bot.tick()
    world.wait(60)
    world.merge(KEY)
    world.unlabel("shop#2", "ai")
    await bot.tick()
    past = history_since(tmp_path / "treehand.db", 0.0)
    assert past.pull_requests == [FirstPullRequest(asked + 60, "shop", 60.0)]
    assert sorted(past.waits, key=lambda wait: wait.ended_at) == [
        QueueWait("shop", asked, asked), QueueWait("shop", asked, asked), QueueWait("shop", asked, asked + 60),
    ]  # fmt: skip
    assert {(end.at, end.merged, end.had_pull_request) for end in past.finished_runs} == {
        (asked + 120, True, True),
        (asked + 120, False, False),
    }


async def test_an_issue_waits_for_the_issue_that_its_text_depends_on(bot, world):
    world.open_issue("shop#1", title="Rename the table")
    world.open_issue("shop#2", "ai", body="Use the new name.\n\nDepends on #1")
    await bot.tick(2)
    assert (bot.run("shop#2").phase, bot.run("shop#2").reason) == (Phase.QUEUED, "blocked by shop#1")
    assert bot.store.find_run("shop#1") is None

    world.close_issue("shop#1")
    await bot.tick(2)
    assert bot.run("shop#2").phase is Phase.WORKING


async def test_a_dependency_that_does_not_exist_delays_nothing(bot, world):
    world.open_issue("shop#2", "ai", body="Blocked by #77")
    await bot.tick()
    assert bot.run("shop#2").phase is Phase.WORKING


async def test_runs_that_own_the_same_files_work_one_after_the_other(bot, world):
    world.open_issue("shop#1", "ai", body="Owns: src/auth/**")
    world.wait(1)
    world.open_issue("shop#2", "ai", body="Owns: src/auth/login.py")
    await bot.tick(2)
    assert (bot.run("shop#1").phase, bot.run("shop#2").phase) == (Phase.WORKING, Phase.QUEUED)
    assert bot.run("shop#2").reason == "overlaps shop#1"
    assert "overlaps `shop#1`" in world.comments_of("shop#2")[0]

    world.label("shop#2", "ai:anyway")
    await bot.tick(2)
    assert bot.run("shop#2").phase is Phase.WORKING


async def test_an_issue_can_name_its_base_branch_and_forbidden_paths(bot, world):
    world.open_issue("shop#1", "ai", body="Back-port it.\n\nBase: release/2.x\nForbids: migrations/**")
    await bot.tick()
    (request,) = world.requests.values()
    assert (request.base, request.forbids) == ("release/2.x", ("migrations/**",))
    world.finish_turn("shop#1")
    await bot.tick(2)
    (pull,) = world.pulls.values()
    assert pull.base == "release/2.x"

"""Ends of a run after any action of people on the issue, the branch or the pull request."""

import asyncio
from dataclasses import replace

import pytest

from bot.domain.run import Phase
from bot.domain.turn import Failure, TurnState
from bot.engine.intake import SECONDS_TO_APPEAR
from bot.errors import NeedsHuman, NoBranch, RateLimited, Retryable
from tests.fakes.ports import FakeTracker

KEY = "shop#1"


@pytest.fixture
async def reviewed(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick()
    return bot


def progress(world) -> str:
    return world.comments_of(KEY)[0]


async def test_the_progress_comment_of_a_finished_run_shows_its_reason_and_its_pull_request(reviewed, world):
    world.merge(KEY)
    await reviewed.tick(2)
    assert "Done**: the pull request was merged" in progress(world)
    assert f"Pull request: {world.pull(KEY).url}" in progress(world)


async def test_a_run_that_came_to_nothing_has_ended_and_is_not_done(reviewed, world):
    world.unlabel(KEY, "ai")
    await reviewed.tick(2)
    assert progress(world).startswith("⏹️ **Ended**: the label `ai` was removed")


async def test_a_deleted_branch_ends_the_run_like_a_closed_pull_request(reviewed, world):
    world.delete_branch(KEY)
    await reviewed.tick(2)
    assert (reviewed.run(KEY).phase, reviewed.run(KEY).reason) == (Phase.DONE, "the pull request was closed")
    assert world.worktrees == {}
    assert world.branches == {}


async def test_commits_that_people_force_pushed_are_not_overwritten(reviewed, world):
    theirs = world.force_push(KEY)
    world.comment(KEY, "more")
    await reviewed.tick()
    world.finish_turn(KEY)
    await reviewed.tick(2)

    assert theirs in world.branches["treehand/shop-1"]


async def test_a_reopened_pull_request_continues_its_run_in_review_and_its_comments_are_answered(reviewed, world):
    world.close_pull(KEY)
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE
    world.wait(SECONDS_TO_APPEAR)
    world.reopen_pull(KEY)
    await reviewed.tick(2)
    assert (reviewed.run(KEY).ordinal, reviewed.run(KEY).phase) == (1, Phase.REVIEW)
    assert len(world.requests) == 1, "nobody has said what is left to do"

    world.comment_on_pull(KEY, "go on")
    await reviewed.tick()
    assert world.requests["shop#1/1/turn-2"].branch == "treehand/shop-1"
    world.finish_turn(KEY)
    await reviewed.tick()
    assert [pull.state for pull in world.pulls.values()] == ["open"]
    world.close_pull(KEY)
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE


async def test_a_pull_request_that_a_forge_still_shows_as_open_is_not_reopened(reviewed, world):
    world.close_pull(KEY)
    await reviewed.tick()
    world.reopen_pull(KEY)
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE
    world.close_pull(KEY)
    world.wait(SECONDS_TO_APPEAR)
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE


async def test_a_pull_request_reopened_beside_a_closed_issue_says_that_nobody_reads_it(reviewed, world):
    world.close_pull(KEY)
    await reviewed.tick(2)
    world.close_issue(KEY)
    world.wait(SECONDS_TO_APPEAR)
    world.reopen_pull(KEY)
    await reviewed.tick(3)
    assert reviewed.run(KEY).phase is Phase.DONE
    assert "the issue was closed. Treehand no longer reads" in world.comments_of("treehand/shop-1")[-1]


async def test_an_issue_that_asks_again_goes_on_with_its_open_pull_request(reviewed, world):
    world.unlabel(KEY, "ai")
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE
    assert any("Treehand no longer reads comments here" in text for text in world.comments_of("treehand/shop-1"))
    world.comment_on_pull(KEY, "rename it")
    await reviewed.tick()
    assert reviewed.run(KEY).phase is Phase.DONE

    world.label(KEY, "ai")
    await reviewed.tick()
    assert (reviewed.run(KEY).ordinal, reviewed.run(KEY).phase) == (1, Phase.WORKING)
    world.finish_turn(KEY)
    await reviewed.tick()
    assert [(pull.branch, pull.state) for pull in world.pulls.values()] == [("treehand/shop-1", "open")]
    assert reviewed.store.spent_by_issue()[KEY].usd == pytest.approx(0.2)


async def test_a_turn_that_the_missing_label_ended_is_begun_again_beside_its_pull_request(reviewed, world):
    world.comment(KEY, "use OAuth")
    await reviewed.tick()
    world.unlabel(KEY, "ai")
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE
    world.label(KEY, "ai")
    await reviewed.tick()
    assert (reviewed.run(KEY).ordinal, reviewed.run(KEY).phase) == (1, Phase.WORKING)
    assert "use OAuth" in world.requests["shop#1/1/turn-3"].prompt


async def test_a_stranger_who_asks_again_gets_no_work_beside_an_open_pull_request(reviewed, world):
    world.unlabel(KEY, "ai")
    await reviewed.tick(2)
    world.label(KEY, "ai", by="eve", trusted=False)
    await reviewed.tick(2)
    world.comment(KEY, "do more", by="eve", trusted=False)
    await reviewed.tick(2)
    assert len(world.requests) == 1
    assert len(world.pulls) == 1


@pytest.mark.parametrize("ending", ["close_issue", "delete_issue"])
async def test_a_closed_issue_ends_the_run_and_leaves_the_pull_request_open(reviewed, world, ending):
    getattr(world, ending)(KEY)
    await reviewed.tick(2)
    assert reviewed.run(KEY).phase is Phase.DONE
    assert "treehand/shop-1" in world.branches
    assert world.pull("treehand/shop-1").state == "open"


async def test_a_turn_that_ended_after_the_label_was_removed_is_not_published(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    world.unlabel(KEY, "ai")
    await bot.tick(2)

    assert world.branches == {}
    assert world.pulls == {}
    assert list(world.salvaged) == ["treehand/shop-1"]
    assert bot.store.spent(since=0) == pytest.approx(0.1)


async def test_a_delayed_push_is_not_published_after_the_label_was_removed(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    world.fails["ensure_pushed"] = Retryable("The forge is down.")
    await bot.tick()
    world.unlabel(KEY, "ai")
    world.fails.clear()
    await bot.tick(2)

    assert world.branches == {}
    assert list(world.salvaged) == ["treehand/shop-1"]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (None, "git fetch origin refs/treehand/salvage/"),
        (Retryable("down"), "the repository could not be reached; Treehand tries again every hour"),
        (NeedsHuman("refused"), "It is not in the repository, because the repository rejected the push."),
    ],
)
async def test_the_last_comment_names_the_salvage_and_does_not_wait_for_the_repository(bot, world, problem, said):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    if problem:
        world.fails["share"] = problem
    world.unlabel(KEY, "ai")
    await bot.tick(2)

    (text,) = (text for text in world.comments_of(KEY) if "refs/treehand/salvage" in text)
    assert said in text
    assert "kept for 30 days" in text
    assert f"`treehand restore {KEY}`" in text
    assert world.worktrees == {}


async def test_an_agent_started_while_comments_failed_ends_with_its_run(bot, world):
    world.drops.add("ensure_comment")
    world.open_issue(KEY, "ai")
    await bot.tick()
    assert (bot.run(KEY).phase, [turn.state for turn in world.turns.values()]) == (Phase.QUEUED, [TurnState.RUNNING])

    world.unlabel(KEY, "ai")
    world.wait(600)
    await bot.tick(3)
    assert bot.run(KEY).phase is Phase.DONE
    assert TurnState.RUNNING not in [turn.state for turn in world.turns.values()]
    assert world.worktrees == {}


async def test_an_agent_started_while_comments_failed_holds_its_slot(bot, world, policy):
    world.fails["ensure_comment"] = RateLimited("The service asks us to wait.", retry_after=600.0)
    world.open_issue(KEY, "ai")
    await bot.tick()
    del world.fails["ensure_comment"]
    for number in range(2, policy.max_working + 2):
        world.open_issue(f"shop#{number}", "ai")
    await bot.tick()
    assert sum(turn.state is TurnState.RUNNING for turn in world.turns.values()) == policy.max_working


async def test_a_push_that_never_passes_is_told_once_and_taken_back_when_it_passes(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.finish_turn(KEY)
    world.fails["ensure_pushed"] = Retryable("The remote failed during the push: hook declined. Look at its hooks.")
    for _ in range(10):
        await bot.wait(60)
    assert not [text for (_, slug), text in world.said.items() if "stuck" in slug], "it may still pass by itself"

    for _ in range(20):
        await bot.wait(60)
    [told] = [text for (place, slug), text in world.said.items() if place == KEY and "stuck" in slug]
    assert "hook declined. Look at its hooks." in told
    assert bot.run(KEY).phase is Phase.WORKING, "it is tried again"

    del world.fails["ensure_pushed"]
    for _ in range(3):
        await bot.wait(60)
    [told] = [text for (place, slug), text in world.said.items() if place == KEY and "stuck" in slug]
    assert "hook declined" not in told
    assert "The cause is gone." in told
    assert (bot.run(KEY).phase, bot.run(KEY).stuck) == (Phase.REVIEW, "")
    journal = [entry.text for entry in bot.store.journal(bot.run(KEY))]
    assert len([text for text in journal if "a step keeps failing" in text]) == 1


async def test_a_rate_limit_is_not_told_as_a_failure(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.finish_turn(KEY)
    world.fails["ensure_pushed"] = RateLimited("Slow down.", retry_after=1200)
    for _ in range(45):
        await bot.wait(60)
    assert not [text for (_, slug), text in world.said.items() if "stuck" in slug]


async def test_a_missing_base_is_asked_about_once_whatever_people_reply(bot, world):
    world.open_issue(KEY, "ai")
    missing = str(NoBranch("main"))
    for reply in ("", "Try again.", "/ai retry", "And now?"):
        if reply:
            world.comment(KEY, reply)
        await bot.tick(2)
        world.fail_turn(Failure.BASE, missing)
        await bot.tick(2)
        assert bot.run(KEY).phase is Phase.ASKING
    questions = [text for (place, slug), text in world.said.items() if place == KEY and "/ask-" in slug]
    assert [missing in text for text in questions] == [True]
    assert sum(turn.usd for turn in bot.store.spending(bot.run(KEY))) == 0.0


async def test_a_base_that_vanished_before_the_pull_request_is_the_same_question(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick(2)
    world.finish_turn(KEY)
    world.fails["ensure_draft"] = NoBranch("main")
    await bot.tick(2)
    world.comment(KEY, "Try again.")
    await bot.tick(2)
    world.fail_turn(Failure.BASE, str(NoBranch("main")))
    await bot.tick(2)
    questions = [text for (place, slug), text in world.said.items() if place == KEY and "/ask-" in slug]
    assert ["`main` does not exist" in text for text in questions] == [True]


class SlowTracker(FakeTracker):
    """A person merges, which closes the issue, while the tracker is being read."""

    async def snapshot(self, keys, *, poll=None):
        await asyncio.sleep(0.01)
        if self.world.issues[KEY].open:
            self.world.merge(KEY)
            self.world.close_issue(KEY)
        return await super().snapshot(keys, poll=poll)


async def test_a_merge_between_reading_tracker_and_forge_counts_as_a_merge(reviewed, world):
    projects = reviewed.engine.ports.projects
    projects["shop"] = replace(projects["shop"], tracker=SlowTracker(world))
    await reviewed.tick(2)
    assert reviewed.run(KEY).reason == "the pull request was merged"
    assert world.branches == {}


class UnhurriedTracker(FakeTracker):
    """Never uses a cache, like the local tracker. The label is removed during the poll."""

    def __init__(self, world, settled):
        super().__init__(world)
        self.settled = settled
        self.is_going, self.is_seen = asyncio.Event(), asyncio.Event()

    async def snapshot(self, keys, *, poll=None):
        view = await super().snapshot(keys, poll=poll)
        if self.is_going.is_set() and not self.is_seen.is_set():
            self.is_seen.set()
            await self.settled()
        return replace(view, issues={key: replace(issue, request="") for key, issue in view.issues.items()})

    async def ensure_labels(self, key, *, add=(), remove=()):
        if "ai" in remove:
            self.is_going.set()
            await self.is_seen.wait()
        await super().ensure_labels(key, add=add, remove=remove)


async def test_a_run_that_ends_during_a_poll_is_not_followed_by_another(bot, world):
    tracker, projects = UnhurriedTracker(world, bot.engine.wait_until_idle), bot.engine.ports.projects
    projects["shop"] = replace(projects["shop"], tracker=tracker)
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick()
    world.comment(KEY, "/ai stop")
    while not tracker.is_seen.is_set():
        await bot.engine.tick()
    await bot.tick(2)
    assert (bot.run(KEY).ordinal, bot.run(KEY).reason) == (1, "stopped by command")

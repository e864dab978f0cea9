"""What only shows a run may be refused: the work goes on, people are told where they can be, and it is tried again."""

from dataclasses import replace

import pytest

from bot.domain.issue import Issue, IssueStage
from bot.domain.run import Phase, Unshown
from bot.engine.actions import ShowLabels
from bot.engine.decide import decide
from bot.engine.observation import Observation
from bot.errors import NeedsHuman
from tests.fakes.runs import a_run

KEY = "shop#1"
SHOWS = ("ensure_comment", "ensure_labels", "ensure_reaction", "ensure_stage", "ensure_link")


def refuse(world, *names, why="The label is of another team."):
    world.fails |= {name: NeedsHuman(why) for name in names}


def labels(world):
    return world.issues[KEY].labels


async def test_a_run_goes_on_to_the_end_while_everything_that_shows_it_is_refused(bot, world):
    refuse(world, *SHOWS)
    world.open_issue(KEY, "ai")
    world.on_board(KEY)
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.WORKING
    world.finish_turn(KEY)
    await bot.tick()
    world.comment(KEY, "use OAuth")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick()
    assert (bot.run(KEY).phase, world.pull(KEY).draft) == (Phase.REVIEW, True)
    world.merge(KEY)
    await bot.tick(2)
    assert (bot.run(KEY).phase, world.worktrees) == (Phase.DONE, {})


async def test_what_was_refused_is_shown_once_it_is_accepted(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    refuse(world, *SHOWS)
    world.finish_turn(KEY, question="Which one?")
    await bot.tick(2)
    assert (bot.run(KEY).phase, "ai:working" in labels(world)) == (Phase.ASKING, True)

    world.fails.clear()
    await bot.wait(20)
    await bot.tick()
    assert labels(world) == {"ai", "ai:asking"}
    assert any("Which one?" in text for text in world.comments_of(KEY))
    assert "Needs you" in world.comments_of(KEY)[0]
    assert bot.run(KEY).unshown == ()


async def test_a_refused_show_is_tried_ever_less_often(bot, world):
    world.open_issue(KEY, "ai")
    refuse(world, "ensure_labels")
    await bot.tick()
    waits = []
    for _ in range(6):
        (refused,) = [one for one in bot.run(KEY).unshown if one.effect == "the labels"]
        waits.append(round(refused.retry_at - world.now))
        world.now = refused.retry_at
        await bot.tick()
    assert waits == [15, 60, 240, 960, 3600, 3600]


async def test_one_refusal_of_the_progress_comment_is_neither_a_question_nor_told(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    refuse(world, "ensure_comment", why="Linear reported no success (UpdateComment).")
    world.finish_turn(KEY)
    await bot.tick()
    world.fails.clear()
    assert (bot.run(KEY).phase, labels(world)) == (Phase.REVIEW, {"ai", "ai:review"})
    await bot.wait(20)
    assert "In review" in world.comments_of(KEY)[0]
    assert not any("reported no success" in text for text in world.said.values())


async def test_refused_labels_are_told_in_the_progress_comment(bot, world):
    world.open_issue(KEY, "ai")
    refuse(world, "ensure_labels")
    await bot.tick()
    await bot.wait(20)
    await bot.wait(20)
    assert "Treehand could not set the labels: The label is of another team." in world.comments_of(KEY)[0]
    world.fails.clear()
    await bot.wait(300)
    await bot.wait(20)
    assert "could not set" not in world.comments_of(KEY)[0]


async def test_a_locked_issue_is_told_of_once_on_the_pull_request(bot, world, monkeypatch):
    world.open_issue(KEY, "ai")
    await bot.tick()
    tracker = bot.engine.ports.projects["shop"].tracker
    said = tracker.ensure_comment

    async def locked(key, **_):
        raise NeedsHuman("The conversation is locked.")

    monkeypatch.setattr(tracker, "ensure_comment", locked)
    world.finish_turn(KEY)
    for _ in range(5):
        await bot.wait(1000)
    told = [text for (place, _), text in world.said.items() if place == "treehand/shop-1" and "locked" in text]
    assert len(told) == 1
    assert "`review`" in told[0]
    monkeypatch.setattr(tracker, "ensure_comment", said)
    await bot.wait(4000)
    assert "In review" in world.comments_of(KEY)[0]


@pytest.mark.parametrize("effect", ["ensure_labels", "ensure_comment", "ensure_stage"])
async def test_the_end_is_shown_later_if_it_was_refused_and_the_run_is_over_at_once(bot, world, effect):
    world.open_issue(KEY, "ai")
    world.on_board(KEY)
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick(2)
    refuse(world, effect)
    world.merge(KEY)
    await bot.tick()
    assert bot.run(KEY).phase is Phase.DONE
    world.fails.clear()
    await bot.wait(20)
    await bot.tick()
    assert (labels(world), world.stage(KEY)) == (frozenset(), IssueStage.COMPLETED)
    assert "Done" in world.comments_of(KEY)[0]
    assert bot.run(KEY).unshown == ()


async def test_a_merged_branch_that_may_not_be_removed_ends_the_run_and_is_removed_later(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick(2)
    refuse(world, "remove_branch", why="The branch is locked.")
    world.merge(KEY)
    await bot.tick()
    assert (bot.run(KEY).phase, "treehand/shop-1" in world.branches) == (Phase.DONE, True)
    assert "Done" in world.comments_of(KEY)[0]
    world.fails.clear()
    await bot.wait(20)
    assert ("treehand/shop-1" in world.branches, bot.run(KEY).unshown) == (False, ())


async def test_an_end_that_could_not_be_shown_does_not_touch_the_next_request(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick(2)
    refuse(world, "ensure_labels")
    world.close_pull(KEY)
    await bot.tick()
    assert bot.run(KEY).phase is Phase.DONE
    world.unlabel(KEY, "ai")
    world.label(KEY, "ai")
    await bot.tick()
    world.fails.clear()
    await bot.wait(20)
    assert (bot.run(KEY).ordinal, bot.run(KEY).phase) == (2, Phase.WORKING)
    assert "ai" in labels(world)


async def test_what_is_refused_for_ever_at_the_end_is_given_up(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick(2)
    refuse(world, "ensure_labels")
    world.merge(KEY)
    await bot.tick()
    for _ in range(12):
        await bot.wait(3600)
    assert bot.run(KEY).unshown == ()


async def test_a_refused_push_is_a_question_all_the_same(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    refuse(world, "ensure_pushed", why="The forge takes no push.")
    world.finish_turn(KEY)
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.ASKING


async def test_an_issue_that_takes_no_question_stops_no_other(bot, world):
    world.open_issue("shop#2", "ai")
    world.unplaced["shop#2"] = ("repo:shop", "repo:blog")
    world.fails["ensure_comment"] = NeedsHuman("The conversation is locked.")
    world.open_issue(KEY, "ai")
    await bot.tick()
    assert bot.run(KEY).phase is Phase.WORKING
    world.fails.clear()
    await bot.wait(3601)
    assert any("which repository" in text for text in world.comments_of("shop#2"))


def test_an_end_is_not_shown_on_an_issue_that_asks_for_work_again(policy):
    left = Unshown("the labels", "refused", retry_at=0.0)
    over = a_run(KEY, phase=Phase.DONE, request="r1", unshown=(left,))
    issue = Issue(KEY, "Fix it", "", frozenset({"ai", "ai:review"}), open=True, request="r1")
    assert decide(over, Observation(1.0, issue), policy).actions == (ShowLabels(frozenset(), issue.labels),)
    again = decide(over, Observation(1.0, replace(issue, request="r2")), policy)
    assert (again.actions, again.run.unshown) == ((), ())

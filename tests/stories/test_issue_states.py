"""Issues with states, links and blocking issues: shown, moved and waited for."""

from dataclasses import replace
from urllib.parse import quote

import pytest

from bot.domain.issue import IssueStage
from bot.domain.run import Phase
from bot.errors import Retryable


@pytest.fixture
def issue(world):
    world.open_issue("ENG-7", "ai")
    world.on_board("ENG-7")
    return "ENG-7"


async def test_an_issue_moves_with_its_run(bot, world, issue):
    await bot.tick()
    assert world.stage(issue) is IssueStage.STARTED
    world.finish_turn()
    await bot.tick()
    assert world.stage(issue) is IssueStage.REVIEW
    world.comment(issue, "make it 43")
    await bot.tick()
    assert (bot.run(issue).phase, world.stage(issue)) == (Phase.WORKING, IssueStage.REVIEW)
    world.finish_turn()
    await bot.tick()
    world.merge(issue)
    await bot.tick()
    assert world.stage(issue) is IssueStage.COMPLETED


async def test_an_issue_returns_to_its_original_state_when_its_run_is_stopped(bot, world, issue):
    await bot.tick()
    world.unlabel(issue, "ai")
    await bot.tick(2)
    assert (bot.run(issue).phase, world.stage(issue)) == (Phase.DONE, IssueStage.ORIGINAL)


async def test_an_issue_that_a_person_has_moved_is_not_moved_again(bot, world, issue):
    await bot.tick()
    world.move(issue, IssueStage.ORIGINAL)
    world.finish_turn()
    await bot.tick()
    assert (bot.run(issue).phase, world.stage(issue)) == (Phase.REVIEW, IssueStage.ORIGINAL)
    world.merge(issue)
    await bot.tick()
    assert world.stage(issue) is IssueStage.ORIGINAL


async def test_a_question_does_not_move_the_issue(bot, world, issue):
    await bot.tick()
    world.finish_turn(question="Which one?")
    await bot.tick()
    assert (bot.run(issue).phase, world.stage(issue)) == (Phase.ASKING, IssueStage.STARTED)


async def test_a_move_whose_response_was_lost_is_done_once(bot, world, issue):
    world.drops = {"ensure_stage"}
    await bot.tick()
    await bot.wait(60)
    assert world.stage(issue) is IssueStage.STARTED
    assert len(world.turns) == 1


async def test_the_pull_request_is_linked_once(bot, world, issue):
    await bot.tick()
    world.finish_turn()
    await bot.tick(2)
    (pull,) = world.pulls.values()
    assert world.issues[issue].links == {pull.url}


async def test_a_pull_request_that_is_kept_here_is_linked_on_the_issue_by_its_page(bot, world, issue):
    """Issues in Linear, pull requests on the local forge."""
    projects = bot.engine.ports.projects
    shop = projects["shop"]
    projects["shop"] = replace(shop, policy=replace(shop.policy, dashboard="https://bot.example.com"))
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    (branch,) = world.pulls
    world.pulls[branch] = replace(world.pulls[branch], url="")
    await bot.tick(2)
    page = f"https://bot.example.com/runs/{quote(issue, safe='')}"
    assert page in world.said[issue, "1/progress"]
    assert page in world.issues[issue].links
    assert len(world.issues[issue].links) <= 2


async def test_a_failed_link_does_not_stop_the_run_and_is_retried(bot, world, issue):
    await bot.tick()
    world.finish_turn()
    world.fails["ensure_link"] = Retryable("not now")
    await bot.tick()
    del world.fails["ensure_link"]
    await bot.wait(600)
    (pull,) = world.pulls.values()
    assert world.issues[issue].links == {pull.url}


async def test_an_issue_waits_for_its_blocking_issues_and_shows_them(bot, world, issue):
    world.block(issue, "ENG-3", "ENG-5")
    await bot.tick()
    assert (bot.run(issue).phase, bot.run(issue).reason) == (Phase.QUEUED, "blocked by ENG-3, ENG-5")
    assert "blocked by `ENG-3`, `ENG-5`" in world.said[issue, "1/progress"]
    world.block(issue)
    await bot.tick()
    assert bot.run(issue).phase is Phase.WORKING


async def test_a_blocked_issue_does_not_delay_others(bot, world, issue):
    world.block(issue, "ENG-3")
    for key in ("ENG-8", "ENG-9"):
        world.open_issue(key, "ai")
    await bot.tick()
    assert [bot.run(key).phase for key in ("ENG-8", "ENG-9")] == [Phase.WORKING, Phase.WORKING]


async def test_an_issue_that_is_blocked_after_its_start_continues(bot, world, issue):
    await bot.tick()
    world.block(issue, "ENG-3")
    world.finish_turn()
    await bot.tick()
    assert bot.run(issue).phase is Phase.REVIEW


async def test_an_issue_without_a_matching_project_gets_one_question(bot, world, issue):
    world.unplaced[issue] = ("repo:shop", "repo:blog")
    await bot.tick(2)
    assert bot.store.find_run(issue) is None
    (said,) = world.comments_of(issue)
    assert "`repo:shop`, `repo:blog`" in said
    del world.unplaced[issue]
    await bot.tick()
    assert bot.run(issue).phase is Phase.WORKING


async def test_a_comment_in_a_thread_is_answered_in_that_thread(bot, world, issue):
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    world.comment(issue, "make it 43", thread="t1")
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    assert world.threads[issue, "1/reply-2"] == "t1"
    world.comment(issue, "/ai status", thread="t2")
    await bot.tick()
    assert [thread for (where, slug), thread in world.threads.items() if slug.startswith("1/answer")] == ["t2"]


async def test_comments_in_several_threads_are_answered_outside_them(bot, world, issue):
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    for thread in ("t1", "t2"):
        world.comment(issue, "make it 43", thread=thread)
    await bot.tick()
    world.finish_turn()
    await bot.tick()
    assert (issue, "1/reply-2") in world.said
    assert (issue, "1/reply-2") not in world.threads

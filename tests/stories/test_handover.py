"""A person takes the worktree over, works in it by hand, and hands it back."""

import pytest

from bot.domain.run import Phase, WaitReason

KEY = "shop#1"
BRANCH = "treehand/shop-1"


@pytest.fixture
async def working(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    return bot


@pytest.fixture
async def taken(working, world):
    await working.tick()
    world.comment(KEY, "/ai take")
    await working.tick()
    return working


async def test_take_interrupts_the_agent_and_shows_the_worktree_and_the_session(taken, world):
    assert world.running() == []
    run = taken.run(KEY)
    assert (run.phase, run.wait_reason) == (Phase.ASKING, WaitReason.TAKEN_OVER)
    assert run.reason == "ana has taken over the worktree; `/ai give` gives it back"
    [answer] = [text for text in world.comments_of(KEY) if "/imaginary/treehand/shop-1" in text]
    assert "resume session-of-shop#1/1 in treehand/shop-1" in answer
    assert world.handed_over == [BRANCH]


async def test_a_second_take_command_hands_the_worktree_over_once(taken, world):
    world.comment(KEY, "/ai take")
    await taken.tick(2)
    assert sum("resume session-of-shop#1/1" in text for text in world.comments_of(KEY)) == 2
    assert world.handed_over == [BRANCH]


async def test_during_a_takeover_no_turn_starts_and_the_sweep_keeps_the_worktree(taken, world):
    world.work_by_hand(KEY)
    for text in ("use OAuth", "/ai resume", "/ai retry", "/ai pause", "/ai plan"):
        world.comment(KEY, text)
        await taken.tick(2)
    assert world.running() == []
    assert taken.run(KEY).wait_reason is WaitReason.TAKEN_OVER
    assert sum("Not now: ana has taken over the worktree" in text for text in world.comments_of(KEY)) == 4

    keep = [BRANCH for run in taken.store.active() if run.key == KEY]
    await taken.engine.ports.projects["shop"].workspaces.sweep(keep)
    assert world.worktrees[BRANCH].dirty


async def test_give_commits_the_changes_by_hand_separately_and_the_agent_continues(taken, world):
    world.comment(KEY, "use OAuth")
    world.work_by_hand(KEY, "by_hand.py")
    world.comment(KEY, "/ai give")
    await taken.tick(2)

    given = world.requests["shop#1/1/turn-2"].handover
    assert given.by == "ana"
    assert given.message == "Changes by ana\n\nshop#1\n\nCo-authored-by: ana <noreply@localhost>"
    assert list(world.given.values()) == ["by_hand.py"]
    assert "use OAuth" in world.prompts[-1]
    assert world.requests["shop#1/1/turn-2"].session == "session-of-shop#1/1"

    world.finish_turn(KEY)
    await taken.tick()
    assert len(world.branches[BRANCH]) == 3
    assert taken.run(KEY).handback_comment == ""
    world.comment_on_pull(KEY, "more")
    await taken.tick(2)
    assert world.requests["shop#1/1/turn-3"].handover is None


async def test_changes_by_hand_are_committed_once_even_if_the_next_turn_fails(taken, world):
    world.work_by_hand(KEY)
    world.comment(KEY, "/ai give")
    await taken.tick(2)
    world.fail_turn()
    await taken.tick()
    await taken.wait(20)
    first, second = (world.requests[f"shop#1/1/turn-{number}"].handover for number in (2, 3))
    assert first == second
    assert len(world.given) == 1


async def test_text_after_the_give_command_reaches_the_agent(taken, world):
    world.comment(KEY, "/ai give\nI began the parser. Please finish it.")
    await taken.tick(2)
    assert "I began the parser. Please finish it." in world.prompts[-1]


async def test_give_without_changes_continues_the_run(taken, world):
    world.comment(KEY, "/ai give")
    await taken.tick(2)
    assert world.given == {}
    assert taken.run(KEY).phase is Phase.WORKING


async def test_a_pull_request_in_review_can_be_taken_and_given_back(working, world):
    world.finish_turn(KEY)
    await working.tick()
    world.comment_on_pull(KEY, "/ai take")
    await working.tick()
    assert "/imaginary/treehand/shop-1" in world.comments_of(BRANCH)[-1]
    world.work_by_hand(KEY, "by_hand.py")
    world.comment_on_pull(KEY, "/ai give")
    await working.tick(2)
    world.finish_turn(KEY, files=())
    await working.tick()
    assert working.run(KEY).phase is Phase.REVIEW
    assert world.branches[BRANCH] == world.worktrees[BRANCH].commits


async def test_a_second_take_by_another_person_repeats_the_place_and_changes_nothing(taken, world):
    world.comment(KEY, "/ai take", by="ben")
    await taken.tick()
    assert sum("/imaginary/" in text for text in world.comments_of(KEY)) == 2
    assert taken.run(KEY).reason.startswith("ana")


async def test_take_is_refused_before_the_first_turn(bot, world):
    for number in (7, 8, 1):
        world.open_issue(f"shop#{number}", "ai")
        await bot.tick()
    world.comment(KEY, "/ai take")
    await bot.tick()
    assert "no agent has started" in world.comments_of(KEY)[-1]
    assert bot.run(KEY).phase is Phase.QUEUED


async def test_give_without_a_takeover_is_refused(working, world):
    world.comment(KEY, "/ai give")
    await working.tick()
    assert "nothing to give back" in world.comments_of(KEY)[-1]
    assert working.run(KEY).phase is Phase.WORKING


async def test_a_merge_ends_a_taken_over_run_and_salvages_the_changes_by_hand(working, world):
    world.finish_turn(KEY)
    await working.tick()
    world.comment(KEY, "/ai take")
    await working.tick()
    world.work_by_hand(KEY)
    world.merge(KEY)
    await working.tick(2)
    assert working.run(KEY).phase is Phase.DONE
    assert BRANCH in world.salvaged


async def test_a_plan_still_needs_approval_after_take_and_give(bot, world):
    world.open_issue(KEY, "ai", "ai:plan")
    await bot.tick()
    world.finish_turn(KEY, words="A plan.", files=())
    await bot.tick()
    world.comment(KEY, "/ai take")
    await bot.tick()
    world.comment(KEY, "/ai give")
    await bot.tick(2)
    assert world.requests[world.running_turn(KEY)].plan

"""Comments and reviews on a pull request: each comment gets one outcome and one answer in its own thread."""

from dataclasses import replace

import pytest

from bot.domain.comment import CommentOutcome, Remark
from bot.domain.issue import Person
from bot.domain.reaction import Reaction
from bot.domain.run import Phase
from bot.domain.turn import TurnAnswer
from bot.errors import Retryable

KEY = "shop#1"
BRANCH = "treehand/shop-1"
QUIET = 60
FOUR = tuple(Remark("app.py", line, f"remark {line}", id=f"i{line}") for line in (1, 2, 3, 4))


@pytest.fixture
async def reviewed(bot, world):
    """Opens a pull request."""
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick()
    world.wait(10)
    return bot


def outcomes(bot) -> dict[str, CommentOutcome]:
    return {row.comment: row.outcome for row in bot.run(KEY).comments}


async def test_a_review_is_acknowledged_at_once_and_used_after_its_quiet_time(reviewed, world):
    said = world.review(KEY, *FOUR, text="Some things.")
    await reviewed.wait(QUIET - 1)
    assert world.reactions[said] == {Reaction.SEEN}
    assert reviewed.run(KEY).phase is Phase.REVIEW

    await reviewed.wait(1)
    assert reviewed.run(KEY).phase is Phase.WORKING
    assert all(f"remark {line}" in world.prompts[-1] for line in (1, 2, 3, 4))
    assert "[i3] `app.py` line 3" in world.prompts[-1]


async def test_the_prompt_shows_a_remark_about_a_whole_file_without_a_line(reviewed, world):
    world.review(KEY, Remark("app.py", 0, "split it", id="i1"))
    await reviewed.wait(QUIET)
    assert "[i1] `app.py`: split it" in world.prompts[-1]


async def test_a_second_review_of_the_same_person_delays_the_first_so_that_one_turn_has_both(reviewed, world):
    world.review(KEY, text="First part.")
    await reviewed.wait(40)
    world.review(KEY, FOUR[0], text="Second part.")
    await reviewed.wait(40)
    assert reviewed.run(KEY).phase is Phase.REVIEW

    await reviewed.wait(20)
    assert "First part." in world.prompts[-1]
    assert "Second part." in world.prompts[-1]


async def test_a_plain_comment_does_not_wait_for_the_review_of_another_person(reviewed, world):
    world.review(KEY, *FOUR, by="ben")
    world.comment(KEY, "mind the tests")
    await reviewed.tick()
    assert "mind the tests" in world.prompts[-1]
    assert "remark 1" not in world.prompts[-1]

    await reviewed.wait(QUIET)
    assert "remark 1" in world.heard(KEY)[-1]
    assert len(world.requests) == 2


async def test_each_remark_is_answered_in_its_thread_and_the_conversation_once(reviewed, world):
    said = world.review(KEY, *FOUR, text="Some things.")
    await reviewed.wait(QUIET)
    answers = [
        TurnAnswer("i2", declined=True, text="It must stay."),
        TurnAnswer("i3", declined=False, text="Because it is faster."),
        TurnAnswer("i9", declined=True, text="?"),
    ]
    world.finish_turn(KEY, words="Renamed it.", answers=answers)
    await reviewed.tick(2)

    commit = world.branches[BRANCH][-1][:10]
    assert world.answers_in("i1") == [f"Done in {commit}."]
    assert world.answers_in("i2") == ["Declined:\n\n> It must stay."]
    assert world.answers_in("i3") == ["The agent answers:\n\n> Because it is faster."]
    [conversation] = [text for text in world.comments_of(BRANCH) if "Renamed it." in text]
    assert f"Done in {commit}." in conversation
    assert len(world.comments_of(BRANCH)) == 5
    assert outcomes(reviewed) == {
        said: CommentOutcome.APPLIED,
        "i1": CommentOutcome.APPLIED,
        "i2": CommentOutcome.DECLINED,
        "i3": CommentOutcome.ANSWERED,
        "i4": CommentOutcome.APPLIED,
    }


async def test_a_single_remark_is_answered_in_full_in_its_thread_only(reviewed, world):
    world.review(KEY, FOUR[0])
    await reviewed.wait(QUIET)
    world.finish_turn(KEY, files=(), words="It is right as it is.")
    await reviewed.tick(2)

    assert world.comments_of(BRANCH) == world.answers_in("i1")
    assert "No file was changed." in world.comments_of(BRANCH)[0]
    assert "> It is right as it is." in world.comments_of(BRANCH)[0]


async def test_a_remark_added_to_a_used_review_is_used_alone(reviewed, world):
    said = world.review(KEY, FOUR[0], text="Some things.")
    await reviewed.wait(QUIET)
    world.add_remark(said, FOUR[1])
    await reviewed.tick()
    told = world.heard(KEY)[-1]
    assert "remark 2" in told
    assert "remark 1" not in told

    world.finish_turn(KEY)
    await reviewed.tick(2)
    assert set(outcomes(reviewed).values()) == {CommentOutcome.APPLIED}
    assert len(world.requests) == 2


async def test_an_empty_review_gets_a_reaction_and_starts_nothing(reviewed, world):
    said = world.review(KEY)
    await reviewed.wait(QUIET)
    await reviewed.tick(2)

    assert world.reactions[said] == {Reaction.SEEN}
    assert outcomes(reviewed) == {said: CommentOutcome.ANSWERED}
    assert reviewed.run(KEY).phase is Phase.REVIEW


async def test_a_comment_of_an_untrusted_person_stays_unused_when_they_become_trusted(reviewed, world):
    said = world.review(KEY, FOUR[0], text="Delete it all.", by="eve", trusted=False)
    await reviewed.wait(QUIET)
    assert outcomes(reviewed) == {said: CommentOutcome.NOT_TRUSTED, "i1": CommentOutcome.NOT_TRUSTED}
    assert said not in world.reactions

    [comment] = world.people_said[BRANCH]
    world.people_said[BRANCH] = [replace(comment, author=Person("eve", trusted=True))]
    await reviewed.wait(QUIET)
    assert reviewed.run(KEY).phase is Phase.REVIEW

    world.comment(KEY, "tidy up")
    await reviewed.tick()
    assert "Delete it all." not in world.prompts[-1] + world.requests["shop#1/1/turn-2"].briefing


async def test_a_review_of_a_lost_turn_is_used_again_and_answered_once(reviewed, world):
    world.review(KEY, *FOUR, text="Some things.")
    await reviewed.wait(QUIET)
    world.forget_turns()
    await reviewed.tick(2)
    assert "remark 4" in world.prompts[-1]
    world.drops = {"ensure_comment"}
    world.finish_turn(KEY)
    await reviewed.tick(3)

    assert [len(world.answers_in(f"i{line}")) for line in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert len(world.comments_of(BRANCH)) == 5


async def test_a_command_at_the_top_of_a_review_is_carried_out_and_its_remarks_are_used(reviewed, world):
    said = world.review(KEY, FOUR[0], text="/ai status")
    await reviewed.wait(QUIET)
    await reviewed.tick()

    assert outcomes(reviewed)[said] is CommentOutcome.COMMAND
    assert "remark 1" in world.prompts[-1]
    assert "/ai status" not in world.prompts[-1]


async def test_waiting_comments_are_declined_with_the_reason_when_the_run_ends(reviewed, world):
    said = world.review(KEY, FOUR[0], text="Wait.")
    late = world.comment(KEY, "/ai stop")
    world.merge(KEY)
    await reviewed.tick(2)

    assert outcomes(reviewed) == {
        said: CommentOutcome.DECLINED,
        "i1": CommentOutcome.DECLINED,
        late: CommentOutcome.COMMAND,
    }
    assert {row.reason for row in reviewed.run(KEY).comments} == {"the pull request was merged", ""}
    world.reopen_issue(KEY)
    world.label(KEY, "ai")
    await reviewed.tick(2)
    assert (reviewed.run(KEY).ordinal, reviewed.run(KEY).phase) == (2, Phase.WORKING)


async def test_a_pending_review_becomes_due_by_itself(reviewed, world):
    world.review(KEY, FOUR[0])
    await reviewed.tick()
    assert reviewed.engine.may_go_on()
    assert not reviewed.engine.is_due()
    world.wait(QUIET)
    assert reviewed.engine.is_due()
    await reviewed.tick()
    assert not reviewed.engine.is_due()


async def test_a_failed_start_keeps_the_engine_open_only_for_a_limited_time(reviewed, world):
    world.comment(KEY, "more")
    world.fails["ensure_started"] = Retryable("no")
    await reviewed.tick()
    assert reviewed.engine.may_go_on()
    await reviewed.wait(30)
    assert reviewed.engine.may_go_on()
    await reviewed.wait(90)
    assert not reviewed.engine.may_go_on()
    world.fails.clear()
    await reviewed.wait(60)
    assert reviewed.run(KEY).phase is Phase.WORKING

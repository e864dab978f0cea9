"""Comment commands: answered without a model, each exactly once."""

import pytest

from bot.domain.comment import CommentOutcome
from bot.domain.run import Phase, WaitReason

KEY = "shop#1"


def declined(world) -> list[str]:
    return [text for text in world.comments_of(KEY) if "has no permission to steer" in text]


@pytest.fixture
async def working(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    return bot


def answer(world, where=KEY) -> str:
    return world.comments_of(where)[-1]


async def test_stop_ends_the_run_and_salvages(working, world):
    world.write_file(KEY)
    world.comment(KEY, "/ai stop")
    await working.tick(2)

    assert working.run(KEY).phase is Phase.DONE
    assert world.salvaged
    assert world.labels(KEY) == frozenset()


async def test_pause_interrupts_and_resume_continues_in_the_same_session(working, world):
    await working.tick()
    world.comment(KEY, "/ai pause")
    await working.tick()
    assert world.running() == []
    assert working.run(KEY).wait_reason is WaitReason.PAUSED

    world.comment(KEY, "and use OAuth")
    await working.tick(2)
    assert world.running() == []

    world.comment(KEY, "/ai resume")
    await working.tick(2)
    assert world.requests["shop#1/1/turn-2"].session == "session-of-shop#1/1"
    assert "and use OAuth" in world.prompts[-1]


async def test_retry_after_repeated_failures_resets_the_failure_count(working, world):
    for _ in range(3):
        world.fail_turn(detail="it fell over.")
        await working.tick()
        await working.wait(40)
    assert working.run(KEY).phase is Phase.ASKING
    world.comment(KEY, "/ai retry")
    await working.tick(2)

    assert working.run(KEY).phase is Phase.WORKING
    assert working.run(KEY).turns.failures == 0


async def test_status_why_and_help_are_answered_and_change_nothing(working, world):
    before = working.run(KEY).phase
    for command, expected in (("status", "Working"), ("why", "working"), ("help", "/ai stop"), ("", "/ai stop")):
        world.comment(KEY, f"/ai {command}".strip())
        await working.tick(2)
        assert expected in answer(world)
    assert working.run(KEY).phase is before
    assert len(world.requests) == 1


async def test_an_unknown_command_gets_the_list_of_commands(working, world):
    world.comment(KEY, "/ai explode now")
    await working.tick()
    assert "`explode` is not a command" in answer(world)
    assert "/ai pause" in answer(world)


async def test_a_command_of_an_untrusted_person_gets_one_line_and_has_no_effect(working, world):
    world.comment(KEY, "/ai stop", by="eve", trusted=False)
    await working.tick(3)

    assert working.run(KEY).phase is Phase.WORKING
    assert [text for text in world.comments_of(KEY) if "eve has no permission to steer" in text] == [answer(world)]
    [row] = working.run(KEY).comments
    assert row.outcome is CommentOutcome.NOT_TRUSTED


async def test_t16_an_untrusted_person_is_answered_once_for_all_commands(working, world):
    for _ in range(20):
        world.comment(KEY, "/ai stop", by="eve", trusted=False)
    await working.tick(3)
    world.comment(KEY, "/ai approve", by="eve", trusted=False)
    await working.tick(2)

    assert len(declined(world)) == 1
    assert [row.outcome for row in working.run(KEY).comments] == [CommentOutcome.NOT_TRUSTED] * 21


async def test_t16_three_untrusted_people_are_answered_at_most_even_if_they_delete_comments(working, world):
    for name in ("eve", "mal", "zed", "sid", "kim"):
        world.comment(KEY, "/ai stop", by=name, trusted=False)
        await working.tick(2)
        world.people_said[KEY].clear()
        world.comment(KEY, "/ai stop", by=name, trusted=False)
        await working.tick(2)

    assert len(declined(world)) == 3
    assert {row.outcome for row in working.run(KEY).comments} == {CommentOutcome.NOT_TRUSTED}
    world.comment(KEY, "/ai status")
    await working.tick()
    assert "Working" in answer(world)


async def test_t16_many_untrusted_commands_do_not_delay_a_trusted_one(working, world):
    for number in range(200):
        world.comment(KEY, "/ai stop", by=f"eve{number}", trusted=False)
    world.comment(KEY, "/ai pause")
    await working.tick(5)

    assert len(declined(world)) == 3
    assert working.run(KEY).wait_reason is WaitReason.PAUSED


async def test_a_command_on_the_pull_request_is_answered_there(working, world):
    world.finish_turn(KEY)
    await working.tick()
    world.comment_on_pull(KEY, "/ai status")
    await working.tick()
    assert "In review" in answer(world, "treehand/shop-1")


async def test_commands_are_carried_out_in_order_and_answered_once(working, world):
    world.comment(KEY, "/ai pause")
    world.comment(KEY, "/ai status")
    await working.tick(4)

    assert sum("Paused." in text for text in world.comments_of(KEY)) == 1
    assert sum("Needs you" in text and "Comment to steer" not in text for text in world.comments_of(KEY)) == 1


@pytest.mark.parametrize("text", ["see /ai stop", "/aiming high", "please\n/ai stop", "`/ai stop`"])
async def test_only_the_first_line_of_a_comment_can_be_a_command(working, world, text):
    world.comment(KEY, text)
    await working.tick(2)
    assert working.run(KEY).phase is Phase.WORKING
    assert world.heard(KEY)[-1].count("\n") >= 1


async def test_an_exhausted_budget_asks_and_a_larger_budget_continues(bot, world, policy):
    from dataclasses import replace

    project = bot.engine.ports.projects["shop"]
    bot.engine.ports.projects["shop"] = replace(project, policy=replace(policy, per_issue_usd=1.0))  # type: ignore[index]
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY, cost=1.5)
    await bot.tick()
    world.comment(KEY, "more please")
    await bot.tick()
    assert bot.run(KEY).wait_reason is WaitReason.BUDGET
    assert "cost $1.50 of the $1.00" in answer(world)

    world.comment(KEY, "/ai budget lots")
    await bot.tick()
    assert bot.run(KEY).wait_reason is WaitReason.BUDGET
    world.comment(KEY, "/ai budget 5")
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.WORKING
    assert "more please" in world.prompts[-1]
    assert world.requests["shop#1/1/turn-2"].budget_usd == pytest.approx(3.5)

"""Planning: nothing is changed before a person approves; people choose the model and the agent."""

from dataclasses import replace

import pytest

from bot.domain.run import Phase, TurnPurpose, WaitReason

KEY = "shop#1"
BRANCH = "treehand/shop-1"


@pytest.fixture
async def planned(bot, world):
    world.open_issue(KEY, "ai", "ai:plan")
    await bot.tick()
    world.finish_turn(KEY, words="1. Look.\n2. Mend it.", files=())
    await bot.tick()
    return bot


def request(world, number: int):
    return world.requests[f"{KEY}/1/turn-{number}"]


async def test_with_the_plan_label_the_first_turn_only_plans_and_shows_the_plan(planned, world):
    assert request(world, 1).plan
    assert "only plan" in request(world, 1).briefing
    run = planned.run(KEY)
    assert (run.phase, run.wait_reason) == (Phase.ASKING, WaitReason.PLAN)
    assert "> 2. Mend it." in world.comments_of(KEY)[-1]
    assert "`/ai approve q-" in world.comments_of(KEY)[-1]
    assert world.branches == {}


async def test_an_approved_plan_is_carried_out_in_the_same_session(planned, world):
    world.comment(KEY, "/ai approve")
    await planned.tick(2)
    assert not request(world, 2).plan
    assert "has approved your plan" in request(world, 2).prompt
    assert request(world, 2).session == "session-of-shop#1/1"

    world.finish_turn(KEY)
    await planned.tick()
    assert planned.run(KEY).phase is Phase.REVIEW
    assert planned.run(KEY).purpose is TurnPurpose.NONE
    world.comment_on_pull(KEY, "shorter, please")
    await planned.tick(2)
    assert not request(world, 3).plan
    assert "approved your plan" not in request(world, 3).prompt


async def test_an_approved_plan_stays_approved_after_a_failed_turn(planned, world):
    world.comment(KEY, "/ai approve")
    await planned.tick(2)
    world.fail_turn()
    await planned.tick()
    await planned.wait(20)
    assert not request(world, 3).plan
    assert planned.run(KEY).purpose is TurnPurpose.CARRY_OUT_PLAN


async def test_a_comment_on_a_plan_starts_another_planning_turn(planned, world):
    world.comment(KEY, "without new files")
    await planned.tick(2)
    assert request(world, 2).plan
    assert "without new files" in request(world, 2).prompt
    world.finish_turn(KEY, words="Another plan.", files=())
    await planned.tick()
    assert planned.run(KEY).wait_reason is WaitReason.PLAN
    assert "> Another plan." in world.comments_of(KEY)[-1]


async def test_changes_of_a_planning_turn_are_undone_and_salvaged(bot, world):
    world.open_issue(KEY, "ai", "ai:plan")
    await bot.tick()
    world.finish_turn(KEY, files=["app.py"])
    await bot.tick()
    assert not world.worktrees[BRANCH].dirty
    assert any(world.salvaged[BRANCH] in text for text in world.comments_of(KEY))
    assert world.branches == {}


async def test_a_question_during_planning_is_asked_as_a_question(bot, world):
    world.open_issue(KEY, "ai", "ai:plan")
    await bot.tick()
    world.finish_turn(KEY, question="Which login?", files=())
    await bot.tick()
    assert bot.run(KEY).wait_reason is WaitReason.QUESTION
    world.comment(KEY, "The old one.")
    await bot.tick(2)
    assert request(world, 2).plan


async def test_a_plan_command_during_a_turn_applies_to_the_next_turn(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, "/ai plan")
    await bot.tick()
    assert len(world.requests) == 1
    world.finish_turn(KEY)
    await bot.tick(2)
    assert request(world, 2).plan
    assert world.pull(KEY).draft
    world.finish_turn(KEY, words="Split it.", files=())
    await bot.tick()
    assert bot.run(KEY).wait_reason is WaitReason.PLAN


@pytest.mark.parametrize("when", ["queued", "review", "asking"])
async def test_a_plan_command_works_at_any_time(bot, world, when):
    if when == "queued":
        world.open_issue("shop#8", "ai")
        world.open_issue("shop#9", "ai")
        await bot.tick()
    world.open_issue(KEY, "ai")
    await bot.tick()
    if when != "queued":
        world.finish_turn(KEY, files=["app.py"] if when == "review" else ())
        await bot.tick()
    world.comment(KEY, "/ai plan")
    await bot.tick(2)
    if when == "queued":
        world.finish_turn("shop#8")
        await bot.tick(2)
    assert world.requests[world.running_turn(KEY)].plan


async def test_text_after_an_approval_reaches_the_agent(planned, world):
    world.comment(KEY, "/ai approve\nbut leave the docs alone")
    await planned.tick(2)
    assert "but leave the docs alone" in request(world, 2).prompt
    assert "/ai approve" not in request(world, 2).prompt


async def test_text_after_the_plan_command_reaches_the_agent(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.finish_turn(KEY)
    await bot.tick()
    world.comment(KEY, "/ai plan a split into two files")
    await bot.tick(2)
    assert "a split into two files" in request(world, 2).prompt


async def test_approve_without_a_plan_is_refused(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, "/ai approve")
    await bot.tick()
    assert "Nothing waits for approval" in world.comments_of(KEY)[-1]
    assert bot.run(KEY).phase is Phase.WORKING


async def test_an_untrusted_person_cannot_approve_a_plan(planned, world):
    world.comment(KEY, "/ai approve", by="eve", trusted=False)
    await planned.tick(2)
    assert planned.run(KEY).wait_reason is WaitReason.PLAN
    assert len(world.requests) == 1


# The model and the agent


async def test_a_model_is_used_from_the_next_turn_on(bot, world):
    world.open_issue(KEY, "ai", "ai:model=small-1")
    await bot.tick()
    assert request(world, 1).model == "small-1"
    world.comment(KEY, "/ai model")
    await bot.tick()
    assert "`small-1`" in world.comments_of(KEY)[-1]
    world.comment(KEY, "/ai model large-2[1m]")
    await bot.tick()
    assert "`large-2[1m]` from the next turn on" in world.comments_of(KEY)[-1]
    world.finish_turn(KEY)
    await bot.tick()
    world.comment_on_pull(KEY, "more")
    await bot.tick(2)
    assert request(world, 2).model == "large-2[1m]"


@pytest.mark.parametrize("name", ["--dangerous", "two words", "`x`", "ü", "x" * 200])
async def test_an_invalid_model_name_is_refused(bot, world, name):
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, f"/ai model {name}")
    await bot.tick()
    assert "is not a model name" in world.comments_of(KEY)[-1]
    assert bot.run(KEY).model == ""


async def test_the_model_command_shows_the_model_of_the_settings_by_default(bot, world, policy):
    project = bot.engine.ports.projects["shop"]
    bot.engine.ports.projects["shop"] = replace(project, policy=replace(policy, model="usual-3"))  # type: ignore[index]
    world.open_issue(KEY, "ai")
    await bot.tick()
    world.comment(KEY, "/ai model")
    await bot.tick()
    assert "`usual-3`" in world.comments_of(KEY)[-1]
    assert request(world, 1).model == "usual-3"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["ai:agent=gpt"], "Available: `claude`"),
        (["ai:agent=claude", "ai:agent=codex"], "Available: `claude`"),
        (["ai:model=one", "ai:model=two"], "Several labels name a model"),
        (["ai:model=-x"], "is not a model name"),
        (["ai:model="], "is not a model name"),
    ],
)
async def test_an_invalid_label_is_asked_about_once_and_once_fixed_the_run_continues(bot, world, labels, said):
    world.open_issue(KEY, "ai", *labels)
    await bot.tick()
    assert (bot.run(KEY).phase, bot.run(KEY).wait_reason) == (Phase.ASKING, WaitReason.MODEL_CHOICE)
    world.comment(KEY, "please?")
    await bot.tick(3)
    assert sum(said in text and "Needs you" not in text for text in world.comments_of(KEY)) == 1
    assert world.requests == {}

    world.unlabel(KEY, *labels)
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.WORKING


async def test_a_model_command_overrides_an_invalid_label(bot, world):
    world.open_issue(KEY, "ai", "ai:model=one", "ai:model=two")
    await bot.tick()
    world.comment(KEY, "/ai model two")
    await bot.tick(2)
    assert request(world, 1).model == "two"


async def test_an_approval_names_the_plan_that_it_approves(planned, world):
    bot = planned
    run = bot.run(KEY)
    assert f"`/ai approve {run.question}`" in world.comments_of(KEY)[-1]
    assert run.asked_at >= world.now

    world.comment(KEY, "/ai approve q-000000")
    await bot.tick()
    assert bot.run(KEY).wait_reason is WaitReason.PLAN
    assert f"`/ai approve {run.question}` approves the last question" in world.comments_of(KEY)[-1]

    world.comment(KEY, f"/ai approve {run.question} but keep it short")
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.WORKING
    assert "but keep it short" in world.prompts[-1]
    assert "q-" not in world.prompts[-1]


async def test_an_approval_from_before_a_question_is_not_of_that_question(planned, world):
    bot = planned
    bot.store.save(replace(bot.run(KEY), asked_at=world.now + 5), at=world.now)
    world.comment(KEY, "/ai approve")
    await bot.tick(2)
    assert (bot.run(KEY).phase, bot.run(KEY).wait_reason) == (Phase.ASKING, WaitReason.PLAN)
    assert f"`/ai approve {bot.run(KEY).question}` approves it" in world.comments_of(KEY)[-1]

    world.wait(10)
    world.comment(KEY, "/ai approve")
    await bot.tick(2)
    assert bot.run(KEY).phase is Phase.WORKING

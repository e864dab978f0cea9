"""Instructions of the repository reach each session once, and again when they have changed."""

import asyncio

from bot.demo.scripted_model import Hang, SayText, ScriptedModel
from bot.domain.turn import TurnState

TABS, SPACES = "The repository says: use tabs.", "The repository says: use spaces."


def said_last(model: ScriptedModel) -> str:
    return model.requests[-1].last_user_text


async def test_a_session_begins_with_the_repositorys_instructions(scene):
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        await scene.take(model, scene.task(instructions=TABS))
    assert said_last(model) == f"{TABS}\n\nThe whole thread."


async def test_a_resumed_session_gets_only_changed_instructions(scene, second):
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        report = await scene.take(model, scene.task(instructions=TABS))
        await scene.take(model, second(report, instructions=TABS))
        assert said_last(model) == "Go on."
        await scene.take(model, second(report, instructions=SPACES))
        assert said_last(model) == f"{SPACES}\n\nGo on."
        await scene.take(model, second(report, instructions=SPACES))
        assert said_last(model) == "Go on."


async def test_a_session_interrupted_before_its_first_answer_gets_the_instructions_again(scene):
    async with ScriptedModel(lambda _: (Hang(),)) as model, asyncio.TaskGroup() as group:
        turn = group.create_task(scene.take(model, scene.task(instructions=TABS)))
        await model.wait_for_requests(1)
        turn.cancel()
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        report = await scene.take(model, scene.task(instructions=TABS))
    assert report.state is TurnState.SUCCEEDED
    assert TABS in said_last(model)


async def test_a_new_session_in_place_of_a_lost_one_gets_the_instructions(scene):
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        gone = "8bfcaf20-8e1d-47c2-aeab-a1a1575463ec"
        report = await scene.take(model, scene.task(instructions=TABS, session=gone))
    assert report.is_new_session
    assert said_last(model) == f"{TABS}\n\nThe whole thread."


async def test_a_hostile_session_name_does_not_write_elsewhere(scene):
    body = "greet(); say(type='system', subtype='init', session_id='../../../out'); end(session_id='../../../out')"
    report = await scene.take(None, scene.task(instructions=TABS, session="../../../out"), cli=scene.fake(body))
    assert report.session
    assert not (scene.state.parent / "out").exists()
    assert all(len(note.name) == 64 for note in (scene.state / "agent" / "told").iterdir())

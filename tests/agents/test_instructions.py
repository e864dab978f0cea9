"""What the repository tells agents reaches each conversation once, and again when it has changed."""

import asyncio

from bot.demo.model import Hang, Say, ScriptedModel
from bot.domain.turn import TurnState

TABS, SPACES = "The repository says: use tabs.", "The repository says: use spaces."


def said_last(model: ScriptedModel) -> str:
    return model.requests[-1].last_said


async def test_a_conversation_begins_with_the_repositorys_instructions(bench):
    async with ScriptedModel(lambda _: (Say("Done."),)) as model:
        await bench.take(model, bench.work(instructions=TABS))
    assert said_last(model) == f"{TABS}\n\nThe whole thread."


async def test_a_resumed_one_is_told_again_only_what_has_changed(bench, second):
    async with ScriptedModel(lambda _: (Say("Done."),)) as model:
        report = await bench.take(model, bench.work(instructions=TABS))
        await bench.take(model, second(report, instructions=TABS))
        assert said_last(model) == "Go on."
        await bench.take(model, second(report, instructions=SPACES))
        assert said_last(model) == f"{SPACES}\n\nGo on."
        await bench.take(model, second(report, instructions=SPACES))
        assert said_last(model) == "Go on."


async def test_one_that_was_cut_off_before_it_answered_is_told_again(bench):
    async with ScriptedModel(lambda _: (Hang(),)) as model, asyncio.TaskGroup() as group:
        turn = group.create_task(bench.take(model, bench.work(instructions=TABS)))
        await model.until_asked(1)
        turn.cancel()
    async with ScriptedModel(lambda _: (Say("Done."),)) as model:
        report = await bench.take(model, bench.work(instructions=TABS))
    assert report.state is TurnState.SUCCEEDED
    assert TABS in said_last(model)


async def test_a_session_that_is_gone_is_told_them_afresh(bench):
    async with ScriptedModel(lambda _: (Say("Done."),)) as model:
        gone = "8bfcaf20-8e1d-47c2-aeab-a1a1575463ec"
        report = await bench.take(model, bench.work(instructions=TABS, session=gone))
    assert report.fresh
    assert said_last(model) == f"{TABS}\n\nThe whole thread."


async def test_a_session_by_any_name_writes_nowhere_else(bench):
    body = "greet(); say(type='system', subtype='init', session_id='../../../out'); end(session_id='../../../out')"
    report = await bench.take(None, bench.work(instructions=TABS, session="../../../out"), cli=bench.fake(body))
    assert report.session
    assert not (bench.state.parent / "out").exists()
    assert all(len(note.name) == 64 for note in (bench.state / "agent" / "told").iterdir())

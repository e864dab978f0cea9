"""All requests of the agent's real program to the model pass the proxy: every key and every beta is known."""

from dataclasses import replace

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from bot.domain.turn import TurnState
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules

STEPS = (
    UseTool("Read", {"file_path": "app.py"}),
    UseTool("Grep", {"pattern": "tax"}),
    UseTool("Bash", {"command": "echo hello", "description": "Say hello"}),
    SayText("Done."),
)


@pytest.mark.parametrize("name", ["", "haiku", "sonnet", "claude-opus-4-6", "claude-sonnet-4-5-20250929[1m]"])
async def test_requests_of_a_turn_with_any_model_pass_the_proxy(scene, name):
    scene.confined = True
    async with ScriptedModel(lambda request: (STEPS[min(request.answers_since_user_text, 3)],)) as model:
        report = await scene.take(model, scene.task(model=name))
    assert (report.state, report.refusals) == (TurnState.SUCCEEDED, ())


async def test_requests_of_a_continued_and_compacted_session_pass_the_proxy(scene):
    scene.confined = True
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        first = await scene.take(model)
        task = replace(scene.task(turn=2, prompt="/compact"), session=first.session)
        second = await scene.take(model, task)
    assert (second.state, second.refusals) == (TurnState.SUCCEEDED, ())


async def test_requests_of_a_turn_with_a_subscription_pass_the_proxy(scene):
    scene.confined = True
    async with ScriptedModel(lambda _: (SayText("Done."),)) as model:
        key = {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-none"}
        agent = scene.agent(model)
        agent._sandbox = Bubblewrap(scene.state, key, SandboxRules())
        report = await agent.run(scene.task(), scene.inbox, lambda _: None)
    assert (report.state, report.refusals) == (TurnState.SUCCEEDED, ())

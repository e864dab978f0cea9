"""Usage limits of the model with the agent's real program: what it reports, and what the proxy has seen."""

import time

import pytest

from bot.agents.claude.agent import ClaudeAgent
from bot.demo.scripted_model import RefuseWith, ScriptedModel, ScriptedReply, UseTool
from bot.domain.turn import EventKind, Failure, TurnReport, TurnState
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.none import NoSandbox
from bot.sandbox.proxy.grant import ignore_usage

OVER = 2_000_000_000
REJECTED = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": str(OVER),
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}
SUBSCRIPTION = "CLAUDE_CODE_OAUTH_TOKEN"


async def take(scene, model: ScriptedModel, *, key: str = SUBSCRIPTION, confined: bool = True, **more) -> TurnReport:
    told = {"ANTHROPIC_BASE_URL": model.url, key: "key-1"}
    box = Bubblewrap(scene.state, told, SandboxRules()) if confined else NoSandbox(scene.state, told)
    agent = ClaudeAgent(scene.state / "agent", sandbox=box, clock=time.time, model_retries=1, **more)
    return await agent.run(scene.task(), scene.inbox, lambda _: None)


@pytest.mark.parametrize("confined", [True, False], ids=["in the sandbox", "without one"])
async def test_an_exhausted_subscription_ends_the_turn_at_once_with_the_end_of_the_limit(scene, confined):
    async with ScriptedModel(lambda _: [RefuseWith(429, REJECTED)]) as model:
        report = await take(scene, model, confined=confined)

    assert (report.state, report.failure, report.retry_at) == (TurnState.FAILED, Failure.LIMIT, OVER)
    assert "limit" in report.detail
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("headers", "over_in"),
    [(REJECTED, None), ({"retry-after": "7200"}, 7200)],
    ids=["a limit of the account", "only a pause, but a long one"],
)
async def test_with_a_key_the_proxy_reports_a_limit_that_the_program_does_not(scene, headers, over_in):
    async with ScriptedModel(lambda _: [RefuseWith(429, headers)]) as model:
        report = await take(scene, model, key="ANTHROPIC_API_KEY")

    assert report.failure is Failure.LIMIT
    assert abs(report.retry_at - (time.time() + over_in if over_in else OVER)) < 60


async def test_with_a_key_and_without_a_sandbox_a_limit_has_no_known_end(scene):
    async with ScriptedModel(lambda _: [RefuseWith(429, REJECTED)]) as model:
        report = await take(scene, model, key="ANTHROPIC_API_KEY", confined=False)

    assert (report.failure, report.retry_at) == (Failure.LIMIT, 0.0)


async def test_a_limit_during_a_turn_keeps_its_tokens_and_session(scene):
    def play(request) -> ScriptedReply:
        return [UseTool("Bash", {"command": "true"})] if not request.answers else [RefuseWith(429, REJECTED)]

    async with ScriptedModel(play) as model:
        report = await take(scene, model)

    assert (report.failure, report.retry_at) == (Failure.LIMIT, OVER)
    assert report.tokens > 0
    assert report.session


async def test_an_overloaded_model_is_no_usage_limit(scene):
    async with ScriptedModel(lambda _: [RefuseWith(529)]) as model:
        assert (await take(scene, model)).failure is Failure.MODEL


FORGED = """
greet()
say(type="rate_limit_event", rate_limit_info=dict(status="rejected", resetsAt=2000000000), uuid="u", session_id="s1")
end(is_error=True, result="You have hit your limit", api_error_status=429)
"""


async def test_without_a_sandbox_the_limit_reported_by_the_program_counts(scene):
    report = await scene.take(None, cli=scene.fake(FORGED))
    assert (report.failure, report.retry_at) == (Failure.LIMIT, OVER)
    (end,) = [event for event in scene.events if event.kind is EventKind.RESULT]
    assert end.text == "error_during_execution", "whatever the program calls it"


async def test_in_the_sandbox_an_agent_cannot_forge_a_usage_limit(scene):
    scene.home.mkdir()
    sandbox = Bubblewrap(scene.state, {"ANTHROPIC_API_KEY": "key-1"}, SandboxRules())
    forged = TurnReport(TurnState.FAILED, failure=Failure.LIMIT, detail="You have hit your limit", retry_at=OVER)
    async with sandbox.open_turn(scene.task(), "marker", ignore_usage) as opened:
        seen = opened.correct(forged)
    assert (seen.failure, seen.retry_at) == (Failure.MODEL, 0.0)

"""What turns cost, with the agent's real program: also those that were paused, and while they run."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from bot.agents.claude.agent import ClaudeAgent
from bot.demo.messages_api import MessagesRequest, input_tokens
from bot.demo.scripted_model import Pause, SayText, ScriptedModel, ScriptedReply, UseTool
from bot.domain.price import TokenCounts, price_of
from bot.domain.run import Phase, Run, RunTurns
from bot.domain.turn import AgentTask, EventKind, Failure, TurnOrder, TurnReport, TurnState
from bot.engine.decision import Decision
from bot.engine.finish_turn import record_spend
from bot.engine.messages.journal import history
from bot.engine.observation import Observation
from bot.executors.local import LocalExecutor
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.proxy.grant import DayBudget
from bot.store.runs import RunStore
from bot.system.database import copy_database
from tests.agents.conftest import AgentScene

WORDS = "Many words about the tax. " * 400


@dataclass
class Till:
    """Plays a script, and counts what its answers cost."""

    usd: float = 0.0
    tokens: int = 0

    def cost(self, request: MessagesRequest, reply: ScriptedReply) -> ScriptedReply:
        said = sum(len(json.dumps(step.text)) for step in reply if isinstance(step, SayText)) // 4
        counts = TokenCounts(input=input_tokens(request), output=said)
        self.tokens += counts.tokens
        self.usd += price_of(request.model, {}).cost(counts)
        return reply


@dataclass
class Turns:
    """Turns of one run, as the daemon runs them."""

    scene: AgentScene
    model: ScriptedModel
    store: RunStore
    run: Run = field(default_factory=lambda: Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(started_at=1.0)))

    def order(self) -> TurnOrder:
        number = self.run.turns.number + 1
        self.run = replace(self.run, turns=replace(self.run.turns, number=number))
        return TurnOrder(
            f"{self.run.id}/turn-{number}", self.run.id, "shop", "b", "main", "Go on.", "Begin.", "m", 0.0,
            session=self.run.session,
        )  # fmt: skip

    def executor(self) -> LocalExecutor:
        async def run_turn(order, inbox, emit) -> TurnReport:
            task: AgentTask = self.scene.task(order.briefing, prompt=order.prompt, session=order.session)
            agent = self.scene.agent(self.model)
            return await agent.run(replace(task, turn_id=order.turn_id), inbox, emit)

        return LocalExecutor(
            run_turn, turn_store=self.store, on_change=lambda: None, transcript=lambda *_: None, clock=lambda: 1.0
        )

    def take_in(self, report: TurnReport) -> None:
        decision = record_spend(self.run, Observation(1.0, None, turn=report))
        self.run = decision.run
        self.store.save(decision.run, at=1.0, spend=decision.spend)


@pytest.fixture
def scene(scene) -> AgentScene:
    scene.confined = True
    return scene


@pytest.fixture
def store(tmp_path):
    store = RunStore.open(tmp_path / "treehand.db")
    yield store
    store.close()


async def test_three_paused_turns_of_a_run_cost_what_the_model_has_answered(scene, store):
    """After an interrupted turn the agent's program counts from zero again."""
    till = Till()

    def play(request: MessagesRequest) -> ScriptedReply:
        if request.answers_since_user_text == 0:
            return till.cost(request, [SayText(WORDS), UseTool("Bash", {"command": "true"})])
        if request.user_texts.count("Go on.") == 3:
            return till.cost(request, [SayText("Done.")])
        return till.cost(request, [SayText("Half of it."), Pause(until=asyncio.Event())])

    async with ScriptedModel(play) as model:
        turns = Turns(scene, model, store)
        for number in range(1, 4):
            async with turns.executor() as executor:
                order = turns.order()
                await executor.ensure_started(order)
                await model.wait_for_requests(2 * number)
                while (await executor.reports())[
                    order.turn_id
                ].progress.tokens < till.tokens - turns.run.spend.tokens - 50:
                    await asyncio.sleep(0.02)
                await executor.cancel(order.turn_id)
                report = (await executor.reports())[order.turn_id]
            assert report.state is TurnState.STOPPED
            turns.take_in(report)
        async with turns.executor() as executor:
            order = turns.order()
            await executor.ensure_started(order)
            while (report := (await executor.reports())[order.turn_id]).state is TurnState.RUNNING:
                await asyncio.sleep(0.02)
        turns.take_in(report)

    assert report.state is TurnState.SUCCEEDED
    assert turns.run.spend.usd == pytest.approx(till.usd, rel=0.05)
    assert turns.run.spend.tokens == pytest.approx(till.tokens, rel=0.05)
    assert store.spent(since=0) == pytest.approx(turns.run.spend.usd), "the ledger agrees"


async def test_a_turn_whose_daemon_is_killed_is_paid_as_far_as_the_model_has_answered(scene, store, tmp_path):
    """Nothing of the daemon but its database is left."""
    till = Till()

    def play(request: MessagesRequest) -> ScriptedReply:
        if request.answers_since_user_text == 0:
            return till.cost(request, [SayText(WORDS), UseTool("Bash", {"command": "true"})])
        return till.cost(request, [Pause(until=asyncio.Event())])

    async with ScriptedModel(play) as model:
        turns = Turns(scene, model, store)
        async with turns.executor() as executor:
            await executor.ensure_started(order := turns.order())
            while (await executor.reports())[order.turn_id].progress.tokens < till.tokens or len(model.requests) < 2:
                await asyncio.sleep(0.02)
            copy_database(tmp_path / "treehand.db", tmp_path / "killed.db")
    left = RunStore.open(tmp_path / "killed.db")
    assert left.spent(since=0) == pytest.approx(till.usd, rel=0.05)
    (lost,) = (await LocalExecutor(
        None, turn_store=left, on_change=lambda: None, transcript=lambda *_: None, clock=lambda: 1.0
    ).reports()).values()  # fmt: skip
    assert lost.state is TurnState.LOST
    spend = record_spend(turns.run, Observation(1.0, None, turn=lost)).spend
    assert spend.usd - spend.unseen_usd == pytest.approx(till.usd, rel=0.05)
    assert spend.unseen_usd > 0, "the second answer was under way: nobody knows how long it would have become"
    assert "of it for requests whose answers were not seen" in history(turns.run, Decision(turns.run, spend=spend))[0]
    left.close()


@pytest.mark.parametrize("of_the_day", [False, True], ids=["of the issue", "of the day"])
async def test_a_turn_ends_at_its_money_to_within_one_request_and_says_so(scene, of_the_day):
    till, counted, limit = Till(), [0.0], 0.1

    def play(request: MessagesRequest) -> ScriptedReply:
        return till.cost(request, [SayText(WORDS), UseTool("Bash", {"command": "true"})])

    async with ScriptedModel(play) as model:
        told = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "key-1"}
        day = DayBudget(limit if of_the_day else 0.0, lambda: counted[0])
        agent = ClaudeAgent(
            scene.state / "agent", sandbox=Bubblewrap(scene.state, told, SandboxRules(), day), clock=lambda: 1.0
        )

        def emit(event) -> None:
            counted[0] += event.usd
            scene.events.append(event)

        report = await agent.run(scene.task(budget_usd=0.0 if of_the_day else limit), scene.inbox, emit)

    dearest = max(event.usd for event in scene.events if event.kind is EventKind.USAGE)
    assert report.state is TurnState.FAILED
    assert report.failure is (Failure.DAY_BUDGET if of_the_day else Failure.BUDGET)
    assert report.usd == pytest.approx(till.usd, rel=0.05)
    assert limit <= report.usd < limit + 2 * dearest, "its prompt and its answer are counted one after the other"
    assert len(model.requests) < 20

"""Cost of the sandbox: an agent's start, and a turn of 200 commands, inside and outside, by turns in one run."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure, middle

from bot.agents.claude.agent import ClaudeAgent
from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import SayText, ScriptedModel, ScriptedReply, UseTool
from bot.domain.turn import AgentTask, Event, EventKind, TurnState, WorktreeMounts
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.interface import Sandbox
from bot.sandbox.none import NoSandbox

COMMANDS = 200
_TIMES = 3
_KEY = "ANTHROPIC_API_KEY"


async def measure(folder: Path) -> list[Figure]:
    starts: dict[str, list[float]] = {"inside": [], "outside": []}
    turns: dict[str, list[float]] = {"inside": [], "outside": []}
    async with ScriptedModel(_play) as model:
        where = {"ANTHROPIC_BASE_URL": model.url, _KEY: "key"}
        boxes: dict[str, Callable[[Path], Sandbox]] = {
            "inside": lambda state: Bubblewrap(state, where, SandboxRules()),
            "outside": lambda state: NoSandbox(state, where),
        }
        for go in range(_TIMES):
            for name in ("inside", "outside") if go % 2 else ("outside", "inside"):
                here = folder / f"{name}-{go}"
                start, turn = await _turn(here, boxes[name](here / "state"), model)
                starts[name].append(start)
                turns[name].append(turn)
    return [
        Figure("agent start without the sandbox (reference)", middle(starts["outside"]), "s"),
        Figure("agent start in the sandbox", middle(starts["inside"]), "s"),
        Figure("agent start, inside / outside", middle(starts["inside"]) / middle(starts["outside"]), "x", 1.15),
        Figure(f"a turn of {COMMANDS} commands without the sandbox (reference)", middle(turns["outside"]), "s"),
        Figure(f"a turn of {COMMANDS} commands in the sandbox", middle(turns["inside"]), "s"),
        Figure(
            f"a turn of {COMMANDS} commands, inside / outside",
            middle(turns["inside"]) / middle(turns["outside"]),
            "x",
            1.15,
        ),
    ]


def _play(request: MessagesRequest) -> ScriptedReply:
    number = request.answers_since_user_text
    return [UseTool("Bash", {"command": f"echo {number} >> counted"})] if number < COMMANDS else [SayText("Done.")]


async def _turn(folder: Path, sandbox: Sandbox, model: ScriptedModel) -> tuple[float, float]:
    """Measures until the first request to the model, and from there to the end."""
    work = _laid_out(folder)
    asked = len(model.requests)
    agent = ClaudeAgent(folder / "agent", sandbox=sandbox, clock=time.time)
    await agent.version()  # once per process of the daemon
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run(work, asyncio.Queue(), _nobody))
        await model.wait_for_requests(asked + 1)
        first = time.perf_counter()
    report = turn.result()
    assert report.state is TurnState.SUCCEEDED, report.detail
    assert len((work.folder / "counted").read_text().split()) == COMMANDS
    return first - begun, time.perf_counter() - first


def _laid_out(folder: Path) -> AgentTask:
    ground = WorktreeMounts(*(folder / name for name in ("worktree", "shadow", "agent-git", "objects")))
    for path in (ground.folder, ground.agent_git, ground.objects, folder / "home"):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={ground.shadow}", str(ground.folder)], check=True)
    return AgentTask("acme/shop#1/1/turn-1", ground, folder / "home", "Go.", "Go.")


def _nobody(event: Event) -> None:
    assert event.kind in EventKind

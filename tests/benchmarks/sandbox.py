"""Cost of the sandbox: an agent's start, and a turn of 200 commands, inside and outside, by turns in one run.

Besides the time on the clock, which other programs of the machine lengthen, it measures the time of the processor.
"""

import asyncio
import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class _Cost:
    """Of one turn, in seconds."""

    start: float
    """Until the first request to the model."""
    turn: float
    """From there to the end."""
    processor: float
    """Of the processor, all processes together, from the start to the end."""


async def measure(folder: Path) -> list[Figure]:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # to count what processes without a parent have used
    costs: dict[str, list[_Cost]] = {"inside": [], "outside": []}
    async with ScriptedModel(_play) as model:
        where = {"ANTHROPIC_BASE_URL": model.url, _KEY: "key"}
        boxes: dict[str, Callable[[Path], Sandbox]] = {
            "inside": lambda state: Bubblewrap(state, where, SandboxRules()),
            "outside": lambda state: NoSandbox(state, where),
        }
        for go in range(_TIMES):
            for name in ("inside", "outside") if go % 2 else ("outside", "inside"):
                here = folder / f"{name}-{go}"
                costs[name].append(await _turn(here, boxes[name](here / "state"), model))
    turn = f"a turn of {COMMANDS} commands"
    return [
        *_compared("agent start", [[one.start for one in costs[name]] for name in ("inside", "outside")]),
        *_compared(turn, [[one.turn for one in costs[name]] for name in ("inside", "outside")]),
        *_compared(f"{turn}, processor", [[one.processor for one in costs[name]] for name in ("inside", "outside")]),
    ]


def _compared(what: str, seconds: Sequence[Sequence[float]]) -> list[Figure]:
    inside, outside = map(middle, seconds)
    return [
        Figure(f"{what} without the sandbox (reference)", outside, "s"),
        Figure(f"{what} in the sandbox", inside, "s"),
        Figure(f"{what}, inside / outside", inside / outside, "x", 1.15),
    ]


def _processor_seconds() -> float:
    """Of all children that have ended, those whose parents ended before them included."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _play(request: MessagesRequest) -> ScriptedReply:
    number = request.answers_since_user_text
    return [UseTool("Bash", {"command": f"echo {number} >> counted"})] if number < COMMANDS else [SayText("Done.")]


async def _turn(folder: Path, sandbox: Sandbox, model: ScriptedModel) -> _Cost:
    work = _laid_out(folder)
    asked = len(model.requests)
    agent = ClaudeAgent(folder / "agent", sandbox=sandbox, clock=time.time)
    await agent.version()  # once per process of the daemon
    used, begun = _processor_seconds(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run(work, asyncio.Queue(), _nobody))
        await model.wait_for_requests(asked + 1)
        first = time.perf_counter()
    ended = time.perf_counter()
    report = turn.result()
    assert report.state is TurnState.SUCCEEDED, report.detail
    assert len((work.folder / "counted").read_text().split()) == COMMANDS
    return _Cost(first - begun, ended - first, _processor_seconds() - used)


def _laid_out(folder: Path) -> AgentTask:
    ground = WorktreeMounts(*(folder / name for name in ("worktree", "shadow", "agent-git", "objects")))
    for path in (ground.folder, ground.agent_git, ground.objects, folder / "home"):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={ground.shadow}", str(ground.folder)], check=True)
    return AgentTask("acme/shop#1/1/turn-1", ground, folder / "home", "Go.", "Go.")


def _nobody(event: Event) -> None:
    assert event.kind in EventKind

"""Time from the agent's spawn to the first request that reaches the model, for ours and for the program alone.

Also the time since the label, compared with `claude --worktree` in a checkout of the same repository.
"""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import claude_agent_sdk
from figures import Figure, middle
from grounds import PROJECT, bot, make_repository, plain_git, settings_for
from spawn import FILES

from bot.agents.claude.agent import ClaudeAgent
from bot.demo.scripted_model import SayText, ScriptedModel
from bot.domain.turn import AgentTask, TurnReport
from bot.ports import EventSink, Inbox
from bot.sandbox.none import NoSandbox

CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
_TIMES = 5
_SECONDS = 60


class Timed:
    """The real agent; records when each turn began."""

    def __init__(self, agent: ClaudeAgent) -> None:
        self._agent = agent
        self.began: list[float] = []

    async def run(self, work: AgentTask, inbox: Inbox, notice: EventSink) -> TurnReport:
        self.began.append(time.perf_counter())
        return await self._agent.run(work, inbox, notice)

    async def sweep(self) -> int:
        return await self._agent.sweep()


async def measure(folder: Path) -> list[Figure]:
    make_repository(folder / "repository", FILES)
    plain_git(folder, "clone", "-q", str(folder / "repository"), str(folder / "checkout"))
    recorder = _recorder(folder)
    ours, bare, sums, worktrees = [], [], [], []
    async with ScriptedModel(lambda _: [SayText("Done.")]) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}
        outside = NoSandbox(folder / "cells", environment)  # what the sandbox costs is measured in sandbox.py
        real = ClaudeAgent(folder / "agent", sandbox=outside, clock=time.time, cli=recorder)
        agent = Timed(real)
        async with bot(settings_for(folder, working=50, working_per_project=50), agent) as grounds:
            for go in range(_TIMES + 1):
                asked = len(model.requests)
                grounds.ask(f"go {go}")
                began = time.perf_counter()
                ticking = asyncio.create_task(_tick(grounds.app))
                arrived = await _arrival(model, asked)
                ours.append(arrived - agent.began[-1])
                sums.append(arrived - began)
                await _idle(grounds.app)
                ticking.cancel()
                if go == 0:
                    _record_no_more(recorder)
                bare.append(await _bare(folder, model, go))
                worktrees.append(await _with_worktree(folder, environment, model, go))
    return _figures(*(middle(taken[1:]) for taken in (ours, bare, sums, worktrees)))


def _figures(ours: float, bare: float, whole: float, worktree: float) -> list[Figure]:
    return [
        Figure("bare CLI, same options -> first request (reference)", bare, "s"),
        Figure("agent spawned -> first request", ours, "s"),
        Figure("agent spawned -> first request / bare CLI", ours / bare, "x", 1.10),
        Figure("claude --worktree -> first request, 20,000 files (reference)", worktree, "s"),
        Figure("label visible -> first request, 20,000 files", whole, "s"),
        Figure("label visible -> first request / claude --worktree", whole / worktree, "x", 1.10),
    ]


async def _tick(app) -> None:
    while True:
        await app.engine.tick()
        await app.woken.wait()
        app.woken.clear()


async def _idle(app) -> None:
    while any(report.state == "running" for report in (await app.executor.reports()).values()):
        await asyncio.sleep(0.05)
    await app.engine.wait_until_idle()


async def _arrival(model: ScriptedModel, asked: int) -> float:
    async with asyncio.timeout(_SECONDS):
        await model.wait_for_requests(asked + 1)
    return time.perf_counter()


def _recorder(folder: Path) -> Path:
    """Makes a program that records how it was called, and then runs the real one."""
    script = folder / "recorder"
    script.write_text(
        f"#!{sys.executable} -ISs\nimport json, os, sys\n"
        f"if '--version' not in sys.argv:\n"
        f"    json.dump([sys.argv[1:], dict(os.environ), os.getcwd()], open({str(folder / 'called')!r}, 'w'))\n"
        f"os.execv({str(CLI)!r}, [{str(CLI)!r}, *sys.argv[1:]])\n"
    )
    script.chmod(0o755)
    return script


def _record_no_more(recorder: Path) -> None:
    """Stops recording: the first run only warms up, the others run the program itself."""
    recorder.unlink()
    recorder.symlink_to(CLI)


async def _bare(folder: Path, model: ScriptedModel, go: int) -> float:
    """Runs the program alone, with the same options and environment in the same folder."""
    arguments, environment, _ = json.loads((folder / "called").read_text())
    place, home = str(folder / "state" / "worktrees" / PROJECT / f"{PROJECT}-{go + 1}"), str(folder / f"bare-home-{go}")
    environment |= {"HOME": home, "CLAUDE_CONFIG_DIR": home, "PWD": place}
    Path(home).mkdir()
    arguments = _without(arguments, "--mcp-config", "--session-id", "--resume")
    message = {"type": "user", "message": {"role": "user", "content": "Go."}, "parent_tool_use_id": None}
    return await _wait_for_requests([str(CLI), *arguments], environment, place, model, json.dumps(message) + "\n")


def _without(arguments: Sequence[str], *options: str) -> list[str]:
    """Removes options that need a client or an earlier session."""
    kept, rest = [], iter(arguments)
    for word in rest:
        if word in options:
            next(rest)
        elif not word.startswith(tuple(f"{option}=" for option in options)):
            kept.append(word)
    return kept


async def _with_worktree(folder: Path, model_at: Mapping[str, str], model: ScriptedModel, go: int) -> float:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "IS_SANDBOX": "1", **model_at}
    environment |= {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    words = shlex.split(f"{CLI} --worktree go-{go} --print --dangerously-skip-permissions Go.")
    seconds = await _wait_for_requests(words, environment, str(folder / "checkout"), model, "")
    shutil.rmtree(folder / "checkout" / ".claude", ignore_errors=True)
    return seconds


async def _wait_for_requests(
    words: Sequence[str], environment: Mapping[str, str], place: str, model: ScriptedModel, said: str
) -> float:
    asked, began = len(model.requests), time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *words, env=environment, cwd=place, start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(said.encode())
    if not said:
        process.stdin.close()
    try:
        return await _arrival(model, asked) - began
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

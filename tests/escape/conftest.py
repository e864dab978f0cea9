"""An attacked project: a real worktree, the real sandbox, and guard files and canaries that the tests planted.

Rule: an attacker first tries to read its guard file, outside of the sandbox; if it can, it prints UNCONFINED and does
nothing more. Foreign secrets are invented.
"""

import asyncio
import os
import secrets
import shlex
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.agents.claude.agent import ClaudeAgent
from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import SayText, ScriptedModel, ScriptedReply, UseTool
from bot.domain.turn import AgentTask, Event, TurnReport, Workspace
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.interface import AgentSandbox, CommandSandbox
from bot.sandbox.mount_plan import SHELL
from bot.sandbox.proxy.grant import ignore_usage
from bot.sandbox.resource_limits import ProcessLimits
from bot.system.launch import KEEP, PARENT
from bot.system.processes import MARKER
from bot.workspace.workspaces import GitWorkspaces
from tests.sandbox.test_port_forward import free_port
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
OTHER = "treehand/shop-2"
UNCONFINED = "UNCONFINED"
BASH = Path("/bin/bash")
LIMITS = ProcessLimits(memory_bytes=6 << 30, processes=400, file_bytes=1 << 30, scratch_bytes=64 << 20)
COMMAND = "command"
SANDBOX_KINDS = (COMMAND, "program", "setup", "verification", "server")
"""A command of an agent, the agent's program itself, and what the host orders."""
_SECONDS = 60.0


@dataclass
class AttackedProject:
    """A project with two runs. The attacker has the first; everything else must be hidden from it."""

    state: Path
    origin: Origin
    workspaces: GitWorkspaces
    guard: Path
    """A file outside of the sandbox; readable only for an attacker that has got out."""
    trace: Path
    """A file outside of the sandbox; written by the attacker's program if it runs there."""
    rules: SandboxRules = field(default_factory=lambda: SandboxRules(process_limits=LIMITS))
    mine: Workspace = field(init=False)
    other: Workspace = field(init=False)
    report: TurnReport | None = None
    events: list[Event] = field(default_factory=list)

    @property
    def mirror(self) -> Path:
        return self.state / "mirrors" / "shop.git"

    @property
    def home(self) -> Path:
        return self.state / "homes" / "shop-1"

    @property
    def evil(self) -> Path:
        """Writes an executable into the worktree that leaves a trace when it runs."""
        return self.mine.path / "evil.sh"

    def plant_evil(self) -> None:
        self.evil.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(self.trace))} 2>/dev/null\ncat 2>/dev/null\n")
        self.evil.chmod(0o755)

    def work(self, turn: int = 1, **more) -> AgentTask:
        return AgentTask(f"acme/shop#1/1/turn-{turn}", self.mine.mounts, self.home, "Go on.", "Begin.", **more)

    def sandbox(self, model_url: str = "http://127.0.0.1:9") -> Bubblewrap:
        model = {"ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": "sk-ant-REAL-KEY"}
        return Bubblewrap(self.state, model, self.rules)

    @asynccontextmanager
    async def open_sandbox(self, kind: str = COMMAND) -> AsyncIterator["Attacker"]:
        """Opens a sandbox of one of the kinds, without an agent's program in it."""
        self.home.mkdir(parents=True, exist_ok=True)
        marker = f"escape:{secrets.token_hex(4)}"
        async with self._open(kind, marker) as sandbox:
            yield Attacker(self, sandbox, marker, kind)

    def _open(self, kind: str, marker: str) -> AbstractAsyncContextManager[AgentSandbox | CommandSandbox]:
        sandboxes, mounts = self.sandbox(), self.mine.mounts
        match kind:
            case "setup":
                return sandboxes.open_setup(mounts, self.home, marker, network=True)
            case "verification":
                return sandboxes.open_test(mounts, self.home, None, marker)
            case "server":
                return sandboxes.open_test(mounts, self.home, None, marker, ports=[free_port()])
            case _:
                return sandboxes.open_turn(self.work(), marker, ignore_usage)

    async def turn(self, *commands: str, number: int = 1, session: str = "", seconds: float = 90.0) -> list[str]:
        """Runs shell commands of the agent's real program; returns the output of each."""
        guarded = [f"{self.watch_out()}{command}" for command in commands]

        def play(request: MessagesRequest) -> ScriptedReply:
            done = request.answers_since_user_text
            return (
                [UseTool("Bash", {"command": guarded[done]})] if done < len(guarded) else [SayText("All tests pass.")]
            )

        async with ScriptedModel(play) as model, asyncio.timeout(seconds):
            agent = ClaudeAgent(self.state / "agent", sandbox=self.sandbox(model.url), clock=time.time)
            work = self.work(number, session=session)
            self.report = await agent.run(work, asyncio.Queue(), self.events.append)
            printed = list(model.requests[-1].results[-len(commands) :]) if model.requests and commands else []
        assert not any(UNCONFINED in text for text in printed), printed
        return printed

    def watch_out(self) -> str:
        """Returns the beginning of each hostile command."""
        return f"if cat {shlex.quote(str(self.guard))} >/dev/null 2>&1; then echo UNCON''FINED; exit 0; fi\n"

    async def life(self, message: str = "m") -> str:
        """Does what the host does with a worktree after a turn; returns the commit."""
        change = await self.capture(message)
        await self.workspaces.ensure_pushed(BRANCH, remote=self.origin.remote)
        await self.workspaces.ensure(BRANCH, base="", remote=self.origin.remote)
        await self.workspaces.diff(BRANCH)
        return change

    async def end(self) -> None:
        await self.workspaces.salvage(BRANCH)
        await self.workspaces.pack_mirror()
        await self.workspaces.remove(BRANCH)
        await self.workspaces.sweep({OTHER})

    async def capture(self, message: str = "m") -> str:
        """Captures; a person approves every objection."""
        change = await self.workspaces.capture(BRANCH, message=message, at=1000.0)
        if change.objections:
            allowed = [one.id for one in change.objections]
            change = await self.workspaces.capture(BRANCH, message=message, at=1000.0, allowed=allowed)
        return change.head


@dataclass
class Attacker:
    """Runs any program in a sandbox."""

    project: AttackedProject
    sandbox: AgentSandbox | CommandSandbox
    marker: str
    kind: str = COMMAND

    async def run(self, script: str, *, as_command: bool = True, ends_well: bool = True) -> str:
        """Returns its output. `as_command`: run by the agent's shell, otherwise instead of the agent's program."""
        script = self.project.watch_out() + script
        script = f"{SHELL} {shlex.quote(script)}" if as_command and self.kind == COMMAND else script
        code, printed = await self._run("-c", script)
        assert UNCONFINED not in printed, printed
        assert code == 0 or not ends_well, printed
        return printed

    async def python(self, code: str, *arguments: str, as_command: bool = True, ends_well: bool = True) -> str:
        words = shlex.join(("exec", "python3", "-I", "-c", code, *arguments))
        return await self.run(words, as_command=as_command, ends_well=ends_well)

    async def _run(self, *arguments: str) -> tuple[int, str]:
        told = {**self.sandbox.environment, MARKER: self.marker, "CLAUDE_CONFIG_DIR": str(self.project.home)}
        keep = ",".join((*told, *self.sandbox.inherited_variables))
        environment = {**os.environ, **told, KEEP: keep, PARENT: str(os.getpid())}
        process = await asyncio.create_subprocess_exec(
            str(self.sandbox.launcher(BASH)), *arguments, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
        except TimeoutError:
            process.kill()
            raise
        assert process.returncode is not None
        return process.returncode, printed.decode(errors="replace")


@pytest.fixture
def as_root() -> None:
    """Marks a test of what root gives up."""
    if os.geteuid() != 0:
        pytest.skip("this is about what root gives up, and you are not root")


@pytest.fixture
def origin(tmp_path) -> Origin:
    bare, clone = tmp_path / "origin.git", tmp_path / "ada"
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    run_git(tmp_path, "clone", "-q", str(bare), str(clone))
    made = Origin(bare, clone)
    made.commit({"README.md": "hello\n", "src/app.py": "print(1)\n"})
    return made


@pytest.fixture
async def project(tmp_path, origin) -> AttackedProject:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    made = AttackedProject(
        state, origin, GitWorkspaces(state, "shop"), guard=tmp_path / "guard", trace=tmp_path / "trace"
    )
    made.guard.write_text("the guard's own words")
    made.mine = await made.workspaces.ensure(BRANCH, base="", remote=origin.remote)
    made.other = await made.workspaces.ensure(OTHER, base="", remote=origin.remote)
    made.plant_evil()
    return made

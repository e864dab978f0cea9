"""A prison to break out of: a real worktree, the real sandbox, and guard files and canaries that the tests planted.

Rule: whatever plays the prisoner first tries to read its guard, outside; where it can, it says UNCONFINED and does
nothing more. What stands for other people's secrets was made up here.
"""

import asyncio
import os
import secrets
import shlex
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.agents.claude import ClaudeAgent
from bot.demo.messages_api import Request
from bot.demo.model import Reply, Say, ScriptedModel, Use
from bot.domain.turn import Event, TurnReport, Work, Workspace
from bot.sandbox.bubblewrap import Bubblewrap, Rules
from bot.sandbox.interface import Cell
from bot.sandbox.mount_plan import Limits
from bot.system.launch import KEEP, PARENT
from bot.system.processes import MARKER
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
OTHER = "treehand/shop-2"
UNCONFINED = "UNCONFINED"
BASH = Path("/bin/bash")
LIMITS = Limits(memory_bytes=6 << 30, processes=400, file_bytes=1 << 30, scratch_bytes=64 << 20)
_SECONDS = 60.0
_MOOT = pytest.StashKey[int]()


@dataclass
class Prison:
    """One project with two runs. The first is the prisoner's, everything else is not for its eyes."""

    state: Path
    origin: Origin
    workspaces: GitWorkspaces
    guard: Path
    """Outside; only ever to be read by what has broken out."""
    trace: Path
    """Outside; whatever is run out there leaves it."""
    rules: Rules = field(default_factory=lambda: Rules(limits=LIMITS))
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
        """A program that leaves the trace, inside the worktree."""
        return self.mine.path / "evil.sh"

    def plant_evil(self) -> None:
        self.evil.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(self.trace))} 2>/dev/null\ncat 2>/dev/null\n")
        self.evil.chmod(0o755)

    def work(self, turn: int = 1, **more) -> Work:
        return Work(f"acme/shop#1/1/turn-{turn}", self.mine.ground, self.home, "Go on.", "Begin.", **more)

    def sandbox(self, model_url: str = "http://127.0.0.1:9") -> Bubblewrap:
        model = {"ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": "sk-ant-REAL-KEY"}
        return Bubblewrap(self.state, model, self.rules)

    @asynccontextmanager
    async def cell(self) -> AsyncIterator["Inmate"]:
        """The cell of a turn, without an agent's program in it."""
        self.home.mkdir(parents=True, exist_ok=True)
        marker = f"escape:{secrets.token_hex(4)}"
        async with self.sandbox().open(self.work(), marker) as cell:
            yield Inmate(self, cell, marker)

    async def turn(self, *commands: str, number: int = 1, session: str = "", seconds: float = 90.0) -> list[str]:
        """The real program plays these as a shell's commands; what each printed."""
        guarded = [f"{self.watch_out()}{command}" for command in commands]

        def play(request: Request) -> Reply:
            done = request.answers_since_said
            return [Use("Bash", {"command": guarded[done]})] if done < len(guarded) else [Say("All tests pass.")]

        async with ScriptedModel(play) as model, asyncio.timeout(seconds):
            agent = ClaudeAgent(self.state / "agent", sandbox=self.sandbox(model.url), clock=time.time)
            work = self.work(number, session=session)
            self.report = await agent.run(work, asyncio.Queue(), self.events.append)
            printed = list(model.requests[-1].results[-len(commands) :]) if model.requests and commands else []
        assert not any(UNCONFINED in text for text in printed), printed
        return printed

    def watch_out(self) -> str:
        """What a hostile command begins with."""
        return f"if cat {shlex.quote(str(self.guard))} >/dev/null 2>&1; then echo UNCON''FINED; exit 0; fi\n"

    async def life(self, message: str = "m") -> str:
        """All that the host does with a worktree after an agent has been there. The commit it made of it."""
        change = await self.capture(message)
        await self.workspaces.ensure_pushed(BRANCH, remote=self.origin.remote)
        await self.workspaces.ensure(BRANCH, base="", remote=self.origin.remote)
        await self.workspaces.diff(BRANCH)
        return change

    async def end(self) -> None:
        await self.workspaces.salvage(BRANCH)
        await self.workspaces.maintain()
        await self.workspaces.remove(BRANCH)
        await self.workspaces.sweep({OTHER})

    async def capture(self, message: str = "m") -> str:
        """With a person's word for whatever is objected to."""
        change = await self.workspaces.capture(BRANCH, message=message, at=1000.0)
        if change.objections:
            allowed = [one.id for one in change.objections]
            change = await self.workspaces.capture(BRANCH, message=message, at=1000.0, allowed=allowed)
        return change.head


@dataclass
class Inmate:
    """Runs programs of its own choice in a cell."""

    prison: Prison
    cell: Cell
    marker: str

    async def run(self, script: str, *, as_command: bool = True, ends_well: bool = True) -> str:
        """What it prints. `as_command`: as the agent's shell would run it, else in place of the agent's program."""
        script = self.prison.watch_out() + script
        script = f"{self.cell.shell} {shlex.quote(script)}" if as_command else script
        code, printed = await self._run("-c", script)
        assert UNCONFINED not in printed, printed
        assert code == 0 or not ends_well, printed
        return printed

    async def python(self, code: str, *arguments: str, as_command: bool = True, ends_well: bool = True) -> str:
        words = shlex.join(("exec", "python3", "-I", "-c", code, *arguments))
        return await self.run(words, as_command=as_command, ends_well=ends_well)

    async def _run(self, *arguments: str) -> tuple[int, str]:
        told = {**self.cell.environment, MARKER: self.marker, "CLAUDE_CONFIG_DIR": str(self.prison.home)}
        keep = ",".join((*told, *self.cell.handed_on))
        environment = {**os.environ, **told, KEEP: keep, PARENT: str(os.getpid())}
        process = await asyncio.create_subprocess_exec(
            str(self.cell.launcher(BASH)), *arguments, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
        except TimeoutError:
            process.kill()
            raise
        assert process.returncode is not None
        return process.returncode, printed.decode(errors="replace")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is about being root is nothing to try for anybody else; the rest is tried by root and by a user."""
    if os.geteuid() != 0:
        moot = [item for item in items if "as_root" in getattr(item, "fixturenames", ())]
        config.stash[_MOOT] = len(moot)
        config.hook.pytest_deselected(items=moot)
        items[:] = [item for item in items if item not in moot]


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    moot = config.stash.get(_MOOT, 0)
    return f"{moot} deselected: they are about what root gives up, and you are not root" if moot else ""


@pytest.fixture
def as_root() -> None:
    """Only where we are root, see above."""
    assert os.geteuid() == 0


@pytest.fixture
def origin(tmp_path) -> Origin:
    bare, clone = tmp_path / "origin.git", tmp_path / "ada"
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    run_git(tmp_path, "clone", "-q", str(bare), str(clone))
    made = Origin(bare, clone)
    made.commit({"README.md": "hello\n", "src/app.py": "print(1)\n"})
    return made


@pytest.fixture
async def prison(tmp_path, origin) -> Prison:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    made = Prison(state, origin, GitWorkspaces(state, "shop"), guard=tmp_path / "guard", trace=tmp_path / "trace")
    made.guard.write_text("the guard's own words")
    made.mine = await made.workspaces.ensure(BRANCH, base="", remote=origin.remote)
    made.other = await made.workspaces.ensure(OTHER, base="", remote=origin.remote)
    made.plant_evil()
    return made

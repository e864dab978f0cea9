"""A worktree, the real agent and a scripted model."""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.agents.claude.agent import ClaudeAgent
from bot.agents.claude.program import MIN_VERSION
from bot.demo.scripted_model import ScriptedModel
from bot.domain.turn import AgentTask, Event, EventKind, Message, TurnReport, WorktreeMounts
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.none import NoSandbox


@dataclass
class AgentScene:
    """Folder and home of a run, and the events of its turns."""

    folder: Path
    home: Path
    state: Path
    confined: bool = False
    """False for stand-ins of the program: the sandbox does not show their interpreter."""
    events: list[Event] = field(default_factory=list)
    inbox: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    on_event: Callable[[Event], None] = lambda _: None

    def task(
        self, briefing: str = "The whole thread.", turn: int = 1, *, prompt: str = "The news.", **more
    ) -> AgentTask:
        mounts = WorktreeMounts(self.folder, *(self.state / name for name in ("shadow", "agent-git", "objects")))
        return AgentTask(f"acme/shop#1/1/turn-{turn}", mounts, self.home, prompt, briefing, **more)

    def agent(self, model: ScriptedModel | None = None, **more) -> ClaudeAgent:
        environment = {"ANTHROPIC_BASE_URL": model.url if model else "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "key-1"}
        more = {"model_retries": 1, "model_seconds": 2.0, **more}
        box = (
            Bubblewrap(self.state, environment, SandboxRules()) if self.confined else NoSandbox(self.state, environment)
        )
        return ClaudeAgent(self.state / "agent", sandbox=box, clock=time.time, **more)

    async def take(self, model: ScriptedModel | None, task: AgentTask | None = None, **more) -> TurnReport:
        return await self.agent(model, **more).run(task or self.task(), self.inbox, self._emit)

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def texts(self, kind: EventKind) -> list[str]:
        return [event.text for event in self.events if event.kind is kind]

    def fake(self, body: str, version: str = ".".join(map(str, MIN_VERSION))) -> Path:
        """Makes a fake program: `body` runs after the greeting, with `say` and the first prompt in `prompt`."""
        path = self.state.parent / "fake-cli"
        path.write_text(_FAKE.format(python=sys.executable, version=version, body=body))
        path.chmod(0o755)
        return path


_FAKE = """#!{python}
import json, sys, time
if "--version" in sys.argv:
    print("{version} (Fake)")
    sys.exit()
def say(**message):
    print(json.dumps(message), flush=True)
def heard():
    return json.loads(sys.stdin.readline())
def greet():
    asked = heard()
    say(type="control_response", response=dict(subtype="success", request_id=asked["request_id"],
        response=dict(hook_on_failure_supported=True)))
    say(type="system", subtype="init", session_id="s1")
    return heard()
def answer(text):
    say(type="assistant", message=dict(model="m", id="m1", content=[dict(type="text", text=text)]))
def end(**more):
    say(**dict(dict(type="result", subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1,
        session_id="s1", result="done", total_cost_usd=0.5), **more))
{body}
"""


@pytest.fixture
def scene(tmp_path) -> AgentScene:
    folder = tmp_path / "worktree"
    state = tmp_path / "state"
    (state / "objects").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={state / 'shadow'}", str(folder)], check=True)
    shutil.copytree(state / "shadow", state / "agent-git")
    (folder / "app.py").write_text("tax = 1\n")
    return AgentScene(folder, tmp_path / "home", state)


@pytest.fixture
def second(scene) -> Callable[..., AgentTask]:
    return lambda report, **more: replace(scene.task(turn=2, prompt="Go on."), session=report.session, **more)

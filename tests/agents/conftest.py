"""A worktree, an agent and a scripted model: everything real but the model's mind."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.agents.claude import ClaudeAgent
from bot.agents.claude.program import TESTED
from bot.demo.model import ScriptedModel
from bot.domain.turn import Event, EventKind, Ground, Message, TurnReport, Work
from bot.sandbox.bubblewrap import Bubblewrap, Rules
from bot.sandbox.none import Unconfined


@dataclass
class Bench:
    """One run's folder and home, and what its turns told."""

    folder: Path
    home: Path
    state: Path
    confined: bool = False
    """Stand-ins for the program are not: what they are run by is nowhere in a sandbox."""
    events: list[Event] = field(default_factory=list)
    inbox: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    on_event: Callable[[Event], None] = lambda _: None

    def work(self, briefing: str = "The whole thread.", turn: int = 1, *, prompt: str = "The news.", **more) -> Work:
        ground = Ground(self.folder, self.state / "shadow", self.state / "objects")
        return Work(f"acme/shop#1/1/turn-{turn}", ground, self.home, prompt, briefing, **more)

    def agent(self, model: ScriptedModel | None = None, **more) -> ClaudeAgent:
        environment = {"ANTHROPIC_BASE_URL": model.url if model else "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "key-1"}
        more = {"model_retries": 1, "model_seconds": 2.0, **more}
        box = Bubblewrap(self.state, environment, Rules()) if self.confined else Unconfined(self.state, environment)
        return ClaudeAgent(self.state / "agent", sandbox=box, clock=time.time, **more)

    async def take(self, model: ScriptedModel | None, work: Work | None = None, **more) -> TurnReport:
        return await self.agent(model, **more).run(work or self.work(), self.inbox, self._notice)

    def _notice(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def texts(self, kind: EventKind) -> list[str]:
        return [event.text for event in self.events if event.kind is kind]

    def fake(self, body: str, version: str = ".".join(map(str, TESTED))) -> Path:
        """A stand-in for the program: `body` runs after the greeting, with `say` and the first prompt in `prompt`."""
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
def bench(tmp_path) -> Bench:
    folder = tmp_path / "worktree"
    state = tmp_path / "state"
    (state / "objects").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={state / 'shadow'}", str(folder)], check=True)
    (folder / "app.py").write_text("tax = 1\n")
    return Bench(folder, tmp_path / "home", state)


@pytest.fixture
def second(bench) -> Callable[..., Work]:
    return lambda report, **more: replace(bench.work(turn=2, prompt="Go on."), session=report.session, **more)

"""A user with a repository and the installed command; the model is scripted."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.agents.claude import program
from bot.demo.scripted_model import SayText, Script, ScriptedModel, ScriptedReply, UseTool
from bot.system.processes import MARKER, find_processes
from tests.fakes.github.fixtures import github  # noqa: F401 - for the tests here

TREEHAND = (sys.executable, "-m", "bot")
SECONDS = 150


@dataclass
class CommandResult:
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


@dataclass
class Person:
    home: Path
    repository: Path
    env: dict[str, str]
    started: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def treehand(self, *words: str, stdin: str = "", within: Sequence[str] = (), **env: str) -> CommandResult:
        process = await self.start(*words, within=within, **env)
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), SECONDS)
        return CommandResult(process.returncode or 0, out.decode(), err.decode())

    async def start(self, *words: str, within: Sequence[str] = (), **env: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *within, *TREEHAND, *words, cwd=self.repository, env={**self.env, **env}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(process)
        return process

    async def does(self, *words: str, **env: str) -> str:
        """Runs a command that must succeed."""
        answer = await self.treehand(*words, **env)
        assert answer.code == 0, f"{answer.out}\n{answer.err}"
        return answer.out.strip()

    async def state(self) -> dict:
        return json.loads(await self.does("status", "--json"))

    async def run(self, key: str) -> dict:
        return next((run for run in (await self.state())["runs"] if run["key"] == key), {})

    async def until(self, key: str, phase: str) -> dict:
        """Waits until a run reaches a phase. Polls the database, which is cheaper than running `status`."""
        async with asyncio.timeout(SECONDS):
            while True:
                while self._phase(key) != phase:
                    await asyncio.sleep(0.05)
                if (found := await self.run(key)).get("phase") == phase:
                    return found

    def _phase(self, key: str) -> str:
        """Returns the phase of the newest run of an issue from the database."""
        for folder in (self.state_dir, self.home / "state"):
            with contextlib.suppress(sqlite3.OperationalError):  # not created yet
                with contextlib.closing(sqlite3.connect(f"file:{folder}/treehand.db?mode=ro", uri=True)) as db:
                    found = db.execute("SELECT phase FROM runs WHERE key = ? ORDER BY ordinal DESC", (key,)).fetchone()
                if found:
                    return found[0]
        return ""

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.repository, env=self.env, capture_output=True, check=True)
        return done.stdout.decode().strip()

    @property
    def state_dir(self) -> Path:
        return self.home / "treehand-state/shop"

    def agents_alive(self) -> Sequence[int]:
        """Returns the processes of agents in this person's home."""
        ours = str(self.home).encode()
        return [p.pid for p in find_processes(bool) if ours in _environ(p.pid)]


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="session")
def program_seen(tmp_path_factory) -> Path:
    """Folder with the cached check of the agent's program, which takes seconds."""
    folder = tmp_path_factory.mktemp("program")
    asyncio.run(program.check_version(program.find_installed(), folder))
    return folder


class _CountTokens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"input_tokens": 1}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextlib.contextmanager
def token_counter() -> Iterator[str]:
    """A model that answers only the request of `treehand check`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _CountTokens) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
async def person(tmp_path: Path, program_seen: Path) -> AsyncIterator[Person]:
    home, repository = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "USER": "ana",
        "PYTHONPATH": str(Path.cwd()),
        "LANG": "C.UTF-8",
    }
    env |= {"TREEHAND_LIMITS__FREE_DISK_GB": "0", "TREEHAND_WEB__BIND": "", "TREEHAND_WEB__LOGIN": "never"}
    person = Person(home, repository, env)
    shutil.copytree(program_seen, person.state_dir / "agent")
    repository.mkdir()
    person.git("init", "--quiet", "--initial-branch=main")
    (repository / "app.py").write_text("answer = 41\n")
    person.git("add", ".")
    person.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=One")
    with token_counter() as url:
        env["ANTHROPIC_BASE_URL"] = url  # no command of a test asks the real service
        yield person
    for process in person.started:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@cache
def _initialized(process: int) -> tempfile.TemporaryDirectory[str]:
    """Folder for what `treehand init` has written, without what depends on where the home and the repository are."""
    return tempfile.TemporaryDirectory(prefix="treehand-template-")


@pytest.fixture
async def ready(person: Person) -> Person:
    """After `treehand init`. The command runs for the first test of a process; its files are copied for the others."""
    folder = Path(_initialized(os.getpid()).name)
    settings, state = folder / "treehand.toml", folder / "state"
    if settings.exists():
        shutil.copy(settings, person.repository)
        shutil.copytree(state, person.state_dir, dirs_exist_ok=True)
        return person
    await person.does("init", "--yes", "--no-check")
    shutil.copytree(person.state_dir, state, ignore=shutil.ignore_patterns("repositories"))
    shutil.copy(person.repository / "treehand.toml", settings)
    return person


@pytest.fixture
def unset_marker(monkeypatch) -> Iterator[None]:
    monkeypatch.delenv(MARKER, raising=False)
    yield


def script_of(*steps: ScriptedReply) -> Script:
    """Plays one reply after another since the last user text, and repeats the last one."""
    return lambda request: steps[min(request.answers_since_user_text, len(steps) - 1)]


def write(text: str, path: str = "app.py") -> UseTool:
    return UseTool("Bash", {"command": f"printf '%s\\n' '{text}' > {path}", "description": f"Write {path}"})


def model_env(model: ScriptedModel) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}


DONE = (SayText("Done."),)

"""Time from "the label is visible" to the agent's first request to its model, in repositories that need setup.

Three repositories: Python with uv, JavaScript with npm, both with real packages from the registries of this machine,
and 20,000 plain files. Each is measured cold, with earlier downloads, and from the pool; and compared with
`git worktree add` and the tool run by hand with the same downloads. Needs `npm`, `pip` and their registries; `uv` is
installed here if it is missing.

The proxy connects to public addresses only. If this machine reaches its registries at another address, the proxy of
the measurement may use it, and a printed line says so.
"""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from figures import Figure, middle
from grounds import PROJECT, make_repository, plain_git

from bot import app
from bot.app import App
from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import SayText, ScriptedModel, ScriptedReply
from bot.domain.run import Phase
from bot.sandbox.bubblewrap import Bubblewrap
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.public_addresses import is_public
from bot.sandbox.proxy.server import SandboxProxy
from bot.services.local.connect import open_local_server
from bot.settings.schema import BudgetSettings, LimitSettings, ProjectSettings, SandboxSettings, Settings

FILES = 20_000
_TIMES = 3
_PYTHON = (
    "django",
    "sqlalchemy",
    "requests",
    "httpx",
    "pydantic",
    "celery",
    "boto3",
    "sphinx",
    "pytest",
    "mypy",
    "ruff",
)
_NODE = {
    "express": "^4",
    "react": "^18",
    "lodash": "^4",
    "typescript": "^5",
    "eslint": "^8",
    "webpack": "^5",
    "@babel/preset-env": "^7",
    "mocha": "^10",
    "prettier": "^3",
}
_CERTIFICATES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""A machine with an authority of its own says so to its clients; they have to be told in the sandbox, too."""


@dataclass(frozen=True, slots=True)
class Stack:
    name: str
    repository: Path
    command: str = ""
    tools: tuple[Path, ...] = ()
    hosts: frozenset[str] = frozenset()
    caches: Mapping[str, str] = field(default_factory=dict)
    """Variables that say where downloads are kept, by hand; each with a folder's name."""


async def measure(folder: Path) -> list[Figure]:
    stacks = [await asyncio.to_thread(make, folder) for make in (_python, _node, _plain)]
    figures: list[Figure] = []
    for stack in stacks:
        here = folder / f"measured-{stack.name}"
        here.mkdir()
        figures += await _measured(stack, here)
    return figures


async def _measured(stack: Stack, here: Path) -> list[Figure]:
    """Measures by turns, so that no side profits from a quiet moment."""
    async with ScriptedModel(_said) as model, _bot(stack, here, model, pool=0) as bare:
        await bare.first_request()  # what is done once per life of a daemon is not counted
        cold, by_hand, cached, by_hand_cached = list[float](), list[float](), list[float](), list[float]()
        for go in range(_TIMES):
            for mine in (True, False) if go % 2 else (False, True):
                if mine:
                    shutil.rmtree(bare.app.settings.state_dir / "caches", ignore_errors=True)
                    cold.append(await bare.first_request())
                    cached.append(await bare.first_request())
                else:
                    shutil.rmtree(here / "by-hand", ignore_errors=True)
                    by_hand.append(await asyncio.to_thread(_by_hand, stack, here))
                    by_hand_cached.append(await asyncio.to_thread(_by_hand, stack, here))
    async with ScriptedModel(_said) as model, _bot(stack, here, model, pool=1) as pooled:
        warm = [await pooled.from_pool() for _ in range(_TIMES)]
    return _figures(stack, middle(by_hand), middle(by_hand_cached), middle(cold), middle(cached), middle(warm))


def _figures(
    stack: Stack, by_hand: float, by_hand_cached: float, cold: float, cached: float, warm: float
) -> list[Figure]:
    label = f"{stack.name}: label -> first model request"
    found = [
        Figure(f"{stack.name}: by hand, without downloads (reference)", by_hand, "s"),
        Figure(f"{stack.name}: by hand, with downloads (reference)", by_hand_cached, "s"),
        Figure(f"{label}, cold", cold, "s"),
        Figure(f"{label}, with downloads", cached, "s"),
        Figure(f"{label}, from the pool", warm, "s"),
        Figure(f"{stack.name}: cold / by hand", cold / by_hand, "x", 1.15 if stack.command else None),
    ]
    if stack.command:
        found.append(Figure(f"{stack.name}: from the pool / cold", warm / cold, "x", 0.1))
    return found


def _said(_request: MessagesRequest) -> ScriptedReply:
    return [SayText("Done.")]


@dataclass(slots=True)
class Bot:
    app: App
    model: ScriptedModel

    async def first_request(self) -> float:
        people = open_local_server(self.app.settings)
        key = people.issues(PROJECT).open("Measured", by="ada", labels=["ai"]).key
        asked, began = len(self.model.requests), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(self._ticking(key))
            await self.model.wait_for_requests(asked + 1)
            seconds = time.perf_counter() - began
            ticking.cancel()
        people.issues(PROJECT).unlabel(people.parse_key(key)[1], "ai", by="ada")
        while (run := self.app.store.find_run(key)) and run.phase is not Phase.DONE:
            await self.app.engine.tick()
            await self.app.engine.wait_until_idle()
        people.close()
        return seconds

    async def from_pool(self) -> float:
        pools = self.app.maintenance.pools
        await pools.fill()
        (waits,) = pools.projects[PROJECT].pool.ready()
        seconds = await self.first_request()
        assert waits not in pools.projects[PROJECT].pool.ready()
        return seconds

    async def _ticking(self, key: str) -> None:
        """Ticks like the daemon."""
        while True:
            self.app.woken.clear()
            await self.app.engine.tick()
            run = self.app.store.find_run(key)
            assert run, "it was seen"
            assert run.phase is not Phase.ASKING, run.reason
            await self.app.woken.wait()


class _bot:  # noqa: N801 - it reads as a function
    def __init__(self, stack: Stack, here: Path, model: ScriptedModel, *, pool: int) -> None:
        reaching = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "key"}
        self._wired, self._model, self._hosts = app.open_app(_settings(stack, here, pool), reaching), model, stack.hosts

    async def __aenter__(self) -> Bot:
        wired = await self._wired.__aenter__()
        _open_up(wired, self._hosts)
        return Bot(wired, self._model)

    async def __aexit__(self, *why: object) -> None:
        await self._wired.__aexit__(*why)  # type: ignore[arg-type]


def _settings(stack: Stack, here: Path, pool: int) -> Settings:
    told = " ".join(f"{name}={os.environ[name]}" for name in _CERTIFICATES if os.environ.get(name))
    project = ProjectSettings(
        name=PROJECT,
        repository=str(stack.repository),
        base="main",
        setup=(f"{told} {stack.command}".strip(),) if stack.command else (),
        verify=False,  # type: ignore[arg-type]
        pool=pool,
    )
    return Settings.model_construct(
        state_dir=here / f"state-{pool}",
        limits=LimitSettings(free_disk_gb=0),
        budget=BudgetSettings(per_issue_usd=0, per_day_usd=0),
        sandbox=SandboxSettings(setup_hosts=tuple(sorted(stack.hosts)), tools=stack.tools),
        projects=(project,),
    )


def _open_up(wired: App, hosts: Sequence[str] | frozenset[str]) -> None:
    sandbox = wired.agent._sandbox
    assert isinstance(sandbox, Bubblewrap)
    away = [host for host in hosts if not all(map(is_public, _addresses(host)))]
    if away:
        print(f"the proxy may connect to {len(away)} hosts that are not public here", file=sys.stderr)
        sandbox._proxy = SandboxProxy(sandbox._proxy._upstream, network=Network(is_public=lambda _: True))


def _addresses(host: str) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)]


def _by_hand(stack: Stack, here: Path) -> float:
    place = here / "by-hand" / "worktree"
    told = {name: str(here / "by-hand" / kept) for name, kept in stack.caches.items()}
    path = ":".join((*map(str, stack.tools), os.environ["PATH"]))
    began = time.perf_counter()
    plain_git(stack.repository, "worktree", "add", "-q", "--detach", str(place), "main")
    if stack.command:
        _run(stack.command, place, {**os.environ, **told, "PATH": path})
    seconds = time.perf_counter() - began
    shutil.rmtree(place)
    plain_git(stack.repository, "worktree", "prune")
    return seconds


def _run(command: str, folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]


def _python(folder: Path) -> Stack:
    tools, wanted = _uv(), "".join(f"    {json.dumps(name)},\n" for name in _PYTHON)
    project = f'[project]\nname = "shop"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = [\n{wanted}]\n'
    files = {"pyproject.toml": project, ".gitignore": ".venv/\n"}
    repository = _repository(folder / "python", files, f"{tools}/uv lock")
    hosts = set(re.findall(r"https?://[^/\"]+", (repository / "uv.lock").read_text()))
    named = frozenset(filter(None, (urlsplit(url).hostname for url in hosts)))
    kept = {"UV_CACHE_DIR": "uv"}
    return Stack("uv", repository, "UV_LINK_MODE=copy uv sync --frozen", (tools,), named, kept)


def _uv() -> Path:
    """Returns the folder with uv, which is kept for the next time. The sandbox does not see the machine's `/tmp`."""
    if found := shutil.which("uv"):
        return Path(found).resolve().parent
    kept = Path.home() / ".cache" / "treehand-bench" / "uv"
    if not (kept / "bin" / "uv").exists():
        words = (sys.executable, "-m", "pip", "install", "-q", "--target", str(kept), "uv")
        subprocess.run(words, check=True, capture_output=True)
    return kept / "bin"


def _node(folder: Path) -> Stack:
    manifest = {"name": "shop", "version": "0.1.0", "private": True, "dependencies": _NODE}
    files = {"package.json": json.dumps(manifest), ".gitignore": "node_modules/\n"}
    repository = _repository(folder / "node", files, "npm install --package-lock-only --ignore-scripts --no-audit")
    asked = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, check=True).stdout
    lock = (repository / "package-lock.json").read_text()
    urls = [asked.strip(), *re.findall(r'"resolved": "(https?://[^/"]+)', lock)]
    named = frozenset(filter(None, (urlsplit(url).hostname for url in urls)))
    program = Path(shutil.which("node") or "/usr/bin/node").resolve().parent
    tools = () if program.is_relative_to("/usr") else (program.parent,)
    return Stack("npm", repository, "npm ci --no-audit --no-fund", tools, named, {"npm_config_cache": "npm"})


def _plain(folder: Path) -> Stack:
    make_repository(folder / "plain", FILES)
    return Stack("20,000 files", folder / "plain")


def _repository(folder: Path, files: Mapping[str, str], lock: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    _run(lock, folder, os.environ)
    plain_git(folder, "init", "-q", "-b", "main")
    plain_git(folder, "add", "-A")
    plain_git(folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "first")
    return folder

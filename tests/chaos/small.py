"""Small daemon: the real engine, store, GitHub client and git workspaces in compressed time, with an instant agent.

`python -m tests.chaos.small` is the process that forks small daemons: it has imported everything already. It starts one
daemon per input line and prints its pid and, when it has ended, its exit code.
"""

import asyncio
import ctypes
import json
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.domain.branch_name import branch_for
from bot.domain.policy import Policy
from bot.domain.remote import Remote
from bot.engine.loop import Engine
from bot.engine.run_turn import TurnRunner
from bot.engine.schedule import Capacity
from bot.errors import BotError, Retryable
from bot.executors.local import LocalExecutor
from bot.ports import Ports, Project
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_or_replace_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from bot.services.linear.tracker import LinearTracker
from bot.settings.credentials import daemon_id
from bot.store.runs import RunStore
from bot.system.locks import daemon_lock
from bot.workspace.lease import DaemonId, GitLease
from bot.workspace.lease_ref import LeaseRef
from bot.workspace.workspaces import GitWorkspaces
from tests.chaos.hands import BILL, Hand, MoodyHand
from tests.chaos.small_linear import linear_tracker
from tests.chaos.tempo import Tempo

REPOSITORY = "acme/shop"
LABEL = "ai"
WORKING = 4
_SECRET = b"of all small daemons"
"""As operators give one to daemons that share a repository."""
_POLL = 30.0
_PR_SET_PDEATHSIG = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Life:
    """All parameters that a daemon gets at its start."""

    folder: str
    url: str
    repository: str
    """Its folder on the disk."""
    token: str
    origin: float
    speed: float
    claim_seconds: float = 180.0
    """Twice the default: renewing it takes its time by itself."""
    traced: bool = False
    """Waits for a tracer before it does anything."""
    mood: str = ""
    """Seed of agents that take their time, ask, fail or change nothing; empty: they are done at once."""
    working: int = WORKING
    usd_a_day: float = 0.0
    usd_an_issue: float = 0.0
    quiet_seconds: float = 0.0
    linear_url: str = ""
    """Empty: the issues are on GitHub."""
    linear_token: str = ""

    @property
    def state_dir(self) -> Path:
        return Path(self.folder) / "state"

    @property
    def tempo(self) -> Tempo:
        return Tempo(self.origin, self.speed)


class Near(GitHubForge):
    """Fetches by the path of the repository, which costs less than HTTP; pushes as always."""

    def __init__(self, repository: GitHubRepository, *, api_url: str, path: str) -> None:
        super().__init__(repository, api_url=api_url)
        self._path = path

    async def remote(self) -> Remote:
        there = await super().remote()
        count = int(there.env["GIT_CONFIG_COUNT"])
        aside = {f"GIT_CONFIG_KEY_{count}": f"url.{there.url}.pushInsteadOf", f"GIT_CONFIG_VALUE_{count}": self._path}
        return Remote(self._path, {**there.env, **aside, "GIT_CONFIG_COUNT": str(count + 1)})


async def _by_hand(branch: str, session: str, *, again: bool) -> str:
    return ""


@dataclass(frozen=True)
class Small:
    engine: Engine
    project: Project
    store: RunStore
    executor: LocalExecutor
    woken: asyncio.Event

    async def live(self, tempo: Tempo, stopping: asyncio.Event) -> None:
        """Runs like the daemon: repairs the state of an earlier process, then ticks whenever something changed."""
        await self._sweep()
        while not stopping.is_set():
            self.woken.clear()
            try:
                await self.engine.tick()
            except Retryable as problem:
                _log.warning("postponed tick reason=%s", problem)
            await self._pause(tempo)

    async def _sweep(self) -> None:
        try:
            await self.project.workspaces.sweep([branch_for(run) for run in self.store.active()])
        except Retryable as problem:
            _log.warning("sweep postponed reason=%s", problem)

    async def _pause(self, tempo: Tempo) -> None:
        try:
            async with asyncio.timeout(_POLL / tempo.speed):
                await self.woken.wait()
        except TimeoutError:
            self.engine.expect_news()

    async def drain(self) -> None:
        await self.executor.drain(5.0)
        await self.engine.park()
        self.engine.abandon()
        if self.project.lease:
            await self.project.lease.release()


class Fence:
    """Interrupts between acquiring the lease and writing under it."""

    claim: GitLease | None = None

    def check(self, _: str) -> None:
        if self.claim:
            self.claim.check()


@asynccontextmanager
async def wired(life: Life) -> AsyncIterator[Small]:
    tempo, woken, fence = life.tempo, asyncio.Event(), Fence()
    store = RunStore.open_as_owner(life.state_dir / "treehand.db", str, at=tempo.now())
    memory = open_or_replace_cache(life.state_dir / "github.db", at=tempo.now())
    async with AsyncExitStack() as stack:
        service = GitHubClient(
            life.url, TokenCredential(life.token), memory, clock=tempo.now, sleep=tempo.sleep, fence=fence.check
        )
        await stack.enter_async_context(service)
        repository = GitHubRepository(service, REPOSITORY, memory, rules=RepositoryRules(LABEL), secret=_SECRET)
        tracker = await stack.enter_async_context(_tracker(life, repository, fence))
        project = _project(life, repository, tracker, fence)
        bill = Path(life.folder) / BILL
        hand = MoodyHand(tempo, bill, life.mood) if life.mood else Hand(tempo, bill)
        taker = TurnRunner({"shop": project}.__getitem__, hand, life.state_dir / "homes")
        executor = await stack.enter_async_context(
            LocalExecutor(taker, turn_store=store, on_change=woken.set, transcript=lambda *_: None, clock=tempo.now)
        )
        outside = Ports({"shop": project}, executor, store)
        engine = Engine(outside, clock=tempo.now, capacity=lambda: Capacity(life.working), on_change=woken.set)
        yield Small(await stack.enter_async_context(engine), project, store, executor, woken)
    store.close()
    memory.close()


@asynccontextmanager
async def _tracker(
    life: Life, repository: GitHubRepository, fence: Fence
) -> AsyncIterator[GitHubTracker | LinearTracker]:
    if not life.linear_url:
        yield GitHubTracker(repository)
        return
    async with linear_tracker(life, _SECRET, LABEL, fence=lambda: fence.check("")) as tracker:
        yield tracker


def _project(life: Life, repository: GitHubRepository, tracker: GitHubTracker | LinearTracker, fence: Fence) -> Project:
    forge, workspaces = Near(repository, api_url=life.url, path=life.repository), GitWorkspaces(life.state_dir, "shop")
    own = DaemonId(daemon_id(life.state_dir))
    fence.claim = GitLease(
        LeaseRef(workspaces.mirror),
        forge.remote,
        own=own,
        seconds=life.claim_seconds,
        clock=life.tempo.now,
        quiet_seconds=life.claim_seconds * 2,
    )
    workspaces.mirror.check_lease = fence.claim.check
    return Project(
        "shop",
        tracker,
        forge,
        workspaces,
        Policy(
            label=LABEL,
            max_working=life.working,
            max_working_per_project=life.working,
            review_quiet_seconds=life.quiet_seconds,
            per_day_usd=life.usd_a_day,
            per_issue_usd=life.usd_an_issue,
        ),
        _by_hand,
        issue_states=tracker if isinstance(tracker, LinearTracker) else None,
        lease=fence.claim,
    )


async def _lived(life: Life) -> None:
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    async with wired(life) as small:

        def stop() -> None:
            stopping.set()
            small.woken.set()

        loop.add_signal_handler(signal.SIGTERM, stop)
        await small.live(life.tempo, stopping)
        await small.drain()


def _begin(life: Life) -> None:
    """Runs in the child: from here on it is a daemon like any other."""
    _die_with_our_parent()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # as the real one: nothing is begun yet
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    told = os.open(Path(life.folder) / "daemon.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for ours, theirs in ((nothing, 0), (told, 1), (told, 2)):
        os.dup2(ours, theirs)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if life.traced:
        _wait_for_tracer()
    with daemon_lock(life.state_dir):
        asyncio.run(_lived(life))


def _wait_for_tracer() -> None:
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
        time.sleep(0.002)


def _die_with_our_parent() -> None:
    """Leaves no process behind when a test is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    _die_with_our_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until a child can take it
    for line in sys.stdin:
        life = Life(**json.loads(line))
        pid = os.fork()
        if not pid:
            code = 1
            try:
                _begin(life)
                code = 0
            except BotError as problem:
                _log.error("%s", problem)
            except BaseException:  # noqa: BLE001 - whatever it was, the child must not go on as its parent
                _log.exception("the daemon fell")
            finally:
                os._exit(code)
        _say(pid)
        _say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _say(number: int) -> None:
    print(number, flush=True)


def line_for(life: Life) -> bytes:
    return f"{json.dumps(asdict(life))}\n".encode()


def command() -> Sequence[str]:
    return (sys.executable, "-m", "tests.chaos.small")


if __name__ == "__main__":
    main()

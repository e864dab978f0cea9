"""Runs a server in a run's worktree for a person who wants to look at the work, until it or the run ends.

Rule: it runs an agent's work, so it runs in a sandbox like the agent's own commands, without a model. Each worktree has
one server at a time.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.setup_plan import SetupStep
from bot.domain.turn import WorktreeMounts
from bot.errors import NeedsHuman
from bot.sandbox.interface import CommandSandbox, Sandbox
from bot.setup.environment import cache_variables, worktree_variables
from bot.setup.resources import TRASH
from bot.setup.run_command import CommandOutcome, SetupCommand, run_command
from bot.system.processes import end_processes
from bot.system.trash import discard

_CHECK_SECONDS = 0.5
_MAX_CHECKS = 10
_KILLED_CODES = frozenset({None, -15, -9, 128 + 15, 128 + 9})
"""Exit codes of a command that another process has killed; None: together with its sandbox."""


@dataclass(frozen=True, slots=True)
class ServerJob:
    """Worktree, ports and marker of a server."""

    branch: str
    mounts: WorktreeMounts
    home: Path
    """Home of the server; removed when it ends."""
    cache: Path | None
    ports: Sequence[int]
    marker: str

    @property
    def address(self) -> str:
        """Uses the name `localhost`: a browser does not send it the cookies of the dashboard at 127.0.0.1."""
        return f"http://localhost:{self.ports[0]}/"


def server_marker(marker_prefix: str, branch: str) -> str:
    """Marker of its processes. Its prefix keeps a starting daemon from killing them as leftovers."""
    return f"show-{marker_prefix}:{branch}"


async def end_servers(marker_prefix: str, branch: str) -> None:
    """Ends all servers in a branch's worktree."""
    await end_processes(server_marker(marker_prefix, branch).__eq__)


async def run_server(
    job: ServerJob,
    step: SetupStep,
    sandboxes: Sandbox,
    *,
    on_ready: Callable[[], None],
    on_output: Callable[[bytes], None],
    is_over: Callable[[], bool],
) -> CommandOutcome | None:
    """Returns the server's outcome; None if `is_over` became true. Stops the server first if cancelled.

    `on_ready` is called when its ports are open.
    """
    async with _open_sandbox(job, sandboxes) as sandbox:
        on_ready()
        services = job.mounts.services
        variables = {
            **worktree_variables(job.branch, job.ports),
            **(services.variables if services else {}),
            **(cache_variables(job.cache) if job.cache else {}),
        }
        environment = {**variables, "BROWSER": "none"}
        folder = job.mounts.folder / step.folder
        command = SetupCommand(step.command, folder, environment, job.marker, on_output=on_output)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(_run(command, sandbox))
            watching = group.create_task(_wait_until(is_over))
            await asyncio.wait([running, watching], return_when=asyncio.FIRST_COMPLETED)
            ended = running.done()
            for task in (running, watching):
                task.cancel()
        outcome = running.result() if ended else None
    if isinstance(outcome, NeedsHuman):
        raise outcome
    return None if outcome and outcome.code in _KILLED_CODES and await _ends_soon(is_over) else outcome


async def _ends_soon(is_over: Callable[[], bool]) -> bool:
    """A removed worktree: its processes are ended first, and `is_over` turns true shortly afterwards."""
    for _ in range(_MAX_CHECKS):
        if is_over():
            return True
        await asyncio.sleep(_CHECK_SECONDS)
    return False


async def _run(command: SetupCommand, sandbox: CommandSandbox) -> CommandOutcome | NeedsHuman:
    """Returns its error as a value, because a task group would wrap it."""
    try:
        return await run_command(command, sandbox, seconds=None)
    except NeedsHuman as problem:
        return problem


@asynccontextmanager
async def _open_sandbox(job: ServerJob, sandboxes: Sandbox) -> AsyncIterator[CommandSandbox]:
    job.home.mkdir(parents=True, exist_ok=True)
    with _exclusive(job.home):
        try:
            async with sandboxes.open_test(job.mounts, job.home, job.cache, job.marker, ports=job.ports) as sandbox:
                yield sandbox
        finally:
            await asyncio.to_thread(discard, job.home, job.home.parents[1] / TRASH)


@contextmanager
def _exclusive(home: Path) -> Iterator[None]:
    """A second server would take the first one's ports, and remove its home when it ends."""
    opened = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(opened)
        yield
    finally:
        os.close(opened)


def _lock(opened: int) -> None:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise NeedsHuman(
            "A server of this run is already running, and a worktree can have only one: stop it first."
        ) from exc


async def _wait_until(is_over: Callable[[], bool]) -> None:
    while not is_over():  # noqa: ASYNC110 - other processes do the work
        await asyncio.sleep(_CHECK_SECONDS)

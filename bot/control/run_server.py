"""Runs a server in a run's worktree, for a person to look at the work; with or without a daemon.

Rule: files that a server changes belong to no commit. That is recorded only while the worktree has no uncommitted work
of an agent.
"""

import asyncio
import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.domain.branch_name import branch_for
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.setup_plan import SetupPlan, SetupStep
from bot.errors import NeedsHuman, Retryable
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import overrides_of, services_for
from bot.workspace.paths import BASES, BranchPaths, ProjectPaths

if TYPE_CHECKING:
    from bot.sandbox.interface import Sandbox
    from bot.setup.run_server import ServerJob

FindRun = Callable[[str], Run | None]

_LONGEST_LINE = 10_000


@dataclass(frozen=True, slots=True)
class RunServer:
    """The servers of one run."""

    settings: Settings
    project: ProjectSettings
    run: Run

    @property
    def has_worktree(self) -> bool:
        return self.run.phase is not Phase.DONE and self._place.folder.is_dir()

    @property
    def base(self) -> str:
        """Commit that the run started from; empty if unknown."""
        from bot.git.commit_files import resolve_commit

        mirror = self._places.mirror
        return resolve_commit(mirror, f"{BASES}{self._place.branch}") if mirror.exists() else ""

    @property
    def servers(self) -> Mapping[str, SetupStep]:
        """Keyed by name, as the base commit defines them."""
        return self.servers_at(self.base)

    def servers_at(self, base: str) -> Mapping[str, SetupStep]:
        return self._plan_at(base).servers if base else {}

    def _plan_at(self, base: str) -> SetupPlan:
        from bot.git.commit_files import read_commit_files
        from bot.setup.plan import plan_setup
        from bot.setup.repository_files import RepositoryFiles

        found = read_commit_files(self._places.mirror, base)
        return plan_setup(RepositoryFiles(found.names, found.read), overrides_of(self.project))

    async def run_to_end(
        self,
        name: str,
        *,
        on_start: Callable[[str, SetupStep], None],
        on_output: Callable[[Sequence[str]], None],
        find_run: FindRun,
    ) -> str:
        """Returns the reason of its end, in words. `on_start` gets the address and the command."""
        from bot.setup.run_server import run_server

        step, job, sandbox = await asyncio.to_thread(self._prepare, name)
        lines, identity = LineReader(), _identity_of(self._place.folder)
        ended = await run_server(
            job,
            step,
            sandbox,
            on_ready=lambda: on_start(job.address, step),
            on_output=lambda data: on_output(lines.feed(data)),
            is_over=lambda: self._is_over(find_run, identity),
        )
        on_output(lines.flush())
        if ended is None:
            return f"{self.run.key} is over, or its worktree is no longer free"
        return "ended by the host" if ended.code is None else f"ended with exit code {ended.code}"

    def _prepare(self, name: str) -> tuple[SetupStep, "ServerJob", "Sandbox"]:
        from bot.sandbox.build import build_sandbox

        step, job = self._step(name), self._job(self.base)
        if self.run.phase is Phase.REVIEW:
            self._mark_as_tested()
        return step, job, build_sandbox(self.settings, {})

    @property
    def _places(self) -> ProjectPaths:
        return ProjectPaths(self.settings.state_dir, self.project.name)

    @property
    def _place(self) -> BranchPaths:
        return self._places.for_branch(branch_for(self.run))

    def _step(self, name: str) -> SetupStep:
        if not self.has_worktree:
            raise NeedsHuman(f"{self.run.key} has no worktree now, so no server can run in it.")
        if other := _who_works_in(self.run):
            raise NeedsHuman(f"{other} works in the worktree of {self.run.key} now, so no server can run in it.")
        servers = self.servers
        if step := servers.get(name):
            return step
        known = "; ".join(f"{one}: {step}" for one, step in servers.items())
        raise NeedsHuman(
            f"{self.run.key} has no server named {name}. Its servers: {known}."
            if known
            else f'{self.run.key} has no server. Name one in the settings: `run = {{{name} = "..."}}`.'
        )

    def _job(self, base: str) -> "ServerJob":
        from bot.setup.port_blocks import PortBlocks
        from bot.setup.run_server import ServerJob, server_marker
        from bot.system.processes import state_dir_id
        from bot.workspace.setup_record import read_setup_record

        place, caches = self._place, self.settings.state_dir / "caches" / self.project.name
        own, shared = caches / "runs" / place.folder.name, caches / "shared"
        cache = next((one for one in (own, shared) if one.is_dir()), None)
        owner = state_dir_id(self.settings.state_dir / "agent")
        toolchains = tuple(map(Path, read_setup_record(place.admin).toolchains))
        services = services_for(self.settings, self._plan_at(base), caches / "services" / place.folder.name)
        return ServerJob(
            place.branch,
            replace(place.mounts(self._places.mirror), toolchains=toolchains, services=services),
            caches / "shows" / place.folder.name,
            cache,
            PortBlocks(self.settings.state_dir / "ports").allocate(place.folder),
            server_marker(owner, place.branch),
        )

    def _mark_as_tested(self) -> None:
        """All of the agent's work is committed, so the next turn ignores what the server changes."""
        from bot.git.commit_files import resolve_commit
        from bot.workspace.setup_record import read_setup_record, write_setup_record

        tip = resolve_commit(self._places.mirror, f"refs/heads/{self._place.branch}")
        provision = read_setup_record(self._place.admin)
        if tip and not provision.is_half:
            write_setup_record(self._place.admin, replace(provision, tried=tip))

    def _is_over(self, find_run: FindRun, identity: tuple[int, int]) -> bool:
        try:
            now = find_run(self.run.key)
        except Retryable:  # the next call comes soon
            return False
        if now is None or now.id != self.run.id or now.phase is Phase.DONE or _who_works_in(now):
            return True
        return _identity_of(self._place.folder) != identity


def _who_works_in(run: Run) -> str:
    """Returns who works in the worktree; empty if nobody does. A server may change files, so it must not run then."""
    if run.wait_reason is WaitReason.TAKEN_OVER:
        return "A person"
    return "The agent" if run.phase is Phase.WORKING else ""


class LineReader:
    """Splits a program's output into lines. A line that grows too long is split without waiting for its end."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def feed(self, data: bytes) -> Sequence[str]:
        """Returns the lines that are complete now."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = ""
        return [line.rstrip("\r") for line in lines]

    def flush(self) -> Sequence[str]:
        """Returns the last line, if nothing ended it."""
        rest, self._rest = self._rest, ""
        return [rest] if rest else []


def _identity_of(folder: Path) -> tuple[int, int]:
    """Device and inode; zeros if the folder does not exist."""
    try:
        status = folder.lstat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino

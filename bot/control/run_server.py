"""What a person can start in a run's worktree to look at the work, by which settings; beside a daemon or without one.

Rule: the worktree is another's. What is noted of it here is that whatever changes is nobody's work, and only where no
agent's work lies in it uncommitted.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.control.lines import Lines
from bot.domain.names import branch_for
from bot.domain.run import Phase, Run
from bot.domain.setup_plan import Step
from bot.errors import NeedsHuman, Retryable
from bot.settings import ProjectSettings, Settings
from bot.setup.build import wishes_of
from bot.workspace.paths import BASES, Place, Places

if TYPE_CHECKING:
    from bot.sandbox.interface import Sandbox
    from bot.setup.run_server import Stage

FindRun = Callable[[str], Run | None]


@dataclass(frozen=True, slots=True)
class Viewing:
    """One run, for somebody to look at."""

    settings: Settings
    project: ProjectSettings
    run: Run

    @property
    def has_worktree(self) -> bool:
        return self.run.phase is not Phase.DONE and self._place.folder.is_dir()

    @property
    def base(self) -> str:
        """The commit that the run started from; empty: none is known."""
        from bot.git.commit_files import find_commit

        mirror = self._places.mirror
        return find_commit(mirror, f"{BASES}{self._place.branch}") if mirror.exists() else ""

    @property
    def servers(self) -> Mapping[str, Step]:
        """By name, as that commit has them."""
        return self.servers_at(self.base)

    def servers_at(self, base: str) -> Mapping[str, Step]:
        from bot.git.commit_files import committed
        from bot.setup.plan import recipe_for
        from bot.setup.repository_files import Files

        if not base:
            return {}
        found = committed(self._places.mirror, base)
        return recipe_for(Files(found.names, found.read), wishes_of(self.project)).servers

    async def show(
        self,
        name: str,
        *,
        begun: Callable[[str, Step], None],
        heard: Callable[[Sequence[str]], None],
        find_run: FindRun,
    ) -> str:
        """Why it ended, in words. `begun` is told the address and the command, `heard` the lines that it prints."""
        from bot.setup.run_server import show

        step, stage, sandbox = await asyncio.to_thread(self._prepared, name)
        lines, identity = Lines(), _identity_of(self._place.folder)
        ended = await show(
            stage,
            step,
            sandbox,
            begun=lambda: begun(stage.address, step),
            heard=lambda data: heard(lines.more(data)),
            is_over=lambda: self._is_over(find_run, identity),
        )
        heard(lines.last())
        if ended is None:
            return f"{self.run.key} is over, or its worktree has gone"
        return "ended by the host" if ended.code is None else f"ended with exit code {ended.code}"

    def _prepared(self, name: str) -> tuple[Step, "Stage", "Sandbox"]:
        from bot.sandbox.build import sandbox_of

        step, stage = self._step(name), self._stage()
        if self.run.phase is Phase.REVIEW:
            self._note()
        return step, stage, sandbox_of(self.settings, {})

    @property
    def _places(self) -> Places:
        return Places(self.settings.state_dir, self.project.name)

    @property
    def _place(self) -> Place:
        return self._places.of(branch_for(self.run))

    def _step(self, name: str) -> Step:
        if not self.has_worktree:
            raise NeedsHuman(f"{self.run.key} has no worktree now, so there is nothing to look at.")
        servers = self.servers
        if step := servers.get(name):
            return step
        known = "; ".join(f"{one}: {step}" for one, step in servers.items())
        raise NeedsHuman(
            f"{self.run.key} has nothing called {name} to run. There is: {known}."
            if known
            else f'{self.run.key} has nothing to run. Name a command: `run = {{{name} = "..."}}` in its project.'
        )

    def _stage(self) -> "Stage":
        from bot.setup.port_blocks import Blocks
        from bot.setup.run_server import Stage, marker_for
        from bot.system.processes import house_of

        place, caches = self._place, self.settings.state_dir / "caches" / self.project.name
        own, shared = caches / "runs" / place.folder.name, caches / "shared"
        cache = next((one for one in (own, shared) if one.is_dir()), None)
        house = house_of(self.settings.state_dir / "agent")
        return Stage(
            place.branch,
            place.ground(self._places.mirror),
            caches / "shows" / place.folder.name,
            cache,
            Blocks(self.settings.state_dir / "ports").block_for(place.folder),
            marker_for(house, place.branch),
        )

    def _note(self) -> None:
        """All of an agent's work is committed, so what comes now is none of it; the next turn takes note of it."""
        from bot.git.commit_files import find_commit
        from bot.workspace.setup_record import read_provision, write_provision

        tip = find_commit(self._places.mirror, f"refs/heads/{self._place.branch}")
        provision = read_provision(self._place.admin)
        if tip and not provision.is_half:
            write_provision(self._place.admin, replace(provision, tried=tip))

    def _is_over(self, find_run: FindRun, identity: tuple[int, int]) -> bool:
        try:
            now = find_run(self.run.key)
        except Retryable:  # the next look tells
            return False
        is_ours = now is not None and now.id == self.run.id and now.phase is not Phase.DONE
        return not is_ours or _identity_of(self._place.folder) != identity


def _identity_of(folder: Path) -> tuple[int, int]:
    """None of ours, if it is not there."""
    try:
        status = folder.lstat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino

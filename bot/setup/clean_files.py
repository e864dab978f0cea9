"""Gives each test command files of its own: the worktree as setup left it, a home, and nothing of the command before.

Rule: setup may have run an agent's code in the worktree, so the host does not read it: a command of ours copies it, in
a sandbox.
"""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.turn import WorktreeMounts
from bot.git.in_thread import in_thread
from bot.sandbox.interface import CommandSandbox
from bot.sandbox.mount_plan import SERVICES
from bot.setup.resources import SetupResources
from bot.setup.run_command import SetupCommand, run_command
from bot.setup.start_services import at_rest


@dataclass(frozen=True, slots=True)
class CleanFiles:
    """Opens sandboxes in one prepared worktree."""

    resources: SetupResources
    mounts: WorktreeMounts
    cache: Path | None
    marker: str

    async def copy_worktree(self) -> str:
        """Makes the copies that the next sandbox shows. Returns the reason if that failed, else nothing."""
        copy = self.resources.test_copy(self.mounts.folder)
        reason = await self._copy(replace(self.mounts, services=None), ".", copy)
        if reason or not self.mounts.services:
            return reason
        resting = replace(self.mounts, services=at_rest(self.mounts.services))
        return await self._copy(resting, SERVICES, self.resources.service_copy(self.mounts.folder))

    async def _copy(self, mounts: WorktreeMounts, source: str, copy: Path) -> str:
        await in_thread(self.resources.discard, copy)
        copy.mkdir(parents=True)
        async with self.resources.sandbox.open_setup(mounts, copy, self.marker, network=False) as opened:
            text = f"cp -a {source}/. {shlex.quote(str(copy))}"
            command = SetupCommand(text, mounts.folder, opened.environment, self.marker)
            outcome = await run_command(command, opened, seconds=self.resources.setup_seconds)
            if outcome.code == 0:
                return ""
            return opened.kill_reason or self.resources.secrets.redact(outcome.output) or "time limit"

    @asynccontextmanager
    async def open_sandbox(self, *, is_copy: bool) -> AsyncIterator[CommandSandbox]:
        """`is_copy`: shows the copy in the place of the worktree. Copy and home are removed at the end."""
        resources, mounts = self.resources, self.mounts
        home, copy = resources.test_home(mounts.folder), resources.test_copy(mounts.folder)
        data = resources.service_copy(mounts.folder)
        home.mkdir(parents=True, exist_ok=True)
        shown = copy if is_copy else None
        if is_copy and mounts.services:
            mounts = replace(mounts, services=replace(mounts.services, data=data))
        try:
            async with resources.sandbox.open_test(mounts, home, self.cache, self.marker, shown=shown) as sandbox:
                yield sandbox
        finally:
            for gone in (home, copy, data):
                await in_thread(resources.discard, gone)

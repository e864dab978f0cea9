"""Gives each test command files of its own: the worktree as setup left it, a home, and nothing of the command before.

Rule: setup may have run an agent's code in the worktree, so the host does not read it: a command of ours copies it, in
a sandbox.
"""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import WorktreeMounts
from bot.git.in_thread import in_thread
from bot.sandbox.interface import CommandSandbox
from bot.setup.resources import SetupResources
from bot.setup.run_command import SetupCommand, run_command


@dataclass(frozen=True, slots=True)
class CleanFiles:
    """Opens sandboxes in one prepared worktree."""

    resources: SetupResources
    mounts: WorktreeMounts
    cache: Path | None
    marker: str

    async def copy_worktree(self) -> str:
        """Makes the copy that the next sandbox shows. Returns the reason if that failed, else nothing."""
        copy = self.resources.test_copy(self.mounts.folder)
        await in_thread(self.resources.discard, copy)
        copy.mkdir(parents=True)
        sandbox = self.resources.sandbox
        async with sandbox.open_setup(self.mounts, copy, self.marker, network=False) as opened:
            text = f"cp -a ./. {shlex.quote(str(copy))}"
            command = SetupCommand(text, self.mounts.folder, opened.environment, self.marker)
            outcome = await run_command(command, opened, seconds=self.resources.setup_seconds)
            if outcome.code == 0:
                return ""
            return opened.kill_reason or self.resources.secrets.redact(outcome.output) or "time limit"

    @asynccontextmanager
    async def open_sandbox(self, *, is_copy: bool) -> AsyncIterator[CommandSandbox]:
        """`is_copy`: shows the copy in the place of the worktree. Copy and home are removed at the end."""
        home, copy = self.resources.test_home(self.mounts.folder), self.resources.test_copy(self.mounts.folder)
        home.mkdir(parents=True, exist_ok=True)
        shown = copy if is_copy else None
        try:
            async with self.resources.sandbox.open_test(
                self.mounts, home, self.cache, self.marker, shown=shown
            ) as sandbox:
                yield sandbox
        finally:
            for gone in (home, copy):
                await in_thread(self.resources.discard, gone)

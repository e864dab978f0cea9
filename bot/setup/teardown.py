"""Teardown: runs the commands that a project wants run before its worktree is removed, with one time limit for all."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from bot.sandbox.interface import CommandSandbox
from bot.setup.run_command import CommandOutcome, SetupCommand, run_command

TEARDOWN_SECONDS = 60.0


async def run_teardown(commands: Iterable[SetupCommand], sandbox: CommandSandbox) -> AsyncIterator[CommandOutcome]:
    """Yields the outcome of each command that failed."""
    clock = asyncio.get_running_loop().time
    end = clock() + TEARDOWN_SECONDS
    for command in commands:
        outcome = await run_command(command, sandbox, seconds=max(end - clock(), 0.0))
        if outcome.code != 0:
            yield outcome

"""One machine with a small daemon, forked in milliseconds from a process that stays alive."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.chaos import small
from tests.chaos.machine import Daemon, Machine


@dataclass
class Child:
    pid: int
    over: asyncio.Future[int]

    @property
    def returncode(self) -> int | None:
        return self.over.result() if self.over.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self.over)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)


@dataclass
class Nursery:
    """Forks one child at a time."""

    process: Process
    group: asyncio.TaskGroup

    async def bear(self, life: small.Life) -> Child:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(small.line_for(life))
        child = Child(int(await self.process.stdout.readline()), asyncio.get_running_loop().create_future())
        self.group.create_task(self._watch(child))
        return child

    async def _watch(self, child: Child) -> None:
        assert self.process.stdout
        child.over.set_result(int(await self.process.stdout.readline() or -signal.SIGKILL))


@asynccontextmanager
async def nurseries(count: int) -> AsyncIterator[list[Nursery]]:
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": os.devnull}
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        made = []
        for _ in range(count):
            process = await asyncio.create_subprocess_exec(*small.command(), env=env, stdin=PIPE, stdout=PIPE)
            stack.push_async_callback(process.wait)
            stack.callback(process.stdin.close)
            made.append(Nursery(process, group))
        yield made


@dataclass
class Sample:
    """Resources of an idle daemon."""

    files: int
    threads: int
    children: int
    memory_mb: float
    worktrees: int


@dataclass
class ForkedMachine(Machine):
    nursery: Nursery | None = None
    life: small.Life | None = None

    async def _begun(self, log: TextIO) -> Daemon:
        assert self.nursery
        assert self.life
        return await self.nursery.bear(self.life)

    def pause(self) -> None:
        """Suspends the process without its knowledge."""
        self._send(signal.SIGSTOP, "paused")

    def go_on(self) -> None:
        self._send(signal.SIGCONT, "went on")

    def _send(self, number: signal.Signals, what: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        self.history.note(what, machine=self.folder.name, pid=self.pid)

    def sample(self) -> Sample:
        about = Path(f"/proc/{self.pid}")
        status = dict(line.split(":", 1) for line in (about / "status").read_text().splitlines())
        worktrees = self.state_dir / "worktrees"
        return Sample(
            files=len(list((about / "fd").iterdir())),
            threads=int(status["Threads"]),
            children=len((about / "task" / str(self.pid) / "children").read_text().split()),
            memory_mb=round(int(status["VmRSS"].split()[0]) / 1024, 1),
            worktrees=len(list(worktrees.glob("*/*"))) if worktrees.is_dir() else 0,
        )

"""Resource limits of a sandbox: memory, processes, file size and free disk; ends a turn that exceeds them.

`init_process.py` sets the limits of each process; the memory of all processes together, and the disk, are watched here.
"""

import asyncio
import contextlib
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import Failure
from bot.sandbox.memory_use import memory_of
from bot.system.processes import find_processes

_INTERVAL_SECONDS = 2.0

EndSandbox = Callable[[Failure, str], None]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of each process; 0: no limit."""

    memory_bytes: int = 0
    processes: int = 0
    file_bytes: int = 0
    scratch_bytes: int = 1 << 30
    """Size of each folder that lives in memory, such as /tmp."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of all processes of a turn together; 0: no limit."""

    memory_bytes: int = 0
    free_disk_bytes: int = 0
    """Must stay free on the disk."""


@contextlib.contextmanager
def watch_resources(marker: str, limits: ResourceLimits, folder: Path, end: EndSandbox) -> Iterator[None]:
    """While the block runs: kills all processes that carry `marker` when they exceed `limits`; calls `end`."""
    loop = asyncio.get_running_loop()
    over = False

    def check() -> None:
        if not over:  # in a thread: many processes take a while to read
            loop.run_in_executor(None, _find_excess, marker, limits, folder).add_done_callback(judge)

    def judge(found: asyncio.Future[tuple[Failure, str]]) -> None:
        if over:
            return
        failure, reason = found.result()
        if reason:
            end(failure, reason)
            for process in find_processes(marker.__eq__):
                process.send(signal.SIGKILL)
        loop.call_later(_INTERVAL_SECONDS, check)

    loop.call_later(_INTERVAL_SECONDS, check)
    try:
        yield
    finally:
        over = True


def _find_excess(marker: str, limits: ResourceLimits, folder: Path) -> tuple[Failure, str]:
    if limits.free_disk_bytes and shutil.disk_usage(folder).free < limits.free_disk_bytes:
        return Failure.DISK, f"The disk was almost full: less than {limits.free_disk_bytes / 1e9:g} GB were left."
    if limits.memory_bytes and memory_of(find_processes(marker.__eq__)) > limits.memory_bytes:
        most = f"{limits.memory_bytes / 1e9:g}"
        return Failure.AGENT, f"Its programs used more than the {most} GB of memory they may (`sandbox.memory_gb`)."
    return Failure.NONE, ""

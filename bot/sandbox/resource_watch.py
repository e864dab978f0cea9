"""Watches from outside what limits inside cannot hold: the memory of all programs of a turn together, and the disk."""

import asyncio
import contextlib
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import Failure
from bot.system.processes import family

_SECONDS = 2.0
_HELD = ("Pss_Anon:", "Pss_Shmem:")

End = Callable[[Failure, str], None]


@dataclass(frozen=True, slots=True)
class Allowance:
    """0: no limit."""

    memory_bytes: int = 0
    free_disk_bytes: int = 0
    """What has to stay free."""


@contextlib.contextmanager
def watch(marker: str, allowance: Allowance, folder: Path, end: End) -> Iterator[None]:
    """While it lasts: a turn that takes more is ended, and told why."""
    loop = asyncio.get_running_loop()
    over = False

    def look() -> None:
        if over:
            return
        failure, why = _trouble(marker, allowance, folder)
        if why:
            end(failure, why)
            for process in family(marker.__eq__):
                process.send(signal.SIGKILL)
        loop.call_later(_SECONDS, look)

    loop.call_later(_SECONDS, look)
    try:
        yield
    finally:
        over = True


def _trouble(marker: str, allowance: Allowance, folder: Path) -> tuple[Failure, str]:
    if allowance.free_disk_bytes and shutil.disk_usage(folder).free < allowance.free_disk_bytes:
        return Failure.DISK, f"The disk was almost full: less than {allowance.free_disk_bytes / 1e9:g} GB were left."
    if allowance.memory_bytes and _memory_of(marker) > allowance.memory_bytes:
        most = f"{allowance.memory_bytes / 1e9:g}"
        return Failure.AGENT, f"Its programs took more than the {most} GB of memory they may (`sandbox.memory_gb`)."
    return Failure.NONE, ""


def _memory_of(marker: str) -> int:
    """What is theirs alone, and their part of what they share: memory can be held in either way."""
    total = 0
    for process in family(marker.__eq__):
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(_HELD):
                    total += int(line.split()[1]) * 1024
    return total

"""Finds and ends everything an agent started, however it detached. Touches only what carries our marker, or descends
from what does.

Where there is no /proc nothing is found, and ending the agent's own process is all there is.
"""

import asyncio
import contextlib
import hashlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARKER = "TREEHAND_TURN"
"""Its value begins with `house_of` ours, so that another's are never touched."""

_PROC = Path("/proc")
_LOOK_AGAIN_SECONDS = 0.03
_KILL_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Process:
    """A pid and its start: together they never name two processes."""

    pid: int
    started: str
    parent: int = field(compare=False)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if _read(self.pid) == self:
                os.kill(self.pid, number)


def house_of(folder: Path) -> str:
    """Of all that is started from there, in this life of ours or an earlier one."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]


def family(marked: Callable[[str], bool]) -> frozenset[Process]:
    """Every living process whose marker satisfies, with all their descendants; never this process."""
    everyone = {process.pid: process for process in _everyone()}
    found = {pid for pid in everyone if marked(_marker_of(pid))}
    grown = -1
    while grown != len(found):
        grown = len(found)
        found |= {pid for pid, process in everyone.items() if process.parent in found}
    return frozenset(everyone[pid] for pid in found - {os.getpid()})


async def end_family(marked: Callable[[str], bool], *, known: Iterable[Process] = (), grace: float = 2.0) -> int:
    """Ask them to end, wait for as long as is decent, then insist. How many there were."""
    seen = set(known) | family(marked)
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_SECONDS)):
        end = asyncio.get_running_loop().time() + seconds
        told: set[Process] = set()
        while living := {process for process in seen if _read(process.pid) is not None} | family(marked):
            for process in living - told:
                process.send(number)
            told |= living
            seen |= living
            if asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return len(seen)


def _everyone() -> Iterator[Process]:
    if not _PROC.is_dir():
        return
    for entry in os.scandir(_PROC):
        if entry.name.isdigit() and (process := _read(int(entry.name))):
            yield process


def _read(pid: int) -> Process | None:
    """None when it is gone, or dead and only waiting to be counted."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, fields[19], int(fields[1]))


def _marker_of(pid: int) -> str:
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{MARKER}=".encode()
    return next((value[len(prefix) :].decode(errors="replace") for value in variables if value.startswith(prefix)), "")

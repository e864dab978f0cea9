"""Finds and ends every process an agent started, however it detached: those with our marker and their descendants.

Without /proc nothing is found, and only the agent's own process is ended.
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
"""Environment variable of agents. Its value begins with `state_dir_id`: other daemons' agents are left alone."""

KILL_GRACE_SECONDS = 2.0
"""Between SIGTERM and SIGKILL."""

_PROC = Path("/proc")
_POLL_SECONDS = 0.03
_WAIT_AFTER_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A pid and its start time, which together identify one process."""

    pid: int
    started: str
    parent: int = field(compare=False)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if _read(self.pid) == self:
                os.kill(self.pid, number)


def state_dir_id(folder: Path) -> str:
    """Identifies the processes of a state directory across restarts."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]


def find_processes(marked: Callable[[str], bool]) -> frozenset[ProcessId]:
    """Returns living processes with a matching marker and their descendants, never this process."""
    everyone = {process.pid: process for process in _all_processes()}
    found = {pid for pid in everyone if marked(_marker_of(pid))}
    grown = -1
    while grown != len(found):
        grown = len(found)
        found |= {pid for pid, process in everyone.items() if process.parent in found}
    return frozenset(everyone[pid] for pid in found - {os.getpid()})


async def end_processes(
    marked: Callable[[str], bool], *, known: Iterable[ProcessId] = (), grace: float = KILL_GRACE_SECONDS
) -> int:
    """Sends SIGTERM, waits `grace` seconds, then sends SIGKILL. Returns the number of processes."""
    seen = set(known) | find_processes(marked)
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _WAIT_AFTER_KILL_SECONDS)):
        end = asyncio.get_running_loop().time() + seconds
        signalled: set[ProcessId] = set()
        while living := {process for process in seen if _read(process.pid) is not None} | find_processes(marked):
            for process in living - signalled:
                process.send(number)
            signalled |= living
            seen |= living
            if asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(_POLL_SECONDS)
    return len(seen)


def _all_processes() -> Iterator[ProcessId]:
    if not _PROC.is_dir():
        return
    for entry in os.scandir(_PROC):
        if entry.name.isdigit() and (process := _read(int(entry.name))):
            yield process


def _read(pid: int) -> ProcessId | None:
    """Returns None if the process has ended or is a zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else ProcessId(pid, fields[19], int(fields[1]))


def _marker_of(pid: int) -> str:
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{MARKER}=".encode()
    return next((value[len(prefix) :].decode(errors="replace") for value in variables if value.startswith(prefix)), "")

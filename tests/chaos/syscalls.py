"""Faults at system calls: lists those with which a daemon and its git change the disk and ask GitHub; strikes at one.

`strace` counts the calls of each thread for itself. So a place is named by the file as well, and by how far the issue
was when the tracer came: the n-th such call on such a file since then, by whoever comes to it first. Requests are sent
by a thread each, so that they are counted where the daemon's first thread begins one, and where it takes an answer.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tests.chaos.machine import Machine
from tests.chaos.people import Stage

ON_FILES = (
    "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "mkdir", "rmdir", "link", "symlink", "rename", "renameat",
    "renameat2", "unlink", "unlinkat",
)  # fmt: skip
REQUESTS = {"clone3": "request", "recvfrom": "answer"}
_CALL = re.compile(r"(?P<thread>\d+) +(?P<at>[\d.]+) (?P<call>\w+)\((?P<words>.*)")
_FILES = re.compile(r'^\d+<(?P<open>/[^>]*)>|"(?P<named>/[^"]*)"')
_GONE = 3.0
"""Seconds until a tracer ends by itself after the daemon that it follows."""


class Fault(StrEnum):
    KILL = "KILL"
    EIO = "EIO"
    ENOSPC = "ENOSPC"


@dataclass(frozen=True, order=True)
class Place:
    call: str
    path: str
    """From the machine's folder on; empty: the call has no file."""
    number: int
    since: Stage

    def __str__(self) -> str:
        return f"{REQUESTS.get(self.call, self.call)} {self.path} {self.number} since {self.since}"


def places_in(log: Path, folder: Path, stages: Mapping[Stage, float]) -> set[Place]:
    """`stages`: when each of them came. The folder is the machine's."""
    first = ""
    counted: Counter[tuple[str, Place]] = Counter()
    found = set()
    for call in _calls_in(log):
        first = first or call["thread"]
        stage = max((one for one in stages if stages[one] <= float(call["at"])), key=stages.__getitem__)
        if call["call"] in REQUESTS:
            path = "" if call["thread"] == first else None
        else:
            path = _path_of(call["words"], folder)
        if path is None:
            continue
        place = Place(call["call"], path, 0, stage)
        counted[call["thread"], place] += 1
        found.add(replace(place, number=counted[call["thread"], place]))
    return found


def _calls_in(log: Path) -> Iterator[re.Match[str]]:
    for line in log.read_text(errors="replace").splitlines():
        if call := _CALL.match(line):
            yield call


def _path_of(words: str, folder: Path) -> str | None:
    """The first file that is the daemon's."""
    for found in _FILES.finditer(words):
        path = found["open"] or found["named"]
        if path.startswith(f"{folder}/state"):
            return str(Path(path).relative_to(folder))
    return None


@dataclass
class Tracer:
    process: Process
    log: Path

    @property
    def struck(self) -> str:
        """The call that had the fault; empty: it has not come yet."""
        told = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        lines = [line for line in told if "(INJECTED)" in line or "killed by SIGKILL" in line]
        return lines[0] if lines else ""

    async def end(self, *, by_itself: bool) -> None:
        """Lets go of the daemon, which goes on without faults; `by_itself`: it is dying, and the tracer with it.

        A tracer that is asked to end while its daemon dies may wait for ever.
        """
        for number in (0 if by_itself else signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _GONE)
                return


HELD = ("sh", "-c", 'kill -STOP $$ && exec "$0" "$@"')
"""Command prefix for a daemon that waits for its tracer."""


@asynccontextmanager
async def tracing(machine: Machine, log: Path, *words: str, first_only: bool = False) -> AsyncIterator[Tracer]:
    """Follows all threads and processes, or only the first thread. A daemon that waits for its tracer goes on."""
    command = ["strace", "-qq", "-y", "-ttt", "-s", "0", "-o", str(log), *([] if first_only else ["-f"])]
    process = await asyncio.create_subprocess_exec(
        *command, *words, "-p", str(machine.pid), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
    )
    tracer = Tracer(process, log)
    try:
        await _held(machine, process)
        yield tracer
    finally:
        await tracer.end(by_itself=machine.struck or not machine.alive)


async def _held(machine: Machine, tracer: Process) -> None:
    status = Path(f"/proc/{machine.pid}/status")
    with contextlib.suppress(OSError):
        while tracer.returncode is None and "TracerPid:\t0\n" in status.read_text():
            await asyncio.sleep(0.005)
        os.kill(machine.pid, signal.SIGCONT)


def counting() -> Sequence[str]:
    return ("-e", f"trace={','.join((*ON_FILES, *REQUESTS))}")


def striking(place: Place, fault: Fault, folder: Path) -> Sequence[str]:
    """A full disk stays full until the tracer ends; every other fault comes once."""
    what = "signal=KILL" if fault is Fault.KILL else f"error={fault}"
    when = f"{place.number}+" if fault is Fault.ENOSPC else str(place.number)
    on = ("-P", str(folder / place.path)) if place.path else ()
    return (*on, "-e", f"trace={place.call}", "-e", f"inject={place.call}:{what}:when={when}")


def is_possible() -> bool:
    """A container may forbid tracing."""
    traced = ("strace", "-qq", "-o", os.devnull, "true")
    return (
        shutil.which("strace") is not None and not subprocess.run(traced, capture_output=True, check=False).returncode
    )

"""Runs one command for a worktree, and is left with its outcome alone: whatever it started has ended.

Rule: there is nobody to answer it, it has so many seconds, and of what it prints only the end is kept.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.errors import NeedsHuman
from bot.sandbox.interface import Bench
from bot.system import launch
from bot.system.processes import MARKER, end_family

KEPT_BYTES = 4096

_CHUNK = 1 << 16
_LAST_SECONDS = 5.0
_NICE = ("nice", "-n", "19")
_SCRIPT = """\
cd -- "$1" 2>&1 || { echo 1 >&2; exit; }
exec 3>&2 2>&1
(eval "$2") </dev/null 3>&-
echo "$?" >&3
read -r _
"""
"""It stays until we have seen what the command left running: whatever that is, it is a child of its then."""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int | None
    """None: it had not ended in time, or was ended by the host."""
    output: str
    """The end of what it printed."""
    is_late: bool = False
    is_cut: bool = False
    """It printed more."""


@dataclass(frozen=True, slots=True)
class Command:
    text: str
    folder: Path
    environment: Mapping[str, str]
    marker: str
    kept: int = KEPT_BYTES
    """So many bytes of what it prints."""
    heard: Callable[[bytes], None] = lambda _: None
    """Gets all of it, as it comes."""
    is_urgent: bool = True
    """Somebody waits for it; else it runs when nobody else needs the machine, and goes at once when told to."""


async def run(command: Command, bench: Bench, *, seconds: float | None) -> Outcome:
    """Cancelled, it ends the command first. `seconds`: None is as long as it likes."""
    tail, code, is_late = _Tail(command.kept, command.heard), None, False
    process = await _started(command, bench)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(tail.follow(process.stdout))
        try:
            async with asyncio.timeout(seconds):
                code = await _code(process.stderr, tail)
        except TimeoutError:
            is_late = True
            tail.end()  # what is said of its being ended is none of its words
        finally:
            grace = 0.0 if code is not None or not command.is_urgent else 2.0
            await end_family(command.marker.__eq__, grace=grace)
            process.stdin.close()
            await process.wait()
            await asyncio.wait([listening], timeout=_LAST_SECONDS)
            listening.cancel()
    return Outcome(code, tail.text(), is_late, tail.is_cut)


async def _started(command: Command, bench: Bench) -> asyncio.subprocess.Process:
    shell = shutil.which("bash") or "/bin/sh"
    told = {**command.environment, **bench.environment, MARKER: command.marker}
    keep = ",".join((*told, *bench.handed_on))
    inherited = {name: os.environ[name] for name in bench.handed_on if name in os.environ}  # noqa: TID251 - handed on
    nice = () if command.is_urgent else _NICE
    words = ("-c", _SCRIPT, "setup", str(command.folder), command.text)
    try:
        return await asyncio.create_subprocess_exec(
            *nice, str(bench.launcher(Path(shell))), *words,
            env={**inherited, **told, launch.KEEP: keep, launch.PARENT: str(os.getpid())},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as exc:
        raise NeedsHuman(f"{shlex.quote(command.text)} could not be started: {exc.strerror}.") from exc


async def _code(reporting: asyncio.StreamReader, tail: "_Tail") -> int | None:
    """What the script reports when the command has ended; else what kept it from running at all."""
    said = await reporting.readline()
    with contextlib.suppress(ValueError):
        return int(said)
    tail.add(said + await reporting.read(_CHUNK))
    return None


class _Tail:
    def __init__(self, most: int, heard: Callable[[bytes], None]) -> None:
        self._most = most
        self._heard = heard
        self._kept = b""
        self.is_cut = False
        self._is_over = False

    async def follow(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(_CHUNK):
            self.add(data)

    def end(self) -> None:
        self._is_over = True

    def add(self, data: bytes) -> None:
        if self._is_over:
            return
        self._heard(data)
        together = self._kept + data
        self.is_cut |= len(together) > self._most
        self._kept = together[-self._most :]

    def text(self) -> str:
        """From the beginning of a line on, where there was more."""
        kept = self._kept.partition(b"\n")[2] or self._kept if self.is_cut else self._kept
        return kept.decode(errors="replace").strip()

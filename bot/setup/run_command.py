"""Runs one command in a sandbox with a time limit, keeps the end of its output, and kills every process it started.

Rules: its stdin is empty, and no process of it outlives it. Its exit code is the exit status of the sandbox, as the
kernel tells it: no program in the sandbox reports it, so none can report another.
"""

import asyncio
import os
import shlex
import shutil
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.errors import NeedsHuman
from bot.sandbox.interface import CommandSandbox
from bot.system import launch
from bot.system.processes import KILL_GRACE_SECONDS, MARKER, end_processes

MAX_OUTPUT_BYTES = 4096

_CHUNK = 1 << 16
_LAST_OUTPUT_SECONDS = 5.0
_NICE = ("nice", "-n", "19")
_STARTED = b"started\n"
_SCRIPT = """\
echo started >&2
exec 2>&1
cd -- "$1" && (eval "$2") </dev/null
exit
"""
"""Before its first line stderr has the failures of the sandbox itself; the command does not get that stderr."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    code: int | None
    """Exit code; None if it was ended by the time limit or by the host."""
    output: str
    """The end of its output, after its beginning if that was asked for."""
    is_late: bool = False
    is_cut: bool = False
    """Its output was longer."""


@dataclass(frozen=True, slots=True)
class SetupCommand:
    text: str
    folder: Path
    environment: Mapping[str, str]
    marker: str
    max_output_bytes: int = MAX_OUTPUT_BYTES
    """Bytes of the end of its output that are kept."""
    max_head_bytes: int = 0
    """Bytes of the beginning that are kept as well."""
    on_output: Callable[[bytes], None] = lambda _: None
    """Called with all output as it arrives."""
    is_urgent: bool = True
    """A run waits for it; else it gets the lowest priority, and is killed without a grace period."""


async def run_command(command: SetupCommand, sandbox: CommandSandbox, *, seconds: float | None) -> CommandOutcome:
    """Cancelled, it ends the command first. `seconds`: time limit; None: no limit."""
    kept, code, is_late = _KeptOutput(command), None, False
    try:
        process = await _start(command, sandbox)
    except asyncio.CancelledError:  # the process may have children by then
        await end_processes(command.marker.__eq__, grace=0.0)
        raise
    assert process.stdout
    assert process.stderr
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(kept.follow(process.stdout))
        try:
            async with asyncio.timeout(seconds):
                code = await _wait(process, process.stderr, kept)
        except TimeoutError:
            is_late = True
            kept.end()  # the shell's message about the kill is not part of the output
        finally:
            grace = 0.0 if code is not None or not command.is_urgent else KILL_GRACE_SECONDS
            await end_processes(command.marker.__eq__, grace=grace)
            await process.wait()
            await asyncio.wait([listening], timeout=_LAST_OUTPUT_SECONDS)
            listening.cancel()
    return CommandOutcome(code, kept.text(), is_late, kept.is_cut)


async def _start(command: SetupCommand, sandbox: CommandSandbox) -> asyncio.subprocess.Process:
    shell = shutil.which("bash") or "/bin/sh"
    variables = {**command.environment, **sandbox.environment, MARKER: command.marker}
    keep = ",".join((*variables, *sandbox.inherited_variables))
    inherited = {name: os.environ[name] for name in sandbox.inherited_variables if name in os.environ}  # noqa: TID251 - handed on
    nice = () if command.is_urgent else _NICE
    words = ("-c", _SCRIPT, "setup", str(command.folder), command.text)
    try:
        return await asyncio.create_subprocess_exec(
            *nice, str(sandbox.launcher(Path(shell))), *words,
            env={**inherited, **variables, launch.KEEP: keep, launch.PARENT: str(os.getpid())},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as exc:
        raise NeedsHuman(f"{shlex.quote(command.text)} could not be started: {exc.strerror}.") from exc


async def _wait(process: asyncio.subprocess.Process, report: asyncio.StreamReader, kept: "_KeptOutput") -> int | None:
    """Returns the exit code; None if the command did not start, and the reason becomes its output."""
    first = await report.readline()
    if first != _STARTED:
        kept.add(first + await report.read(_CHUNK))
        return None
    code = await process.wait()
    return code if code >= 0 else None


class _KeptOutput:
    """The beginning and the end of an output, in pieces, so that a long one is not copied again and again."""

    def __init__(self, command: SetupCommand) -> None:
        self._room = command.max_head_bytes
        self._max_tail = command.max_output_bytes
        self._on_output = command.on_output
        self._head = bytearray()
        self._tail: deque[bytearray] = deque()
        self._tail_length = 0
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
        self._on_output(data)
        self._head += data[: self._room]
        rest = data[self._room :]
        self._room -= len(data) - len(rest)
        if rest:
            self._add_to_tail(rest)

    def _add_to_tail(self, data: bytes) -> None:
        if self._tail and len(self._tail[-1]) < _CHUNK:
            self._tail[-1] += data
        else:
            self._tail.append(bytearray(data))
        self._tail_length += len(data)
        self.is_cut |= self._tail_length > self._max_tail
        while self._tail_length - len(self._tail[0]) >= self._max_tail:
            self._tail_length -= len(self._tail.popleft())

    def text(self) -> str:
        """After a cut, the text continues at the beginning of a line."""
        tail = b"".join(self._tail)
        if self.is_cut:
            tail = tail[-self._max_tail :]
            tail = tail.partition(b"\n")[2] or tail
        head = bytes(self._head)
        whole = head.rpartition(b"\n")[0] + b"\n" + tail if self.is_cut and head else head + tail
        return whole.decode(errors="replace").strip()

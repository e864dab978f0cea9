"""Has code coloured by the painter's process. Where that fails, takes too long or gets too much: no colours."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from bot.web.run.diff import Runs

LARGEST = 200_000
"""In letters."""
_SECONDS = 6.0
_ANSWER_BYTES = 64_000_000
_KEPT = 32
_PROGRAM = Path(__file__).with_name("highlight_worker.py")

Painted = Sequence[Runs]
"""Of every line, from the first."""


class Painting:
    """Owns one process, which ends with its input."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._process: Process | None = None
        self._alone = asyncio.Lock()
        self._known: OrderedDict[tuple[str, str], Painted] = OrderedDict()

    async def paint(self, name: str, content: str, *, sha: str) -> Painted:
        """`sha` is the content's: what was painted lately is known."""
        if not content or len(content) > LARGEST:
            return ()
        key = (name.rpartition("/")[2], sha)
        if key not in self._known:
            async with self._alone:
                self._known[key] = self._known.get(key) or await self._asked(key[0], content)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return self._known[key]

    async def close(self) -> None:
        if self._process:
            self._end(self._process)
            await self._process.wait()
            self._process = None

    async def _asked(self, name: str, content: str) -> Painted:
        question = json.dumps({"name": name, "text": content}).encode() + b"\n"
        process = self._process = self._process or await self._begun()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await _told(process, question)
        except (TimeoutError, OSError, ValueError):
            answer = b""
        if not answer.endswith(b"\n"):
            await self.close()
            return ()
        return json.loads(answer) or ()

    @staticmethod
    async def _begun() -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_PROGRAM), stdin=PIPE, stdout=PIPE, stderr=asyncio.subprocess.DEVNULL,
            cwd="/", env={"LC_ALL": "C.UTF-8"}, start_new_session=True, limit=_ANSWER_BYTES,
        )  # fmt: skip

    @staticmethod
    def _end(process: Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _told(process: Process, question: bytes) -> bytes:
    assert process.stdin
    assert process.stdout
    process.stdin.write(question)
    await process.stdin.drain()
    return await process.stdout.readline()

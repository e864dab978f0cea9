"""Syntax highlighting: sends code to the worker process and caches its answers. Without an answer, code stays plain."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from bot.web.run.diff_rows import ColouredText

LARGEST = 200_000
"""Most characters of a file that gets colours."""
_SECONDS = 6.0
_ANSWER_BYTES = 64_000_000
_CACHED_FILES = 32
_WORKER = Path(__file__).with_name("highlight_worker.py")

HighlightedLines = Sequence[ColouredText]
"""The colours of every line, from the first."""


class Highlighter:
    """Owns one worker process, which ends when its input ends."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._process: Process | None = None
        self._lock = asyncio.Lock()
        self._cache: OrderedDict[tuple[str, str], HighlightedLines] = OrderedDict()

    async def highlight(self, path: str, content: str, *, sha: str) -> HighlightedLines:
        """`sha` is the hash of the content and the key of the cache."""
        if not content or len(content) > LARGEST:
            return ()
        key = (path.rpartition("/")[2], sha)
        if key not in self._cache:
            async with self._lock:
                self._cache[key] = self._cache.get(key) or await self._request(key[0], content)
            while len(self._cache) > _CACHED_FILES:
                self._cache.popitem(last=False)
        return self._cache[key]

    async def close(self) -> None:
        if self._process:
            self._kill(self._process)
            await self._process.wait()
            self._process = None

    async def _request(self, name: str, content: str) -> HighlightedLines:
        request = json.dumps({"name": name, "text": content}).encode() + b"\n"
        process = self._process = self._process or await self._start()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await _exchange(process, request)
        except (TimeoutError, OSError, ValueError):
            answer = b""
        if not answer.endswith(b"\n"):
            await self.close()
            return ()
        return json.loads(answer) or ()

    @staticmethod
    async def _start() -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_WORKER), stdin=PIPE, stdout=PIPE, stderr=asyncio.subprocess.DEVNULL,
            cwd="/", env={"LC_ALL": "C.UTF-8"}, start_new_session=True, limit=_ANSWER_BYTES,
        )  # fmt: skip

    @staticmethod
    def _kill(process: Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _exchange(process: Process, request: bytes) -> bytes:
    assert process.stdin
    assert process.stdout
    process.stdin.write(request)
    await process.stdin.drain()
    return await process.stdout.readline()

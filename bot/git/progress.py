"""Runs git commands that may take minutes: tells how far they are, in one line, and ends them with their call.

Rule: only numbers are taken from what git prints, because a remote writes some of these lines.
"""

import logging
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from bot.git.command import ask_to_end, ensure_succeeded, start_git, terminate, timed_out
from bot.git.in_thread import ending_with_this_call
from bot.system import clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GitStep:
    """Work that a command of git does."""

    text: str = ""
    """Empty: it has ended."""
    moves: bool = True
    """False: it has made no progress for a while."""


Tell = Callable[[GitStep], None]
"""Called in any thread."""

_UNTOLD_SECONDS = 2.0
"""Most commands have ended by then."""
_TELL_SECONDS = 1.0
_LOG_SECONDS = 30.0
_SILENT_SECONDS = 60.0
_JOIN_SECONDS = 5.0
_LONGEST_LINE = 4096
_MAX_MESSAGE = 65536
_UNITS = {"bytes": 1e-6, "KiB": 0.001024, "MiB": 1.048576, "GiB": 1073.741824}

_LINE = re.compile(
    r"(remote: )?(?P<step>[A-Z][a-z]+ [a-z]+): +"
    r"(?:(?P<percent>[0-9]{1,3})% \((?P<done>[0-9]{1,12})/(?P<total>[0-9]{1,12})\)|(?P<count>[0-9]{1,12}))"
    r"(?:, (?P<size>[0-9]{1,9}(?:\.[0-9]{2})?) (?P<unit>bytes|KiB|MiB|GiB)(?: \| [0-9.]+ [A-Za-z]+/s)?)?"
    r"(?:, done\.)? *"
)
_WORDS = {
    "Enumerating objects": "Reading the history: {count} objects",
    "Counting objects": "Reading the history, {percent} %",
    "Compressing objects": "Compressing the history, {percent} %",
    "Receiving objects": "Fetching {percent} %{size}",
    "Resolving deltas": "Unpacking what was fetched, {percent} %",
    "Checking connectivity": "Checking what was fetched: {count} objects",
    "Writing objects": "Copying the history, {percent} %",
    "Updating files": "Checking out {done} of {total} files",
}

_BEGINNINGS = {"fetch": "Fetching", "pack-objects": "Reading the history", "read-tree": "Checking out files"}

_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def telling(tell: Tell | None) -> Iterator[None]:
    """Tells the progress of commands in this context."""
    before = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(before)


class Audience:
    """Callers that wait for the same command, which only one of them runs."""

    def __init__(self) -> None:
        self._tells: list[Tell] = []

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Tells the progress of the command to this context, too, if it listens."""
        own = [tell] if (tell := _tell.get()) else []
        self._tells += own
        try:
            with telling(self._tell_all):
                yield
        finally:
            for one in own:
                self._tells.remove(one)

    def _tell_all(self, step: GitStep) -> None:
        for tell in list(self._tells):
            tell(step)


def git_with_progress(
    git_dir: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = 600
) -> None:
    """As `git`, for a command with an option that makes it print its progress."""
    reading, writing = os.pipe()
    printed = os.fdopen(reading, "rb", buffering=0)
    try:
        process = start_git(git_dir, args, env or {}, stderr=writing)
    except BaseException:
        printed.close()
        raise
    finally:
        os.close(writing)
    teller = _Teller(_tell.get(), next((text for word, text in _BEGINNINGS.items() if word in args), ""))
    reader = threading.Thread(target=teller.read, args=(printed,), name="git progress", daemon=True)
    reader.start()
    try:
        with ending_with_this_call(partial(ask_to_end, process)):
            stdout = _wait(process, args, stdin, timeout, teller)
    finally:
        teller.end()
        reader.join(_JOIN_SECONDS)  # a program that git has left running may keep it open
    ensure_succeeded(args, process.returncode, teller.message, stdout)


def _wait(
    process: subprocess.Popen[bytes], args: tuple[str, ...], stdin: bytes, timeout: float, teller: "_Teller"
) -> bytes:
    until, given = clock.steady() + timeout, stdin or None
    while True:
        try:
            return process.communicate(given, _TELL_SECONDS)[0]
        except subprocess.TimeoutExpired as exc:
            given = None
            if clock.steady() >= until:
                terminate(process)
                raise timed_out(args, timeout) from exc
            teller.tell()


class _Teller:
    """Reads what one command prints. One thread reads, another tells."""

    def __init__(self, tell: Tell | None, text: str) -> None:
        self._tell, self._text, self._told = tell, text, ""
        self._message = bytearray()
        self._began = self._changed_at = self._logged_at = clock.steady()

    @property
    def message(self) -> str:
        """Lines that are no progress."""
        return self._message.decode(errors="replace")

    def read(self, printed: IO[bytes]) -> None:
        line = b""
        with printed:
            while chunk := printed.read(_LONGEST_LINE):
                *lines, line = re.split(rb"[\r\n]", line + chunk)
                for one in lines:
                    self._take(one)
                if len(line) > _LONGEST_LINE:
                    self._take(line)
                    line = b""
        self._take(line)

    def tell(self) -> None:
        """Call it every second."""
        now, text = clock.steady(), self._text
        if now - self._began < _UNTOLD_SECONDS or not text:
            return
        if minutes := int((now - self._changed_at) / _SILENT_SECONDS):
            text += f"; no progress for {minutes} min"
        if text != self._told and self._tell:
            self._tell(GitStep(text, moves=not minutes))
        self._told = text
        if now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            log.info("git at work progress=%r", text)

    def end(self) -> None:
        if self._told and self._tell:
            self._tell(GitStep())

    def _take(self, line: bytes) -> None:
        if text := progress_text(line.decode(errors="replace")):
            if text != self._text:
                self._text, self._changed_at = text, clock.steady()
        elif line:
            self._message += line + b"\n"
            del self._message[:-_MAX_MESSAGE]


def progress_text(line: str) -> str:
    """Returns what a line of git's progress says; empty for any other line."""
    found = _LINE.fullmatch(line)
    words = _WORDS.get(found["step"], "") if found else ""
    if not found or not words or ("{count}" in words) != bool(found["count"]):
        return ""
    numbers = {name: f"{int(found[name] or 0):,}" for name in ("percent", "done", "total", "count")}
    size = f", {float(found['size']) * _UNITS[found['unit']]:,.0f} MB" if found["size"] else ""
    return words.format(**numbers, size=size)

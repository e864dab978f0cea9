"""No sandbox: the agent runs with the rights of whoever runs us, and holds the model's key.

Rule: it is chosen, never fallen back to.
"""

import contextlib
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import Ground, TurnReport, Work
from bot.system import launch

_HANDED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SSL_CERT_FILE")


class Unconfined:
    def __init__(self, folder: Path, model: Mapping[str, str]) -> None:
        """`folder` is for its own use; `model` is the model's address and key."""
        self._folder = folder
        self._model = model
        self.answers: Mapping[int, int] = {}

    def sweep(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @asynccontextmanager
    async def open(self, work: Work, marker: str) -> AsyncIterator["_OpenCell"]:
        del marker  # its processes are watched by nobody
        with self._own_folder() as here:
            yield _OpenCell(here, {**self._model, "HOME": str(work.home)})

    @asynccontextmanager
    async def open_bench(self, ground: Ground, cache: Path, marker: str) -> AsyncIterator["_OpenCell"]:
        del ground, marker
        with self._own_folder() as here:
            yield _OpenCell(here, {"HOME": str(cache)})

    @asynccontextmanager
    async def open_trial(
        self, ground: Ground, home: Path, cache: Path | None, marker: str, *, ports: Sequence[int] = ()
    ) -> AsyncIterator["_OpenCell"]:
        del ground, cache, marker, ports  # what listens there is on this machine as it is
        with self._own_folder() as here:
            yield _OpenCell(here, {"HOME": str(home)})

    @contextlib.contextmanager
    def _own_folder(self) -> Iterator[Path]:
        self._folder.mkdir(parents=True, exist_ok=True)
        here = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            yield here
        finally:
            shutil.rmtree(here, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _OpenCell:
    folder: Path
    environment: Mapping[str, str]
    shell: str = ""
    trouble: str = ""
    refused: tuple[str, ...] = ()

    @property
    def handed_on(self) -> tuple[str, ...]:
        return _HANDED_ON

    def launcher(self, program: Path) -> Path:
        return write_launcher(self.folder / "launch", Path(launch.__file__), program)

    def finds(self, tool: str) -> bool:
        return shutil.which(tool) is not None

    def seen(self, report: TurnReport) -> TurnReport:
        return report


def write_launcher(file: Path, script: Path, argument: Path) -> Path:
    """One program to start, which takes further arguments. No secret in it: those travel in the environment."""
    words = shlex.join(str(word) for word in (sys.executable, "-I", "-S", script, argument))
    file.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    file.chmod(0o700)
    return file

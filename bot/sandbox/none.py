"""No sandbox: the agent runs with the rights of the user that runs Treehand, and holds the model's key.

Rule: only the settings choose it; it is never a fallback.
"""

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import AgentTask, TurnReport, WorktreeMounts
from bot.sandbox.proxy.grant import OnUsage
from bot.system import launch

_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", *_CERTIFICATES)


class NoSandbox:
    can_show_copies = False
    tests_have_network = True

    def __init__(self, folder: Path, model: Mapping[str, str]) -> None:
        """`folder` is for its own use; `model` holds the variables with the model's address and key."""
        self._folder = folder
        self._model = model
        self.model_answers: Mapping[int, int] = {}

    async def why_no_layers(self) -> str:
        return "there is no sandbox"

    def remove_leftovers(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @asynccontextmanager
    async def open_turn(self, task: AgentTask, marker: str, on_usage: OnUsage) -> AsyncIterator["_OpenNoSandbox"]:
        del marker, on_usage  # without a sandbox, resources are neither limited nor counted
        with self._temporary_folder() as here:
            yield _OpenNoSandbox(here, {**self._model, **_path_with(task.mounts), "HOME": str(task.home)})

    @asynccontextmanager
    async def open_setup(
        self, mounts: WorktreeMounts, cache: Path, marker: str, *, network: bool
    ) -> AsyncIterator["_OpenNoSandbox"]:
        del marker, network  # without a sandbox, the network is this machine's
        with self._temporary_folder() as here:
            yield _OpenNoSandbox(here, {**_path_with(mounts), "HOME": str(cache)}, is_supervised=True)

    @asynccontextmanager
    async def open_test(
        self,
        mounts: WorktreeMounts,
        home: Path,
        cache: Path | None,
        marker: str,
        *,
        ports: Sequence[int] = (),
        shown: Path | None = None,
    ) -> AsyncIterator["_OpenNoSandbox"]:
        del cache, marker, ports, shown  # without a sandbox, the ports are this machine's
        with self._temporary_folder() as here:
            yield _OpenNoSandbox(here, {**_path_with(mounts), "HOME": str(home)}, is_supervised=True)

    @contextlib.contextmanager
    def _temporary_folder(self) -> Iterator[Path]:
        self._folder.mkdir(parents=True, exist_ok=True)
        here = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            yield here
        finally:
            shutil.rmtree(here, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _OpenNoSandbox:
    folder: Path
    environment: Mapping[str, str]
    is_supervised: bool = False
    """Whatever a command leaves running is killed, and then its exit status is known."""
    shell: str = ""
    kill_reason: str = ""
    refusals: tuple[str, ...] = ()
    counts_usage: bool = False

    @property
    def inherited_variables(self) -> tuple[str, ...]:
        return _INHERITED

    def launcher(self, program: Path) -> Path:
        return write_launcher(
            self.folder / "launch", Path(launch.__file__), *([launch.SUPERVISE] if self.is_supervised else []), program
        )

    def has_tool(self, tool: str) -> bool:
        return shutil.which(tool, path=self.environment.get("PATH")) is not None

    def correct(self, report: TurnReport) -> TurnReport:
        return report


def _path_with(mounts: WorktreeMounts) -> dict[str, str]:
    if not mounts.toolchains:
        return {}
    return {"PATH": os.pathsep.join([*(str(folder / "bin") for folder in mounts.toolchains), *os.get_exec_path()])}


def write_launcher(file: Path, script: Path, *arguments: str | Path) -> Path:
    """Writes a program that starts `script` and takes further arguments. Holds no secret: those are in variables."""
    words = shlex.join(str(word) for word in (sys.executable, "-I", "-S", script, *arguments))
    file.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    file.chmod(0o700)
    return file

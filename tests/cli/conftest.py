"""A folder with some runs, and commands that read it, with and without a terminal of any size."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.domain.change import DiffStat
from bot.domain.run import Phase, Run
from bot.domain.spend import Spend
from bot.domain.turn import Event, EventKind, Todo, TurnOrder
from bot.services.local.connect import open_local_server
from bot.settings.load import load
from bot.settings.schema import Settings
from bot.store.build import open_store, open_transcripts
from bot.system.clock import now
from tests.fakes.runs import a_run

TREEHAND = (sys.executable, "-m", "bot")
ROOT = Path(__file__).parents[2]
SECONDS = 60.0
CONTROL_CHARACTERS = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
"""Must never reach a terminal."""


@dataclass
class Folder:
    path: Path
    env: dict[str, str]

    @property
    def settings(self) -> Settings:
        return load(self.path / "treehand.toml")

    def does(self, *words: str, **env: str) -> str:
        """Runs a command whose output goes into a pipe."""
        done = subprocess.run(
            [*TREEHAND, *words],
            cwd=self.path,
            env={**self.env, **env},
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    def has(self, phase: Phase, title: str, spend: Spend | None = None, **more) -> Run:
        """Creates an issue and its run."""
        desk, store = open_local_server(self.settings), open_store(self.settings)
        issue = desk.issues("shop").open(title, by="ana")
        run = a_run(issue.key, "shop", phase=phase, **{"begun_at": now(), "changed_at": now() - 7300, **more})
        store.save(run, at=now(), notes=["ana asked for it"], spend=spend)
        store.close()
        desk.close()
        return run

    def save(self, run: Run) -> None:
        store = open_store(self.settings)
        store.save(run, at=now())
        store.close()

    def tells(self, run: Run, *events: Event) -> None:
        transcripts = open_transcripts(self.settings)
        request = TurnOrder(f"{run.id}/turn-1", run.id, "shop", "b", "", "", "", "", 0.0)
        for event in events:
            transcripts.append(request, event)
        transcripts.flush()

    @contextlib.contextmanager
    def terminal(self, *words: str, columns: int = 100, lines: int = 24, **env: str) -> Iterator["Terminal"]:
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.path)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execve(TREEHAND[0], [*TREEHAND, *words], {**self.env, "TERM": "xterm-256color", **env})
        terminal = Terminal(pid, fd)
        try:
            yield terminal
        finally:
            terminal.leave()


@dataclass
class Terminal:
    """A pseudo terminal of the kernel."""

    pid: int
    fd: int
    raw: bytes = b""
    code: int | None = None

    def read(self, seconds: float) -> bool:
        """Waits for output or its end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # nobody has it open any more
            data = b""
        if not data:
            self._reap()
        self.raw += data
        return bool(data)

    def until(self, is_so: Callable[[str], bool]) -> str:
        """Waits until the screen meets a condition, and returns it."""
        end = time.monotonic() + SECONDS
        while not is_so(self.screen):
            assert time.monotonic() < end, self.screen
            if not self.read(1.0) and self.code is not None:
                assert is_so(self.screen), self.written
        return self.screen

    def ends(self) -> int:
        end = time.monotonic() + SECONDS
        while self.code is None:
            assert time.monotonic() < end, self.screen
            self.read(1.0)
        return self.code

    def types(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def becomes(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def written(self) -> str:
        return self.raw.decode(errors="replace")

    @property
    def screen(self) -> str:
        """Returns the text drawn since the cursor last went home."""
        return plain(self.written.split("\x1b[H")[-1])

    def leave(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()
        os.close(self.fd)

    def _reap(self) -> None:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def plain(text: str) -> str:
    """Removes the escape sequences of rich."""
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text).replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path) -> Folder:
    (tmp_path / "treehand.toml").write_text('state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "."\n')
    unwanted = ("TREEHAND_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM")
    env = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return Folder(tmp_path, {**env, "PYTHONPATH": str(ROOT), "TZ": "UTC"})


@pytest.fixture
def busy(folder: Folder) -> Folder:
    """Makes a run in every lane."""
    diff_stat = DiffStat(2, 30, 4)
    folder.has(Phase.ASKING, "Which currency?", reason="Euro or dollar?", spend_usd=0.4)
    working = folder.has(
        Phase.WORKING, f"Fix the login{CONTROL_CHARACTERS}", turns_number=1, spend_usd=1.25, diff_stat=diff_stat
    )
    todos = (Todo("look", done=True), Todo("fix", done=False))
    folder.tells(
        working, Event(EventKind.TODOS, now(), todos=todos), Event(EventKind.TOOL, now(), text="runs the tests")
    )
    folder.has(Phase.REVIEW, "Wörter übersetzen", diff_stat=diff_stat, spend=Spend(1, now(), 1.5, 1000), person="ana")
    folder.has(Phase.QUEUED, "Say hello", reason="waiting for a free slot: 4 agents are working, 0 ahead of this one")
    # in the future, so that its age stays the same
    folder.has(Phase.DONE, "Old things", reason="the pull request was merged", changed_at=now() + 600)
    return folder

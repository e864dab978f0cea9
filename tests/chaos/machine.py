"""One machine with the installed daemon: starts it, kills it and inspects the result."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TextIO

from bot.system.processes import ProcessId, _all_processes, _read
from tests.chaos.history import History

TREEHAND = Path(sys.executable).parent / "treehand"
REPOSITORY = "acme/shop"
ORPHAN_SECONDS = 1.0
_SETTLING_SECONDS = 30.0


class Daemon(Protocol):
    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...
    def terminate(self) -> None: ...


@dataclass
class Machine:
    folder: Path
    history: History
    env: dict[str, str]
    daemon: Daemon | None = None
    lives: int = 0
    kills: int = 0
    between: Callable[[Self], None] = lambda _: None
    """Called between a kill and the next start."""
    within: Sequence[str] = ()
    """Command prefix for the daemon, such as a tracer."""
    struck: bool = False
    """True once this daemon was killed."""
    _left: tuple[float, frozenset[ProcessId]] = (0.0, frozenset())

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def pid(self) -> int:
        assert self.daemon
        return self.daemon.pid

    @property
    def alive(self) -> bool:
        return self.daemon is not None and self.daemon.returncode is None

    async def start(self) -> None:
        self.lives, self.struck = self.lives + 1, False
        with (self.folder / "daemon.log").open("a") as log:
            log.write(f"--- life {self.lives} at {time.time():.2f}\n")
            log.flush()
            self.daemon = await self._begun(log)
        self.history.note("started", machine=self.folder.name, pid=self.pid)

    async def _begun(self, log: TextIO) -> Daemon:
        return await asyncio.create_subprocess_exec(
            *self.within, str(TREEHAND), "run", cwd=self.folder, env=self.env, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip

    def strike(self) -> bool:
        """Sends kill -9 from any thread; remembers the processes, to find those left behind."""
        if self.daemon is None or self.struck:
            return False
        self.struck = True
        before = descendants(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.kills += 1
        self.history.note("killed", machine=self.folder.name, pid=self.pid)
        self._left = (time.monotonic(), before)
        return True

    async def fall(self) -> None:
        """Waits until the daemon dies of the fault that it was started with."""
        assert self.daemon
        await self.daemon.wait()
        if self.struck:
            return
        self.struck, self.kills, self._left = True, self.kills + 1, (time.monotonic(), frozenset())
        self.history.note("killed", machine=self.folder.name, pid=self.pid)

    async def rise(self) -> None:
        """Starts the daemon again if it was killed."""
        if self.struck:
            await self.bury()
            self.between(self)
            await self.start()

    async def bury(self) -> None:
        """Waits for its end, and looks for processes that survive it."""
        assert self.daemon
        await self.daemon.wait()
        at, before = self._left
        while living := [one for one in {*before, *self.residents()} if _read(one.pid) == one]:
            late = time.monotonic() - at
            if late > ORPHAN_SECONDS:
                names = [_command(one.pid) for one in living]
                self.history.note("orphans", machine=self.folder.name, after=round(late, 2), commands=names)
                for one in living:
                    one.send(signal.SIGKILL)
                return
            await asyncio.sleep(0.05)
        self.history.note("alone", machine=self.folder.name, after=round(time.monotonic() - at, 3))

    async def settled(self) -> None:
        """Waits until the daemon is up and has finished its work, or until the time is over."""
        end = time.monotonic() + _SETTLING_SECONDS
        while time.monotonic() < end:
            life = (self.folder / "daemon.log").read_text().rpartition("--- life ")[2]
            with contextlib.suppress(sqlite3.Error):
                if " starting " in life and set(self.phases().values()) <= {"done", "asking"}:
                    return
            await asyncio.sleep(0.2)

    async def stop(self) -> int:
        """Stops the daemon with SIGTERM. Returns its exit code."""
        assert self.daemon
        with contextlib.suppress(ProcessLookupError):
            self.daemon.terminate()
        code = await asyncio.wait_for(self.daemon.wait(), 40)
        self.history.note("stopped", machine=self.folder.name, code=code)
        return code

    def residents(self) -> list[ProcessId]:
        """Returns the processes that belong to this machine, by folder, command or environment."""
        ours = str(self.folder).encode()
        return [one for one in _all_processes() if one.pid != os.getpid() and ours in _about(one.pid)]

    def forget(self) -> None:
        """Deletes the databases, as after a failed disk."""
        for file in self.state_dir.glob("*.db*"):
            file.unlink()
        self.history.note("forgot", machine=self.folder.name)

    def inspect(self) -> None:
        """Records the final state of the disk for the checker."""
        worktrees = self.state_dir / "worktrees"
        left = [str(one.relative_to(worktrees)) for one in worktrees.glob("*/*")] if worktrees.is_dir() else []
        verdicts = {file.name: integrity_of(file) for file in sorted(self.state_dir.glob("*.db"))}
        mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(self.folder) in line]
        self.history.note(
            "inspected", machine=self.folder.name, worktrees=left, databases=verdicts, mounts=mounts,
            residents=[_command(one.pid) for one in self.residents()], phases=self.phases(),
        )  # fmt: skip

    def phases(self) -> dict[str, str]:
        file = self.state_dir / "treehand.db"
        if not file.exists():
            return {}
        with contextlib.closing(sqlite3.connect(file)) as db:
            return {
                f"{key}/{ordinal}": phase for key, ordinal, phase in db.execute("SELECT key, ordinal, phase FROM runs")
            }


def integrity_of(file: Path) -> str:
    with contextlib.closing(sqlite3.connect(file)) as db:
        return str(db.execute("PRAGMA integrity_check").fetchone()[0])


def descendants(pid: int) -> frozenset[ProcessId]:
    everyone = list(_all_processes())
    found = {pid}
    grown = 0
    while grown != len(found):
        grown = len(found)
        found |= {one.pid for one in everyone if one.parent in found}
    return frozenset(one for one in everyone if one.pid in found - {pid})


def _about(pid: int) -> bytes:
    """Returns the command, the environment and the folder of a process."""
    about = b""
    for name in ("cmdline", "environ"):
        with contextlib.suppress(OSError):
            about += Path(f"/proc/{pid}/{name}").read_bytes()
    with contextlib.suppress(OSError):
        about += str(Path(f"/proc/{pid}/cwd").readlink()).encode()
    return about


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return f"{pid}"


def furnished(
    folder: Path, history: History, *, url: str, token: str, model: str, program: Path, sandbox: str = "none"
) -> Machine:
    """Makes a separate state directory, settings, and the record of a checked program."""
    (folder / "home").mkdir(parents=True)
    settings = (
        f'state_dir = "{folder}/state"\n[poll]\ninterval = 1\n[github]\napi_url = "{url}"\n'
        f"[limits]\nquiet_seconds = 0\nfree_disk_gb = 0\n[budget]\nper_day_usd = 0\nper_issue_usd = 0\n"
        f'[sandbox]\nkind = "{sandbox}"\n[web]\nbind = ""\n'
        f'[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "{REPOSITORY}"\n'
    )
    (folder / "treehand.toml").write_text(settings)
    shutil.copytree(program, folder / "state" / "agent")
    env = {
        "HOME": str(folder / "home"), "PATH": os.environ["PATH"], "USER": "ana", "LANG": "C.UTF-8",
        "GITHUB_TOKEN": token, "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "stand-in",
    }  # fmt: skip
    return Machine(folder, history, env)

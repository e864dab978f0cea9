"""Locks between processes. The kernel releases them when a process dies, so none is ever stale."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import CannotStart
from bot.system.disk import is_full_disk

_DAEMON_LOCK = "daemon.lock"


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Waits until the lock is free. Work inside must be short or have its own time limit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def daemon_lock(state_dir: Path) -> Iterator[None]:
    """Allows one daemon per state directory; refuses a second one and names the first."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        lock = (state_dir / _DAEMON_LOCK).open("a+")
    except OSError as problem:
        raise unusable_folder(state_dir, problem) from problem
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise CannotStart(
                f"Treehand is already running on {state_dir} (pid {daemon_pid(state_dir)}). "
                "Stop that one first, or set another state_dir."
            ) from exc
        try:
            file.truncate(0)
            os.write(file.fileno(), str(os.getpid()).encode())  # not kept for a second try when the file is closed
        except OSError as problem:
            raise unusable_folder(state_dir, problem) from problem
        yield
        with contextlib.suppress(OSError):  # the kernel releases the lock, whatever the disk says
            file.truncate(0)


def unusable_folder(folder: Path, problem: OSError) -> CannotStart:
    """The error for a state directory that cannot be used."""
    if is_full_disk(problem):
        return CannotStart(f"The disk of {folder} is full. Free some space there; then start again: nothing is lost.")
    return CannotStart(
        f"{folder} cannot be used: {problem.strerror}. It must be a writable folder with free space: "
        "fix that, or set another state_dir."
    )


def daemon_pid(state_dir: Path) -> str:
    """Returns the running daemon's pid; empty if none runs."""
    try:
        with (state_dir / _DAEMON_LOCK).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return (state_dir / _DAEMON_LOCK).read_text().strip() or "unknown"
    return ""


def is_suspended(pid: str) -> bool:
    """Returns True for a process that was stopped, as by Ctrl-Z: it does nothing until it is continued."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False

"""Locks between processes. The kernel lets go when a process dies, so none is ever stale."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import CannotStart

_DAEMON = "daemon.lock"


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Waits for whoever is inside; what is done inside is short or has time limits of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def sole_owner(state_dir: Path) -> Iterator[None]:
    """One daemon per state directory; a second one is refused, and told who is there."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        lock = (state_dir / _DAEMON).open("a+")
    except OSError as problem:
        raise unusable(state_dir, problem) from problem
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise CannotStart(
                f"treehand is already running on {state_dir} (pid {owner_of(state_dir)}). "
                "Stop that one first, or set another state_dir."
            ) from exc
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


def unusable(folder: Path, problem: OSError) -> CannotStart:
    """What to do about a place of ours that we cannot have."""
    return CannotStart(
        f"{folder} cannot be used: {problem.strerror}. It must be a folder that you may write to, with room left: "
        "make it one, or set another state_dir."
    )


def owner_of(state_dir: Path) -> str:
    """The pid of the daemon that holds it now; empty: none does."""
    try:
        with (state_dir / _DAEMON).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return (state_dir / _DAEMON).read_text().strip() or "unknown"
    return ""

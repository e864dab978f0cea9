"""Exports an agent's session for a person to continue by hand, and imports it again.

Rule: an agent can write its home, and the program runs what it finds in a home. So people get a clean home, and only
the session's history, a plain file, is copied in either direction.
"""

import contextlib
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_PROJECT = re.compile(r"[A-Za-z0-9-]{1,255}")
_MAX_BYTES = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def resume_command(cli: str, *, folder: Path, home: Path, session: str) -> str:
    """The shell command that a person types; empty if there is no session. It loads no settings of the worktree."""
    if not _SESSION.fullmatch(session):
        return ""
    only = ("--setting-sources", "user", "--strict-mcp-config")
    command = ("env", f"CLAUDE_CONFIG_DIR={clean_home_for(home)}", cli, *only, "--resume", session)
    return f"cd {shlex.quote(str(folder))} && {shlex.join(command)}"


def clean_home_for(home: Path) -> Path:
    return home.with_name(f"{home.name}-by-hand")


def export_session(home: Path, session: str) -> None:
    """Creates the clean home again, with only the session's history."""
    clean = clean_home_for(home)
    _clear(clean)
    clean.mkdir(mode=0o700, parents=True)
    _copy(home, clean, session)


def import_session(home: Path, session: str) -> None:
    """Copies the history back as the person left it, and removes the clean home."""
    clean = clean_home_for(home)
    if clean.is_dir() and not clean.is_symlink():
        _copy(clean, home, session)
    _clear(clean)


def _clear(clean: Path) -> None:
    if clean.is_symlink():
        clean.unlink()
    elif clean.exists():
        shutil.rmtree(clean)


def _copy(source: Path, target: Path, session: str) -> None:
    """Distrusts both sides: opens nothing through a link and reads only plain files."""
    if not _SESSION.fullmatch(session):
        return
    name = f"{session}.jsonl"
    with ExitStack() as stack:
        found = _find_history(source, name, stack)
        if found:
            place, content = found
            _write(target, place, name, content)


def _find_history(home: Path, name: str, stack: ExitStack) -> tuple[str, BinaryIO] | None:
    """The program keeps it in a folder named after its working directory. Returns the newest of several."""
    try:
        projects = stack.enter_context(_open_folder("projects", stack.enter_context(_open_folder(home))))
    except OSError:
        return None
    places = [place for place in os.listdir(projects) if _PROJECT.fullmatch(place)]  # noqa: PTH208 - a descriptor
    found = [(place, file) for place in places if (file := _open_plain(projects, place, name, stack))]
    return max(found, key=lambda one: os.fstat(one[1].fileno()).st_mtime_ns, default=None)


def _open_plain(projects: int, place: str, name: str, stack: ExitStack) -> BinaryIO | None:
    try:
        folder = stack.enter_context(_open_folder(place, projects))
        file = stack.enter_context(open(os.open(name, _READ, dir_fd=folder), "rb"))  # noqa: PTH123, SIM115 - a descriptor
    except OSError:
        return None
    status = os.fstat(file.fileno())
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size <= _MAX_BYTES
    return file if is_plain else None


def _write(home: Path, place: str, name: str, content: BinaryIO) -> None:
    """Writes a new file that belongs to the owner of the home."""
    with (
        _open_folder(home) as folder,
        _ensure_folder("projects", folder) as projects,
        _ensure_folder(place, projects) as inner,
    ):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inner)
        with open(os.open(name, _CREATE, 0o600, dir_fd=inner), "wb") as copy:  # noqa: PTH123 - a descriptor
            left = _MAX_BYTES
            while left and (chunk := content.read(min(_CHUNK, left))):
                left -= copy.write(chunk)
            _copy_owner(copy.fileno(), folder)


@contextmanager
def _open_folder(name: str | Path, within: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _ensure_folder(name: str, within: int) -> Iterator[int]:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=within)
    with _open_folder(name, within) as folder:
        _copy_owner(folder, within)
        yield folder


def _copy_owner(descriptor: int, like: int) -> None:
    if os.geteuid() == 0:
        owner = os.fstat(like)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)

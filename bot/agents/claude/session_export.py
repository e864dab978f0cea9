"""An agent's conversation, for a person to go on with by hand, and back.

Rule: an agent could write its home, and the program runs what it finds in a home. So people get a clean one, and
nothing but the conversation itself, a plain file, crosses over in either direction.
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
_PLACE = re.compile(r"[A-Za-z0-9-]{1,255}")
_MOST_BYTES = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def command_for(cli: str, *, folder: Path, home: Path, session: str) -> str:
    """What a person types; empty: there is no conversation. What lies in the worktree sets nothing in motion."""
    if not _SESSION.fullmatch(session):
        return ""
    only = ("--setting-sources", "user", "--strict-mcp-config")
    command = ("env", f"CLAUDE_CONFIG_DIR={clean_home_for(home)}", cli, *only, "--resume", session)
    return f"cd {shlex.quote(str(folder))} && {shlex.join(command)}"


def clean_home_for(home: Path) -> Path:
    return home.with_name(f"{home.name}-by-hand")


def hand_over(home: Path, session: str) -> None:
    """A clean home with nothing but the conversation in it, made anew."""
    clean = clean_home_for(home)
    _clear(clean)
    clean.mkdir(mode=0o700, parents=True)
    _copy(home, clean, session)


def take_back(home: Path, session: str) -> None:
    """The conversation as the person left it; once, for then the agent goes on with it."""
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
    """Either side may hold traps: nothing is opened through a link, and nothing that is not a plain file is read."""
    if not _SESSION.fullmatch(session):
        return
    name = f"{session}.jsonl"
    with ExitStack() as stack:
        found = _find_conversation(source, name, stack)
        if found:
            place, content = found
            _write(target, place, name, content)


def _find_conversation(home: Path, name: str, stack: ExitStack) -> tuple[str, BinaryIO] | None:
    """The program keeps it in a folder that is named after the one it works in. The newest, where there are several."""
    try:
        projects = stack.enter_context(_opened("projects", stack.enter_context(_opened(home))))
    except OSError:
        return None
    places = [place for place in os.listdir(projects) if _PLACE.fullmatch(place)]  # noqa: PTH208 - of a descriptor
    found = [(place, file) for place in places if (file := _find_plain(projects, place, name, stack))]
    return max(found, key=lambda one: os.fstat(one[1].fileno()).st_mtime_ns, default=None)


def _find_plain(projects: int, place: str, name: str, stack: ExitStack) -> BinaryIO | None:
    try:
        folder = stack.enter_context(_opened(place, projects))
        file = stack.enter_context(open(os.open(name, _READ, dir_fd=folder), "rb"))  # noqa: PTH123, SIM115 - a descriptor
    except OSError:
        return None
    status = os.fstat(file.fileno())
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size <= _MOST_BYTES
    return file if is_plain else None


def _write(home: Path, place: str, name: str, content: BinaryIO) -> None:
    """As a new file, which belongs to whom the home belongs to."""
    with _opened(home) as folder, _ensured("projects", folder) as projects, _ensured(place, projects) as inner:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inner)
        with open(os.open(name, _MAKE, 0o600, dir_fd=inner), "wb") as copy:  # noqa: PTH123 - a descriptor
            left = _MOST_BYTES
            while left and (chunk := content.read(min(_CHUNK, left))):
                left -= copy.write(chunk)
            _give(copy.fileno(), folder)


@contextmanager
def _opened(name: str | Path, within: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _ensured(name: str, within: int) -> Iterator[int]:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=within)
    with _opened(name, within) as folder:
        _give(folder, within)
        yield folder


def _give(descriptor: int, like: int) -> None:
    if os.geteuid() == 0:
        owner = os.fstat(like)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)

"""Layers: the dependencies that setup installed in one worktree, kept to be shown beneath others, read-only.

Rule: no file of a layer has a second name outside of it, and nothing runs in the worktree while it is made. A layer is
never written again.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from bot.git.gitignore import parse_gitignore
from bot.workspace.capture import is_whiteout
from bot.workspace.scan import ScanOrder

SHARED = "shared"
"""Folder of a layer that shows beneath worktrees: dependencies."""
COPIED = "copied"
"""Folder of a layer whose files each worktree gets a copy of: whatever else setup made."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FICLONE = 0x40049409
_PYTHON = ".py"
_COMPILED, _CACHE = ".pyc", "__pycache__"
"""Python corrects the path in these files when it reads them."""


@dataclass(frozen=True, slots=True)
class LayerOrder:
    """A layer to make of a worktree in which setup has just run."""

    scan: ScanOrder
    into: str
    """An empty folder."""
    patterns: tuple[str, ...]
    """Folders of dependencies, as patterns of .gitignore."""
    operators: tuple[str, ...] = ()
    """Files of the operator's, which are in no layer."""
    takes_all: bool = True
    """False: not if setup made anything but dependencies."""


@dataclass(frozen=True, slots=True)
class LayerContents:
    shared: tuple[str, ...] = ()
    """Its folders, seen from the worktree; any bytes survive, as surrogates."""
    has_copied: bool = False
    """Setup made more than dependencies."""
    mentions: tuple[str, ...] = ()
    """Files and links with the path of the worktree in them."""
    folder: str = ""
    """The worktree that it was made in."""
    why_none: str = ""
    """Why there is no layer, in words."""


class _NotShared(Exception):
    """Something in the worktree cannot be shared."""


def make_layer(order: LayerOrder) -> LayerContents:
    """Moves the dependencies out of the worktree, and copies what else setup made. Else changes nothing."""
    folder, into = Path(order.scan.folder), Path(order.into)
    try:
        shared, copied = _find_made(order)
        if not shared:
            return LayerContents(why_none="setup made no dependencies in the worktree")
        if copied and not order.takes_all:
            return LayerContents(why_none="setup made more than dependencies")
        mentions = _Examination(folder).examine(shared, copied)
    except (_NotShared, RecursionError) as problem:
        return LayerContents(why_none=str(problem))
    owner = folder.lstat()
    for place in (into / SHARED, into / COPIED):
        place.mkdir()
        _make_like(None, place, owner)
    for path in copied:
        with _parents(folder, into / COPIED, path) as (source, target, name):
            _copy_entry(source, target, name)
    for path in shared:
        with _parents(folder, into / SHARED, path) as (source, target, name):
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
    return LayerContents(tuple(shared), bool(copied), tuple(mentions), str(folder))


def put_beneath(layer: Path, contents: LayerContents, folder: Path, link: Path) -> bool:
    """Shows a layer beneath a worktree that was just checked out. Returns False if the worktree has such files."""
    if any(_is_in_the_way(folder, path) for path in contents.shared):
        return False
    link.unlink(missing_ok=True)
    link.symlink_to(layer / SHARED)
    if contents.folder != str(folder):
        copy_missing(layer / COPIED, folder)
        for path in contents.mentions:
            _write_mention(layer, path, folder, _replacements(contents.folder, str(folder)))
    return True


def _is_in_the_way(folder: Path, path: str) -> bool:
    above = [folder / path[:place] for place, letter in enumerate(path) if letter == "/"]
    return os.path.lexists(folder / path) or any(one.is_symlink() or one.is_file() for one in above)


def own_layer(folder: Path, link: Path) -> None:
    """Gives a worktree its own copy of the dependencies beneath it."""
    if link.is_dir():
        copy_missing(link, folder)
    link.unlink(missing_ok=True)


def _find_made(order: LayerOrder) -> tuple[list[str], list[str]]:
    """Returns the folders of dependencies, and what else is in no commit; of nested ones the outermost."""
    tracked = {path.decode(errors="surrogateescape") for path in order.scan.index.entries}
    parents = {path[:place] for path in tracked for place, letter in enumerate(path) if letter == "/"}
    rules, skipped = parse_gitignore("\n".join(order.patterns).encode()), {".git", *order.operators}
    shared: list[str] = []
    copied: list[str] = []
    waiting = [""]
    while waiting:
        within = waiting.pop()
        with os.scandir(Path(order.scan.folder, within)) as listing:
            for entry in listing:
                path = f"{within}/{entry.name}" if within else entry.name
                if path in tracked or path in skipped or entry.name == _CACHE:
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                if path in parents or any(one.startswith(f"{path}/") for one in skipped):
                    waiting += [path] if is_folder else []
                    continue
                parts = tuple(os.fsencode(path).split(b"/"))
                is_shared = is_folder and bool(rules.last_match(parts, is_folder=True))
                (shared if is_shared else copied).append(path)
    return sorted(shared), sorted(copied)


@dataclass(slots=True)
class _Examination:
    """Finds what mentions the worktree's path, and what stands against sharing."""

    folder: Path
    names: Counter[tuple[int, int]] = field(default_factory=Counter)
    """The number of names found for each file."""
    links: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)
    mentions: list[str] = field(default_factory=list)

    def examine(self, shared: Sequence[str], copied: Sequence[str]) -> list[str]:
        """Copied files stay in the worktree, so that none may have a second name among the shared ones."""
        top = self.folder.lstat()
        if (top.st_uid, top.st_gid) != (os.geteuid(), os.getegid()) and os.geteuid() != 0:
            raise _NotShared("the worktree has another owner or group")
        opened = os.open(self.folder, _FOLDER)
        try:
            self._examine_all(copied, opened, top)
            self.names.clear()
            self.links.clear()
            self._examine_all(shared, opened, top)
        except OSError as problem:
            raise _NotShared(f"a file cannot be read: {(problem.strerror or '').lower()}") from problem
        finally:
            os.close(opened)
        for identity, (count, path) in self.links.items():
            if self.names[identity] != count:
                raise _NotShared(f"{path!a} has a hard link elsewhere")
        return sorted(self.mentions)

    def _examine_all(self, paths: Sequence[str], opened: int, top: os.stat_result) -> None:
        for path in paths:
            self._examine(path, opened, path, top)
            if stat.S_ISDIR(os.stat(path, dir_fd=opened, follow_symlinks=False).st_mode):
                self._examine_below(path, opened, top)

    def _examine_below(self, path: str, opened: int, top: os.stat_result) -> None:
        for within, folders, files, inner in os.fwalk(path, dir_fd=opened, follow_symlinks=False, onerror=_fail):
            for name in (*folders, *files):
                self._examine(name, inner, f"{within}/{name}", top)

    def _examine(self, name: str, opened: int, path: str, top: os.stat_result) -> None:
        status = os.stat(name, dir_fd=opened, follow_symlinks=False)
        if (status.st_uid, status.st_gid, status.st_dev) != (top.st_uid, top.st_gid, top.st_dev):
            raise _NotShared(f"{path!a} has another owner or group")
        if stat.S_ISLNK(status.st_mode):
            if _has_mention(os.readlink(name, dir_fd=opened).encode(errors="surrogateescape"), str(self.folder)):
                self.mentions.append(path)
        elif stat.S_ISREG(status.st_mode):
            identity = (status.st_dev, status.st_ino)
            self.names[identity] += 1
            self.links[identity] = (status.st_nlink, path)
            self._read(name, opened, path, status.st_size)
        elif not stat.S_ISDIR(status.st_mode):
            raise _NotShared(f"{path!a} is neither a file nor a link")

    def _read(self, name: str, opened: int, path: str, size: int) -> None:
        if not size or name.endswith(_COMPILED):
            return
        descriptor = os.open(name, _FILE, dir_fd=opened)
        try:
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content:
                if any(content.find(old) >= 0 for old, _ in _replacements(str(self.folder), "")):
                    if content.find(b"\0") >= 0:
                        raise _NotShared(f"{path!a} is a program that contains the path of the worktree")
                    self.mentions.append(path)
        finally:
            os.close(descriptor)


def _fail(problem: OSError) -> None:
    raise problem


def _replacements(old: str, new: str) -> list[tuple[bytes, bytes]]:
    """Also as it stands in a URL."""
    pairs = dict.fromkeys([(old, new), (quote(old), quote(new))])
    return [(one.encode(errors="surrogateescape"), other.encode(errors="surrogateescape")) for one, other in pairs]


def _has_mention(content: bytes, old: str) -> bool:
    return any(one in content for one, _ in _replacements(old, ""))


def _write_mention(layer: Path, path: str, folder: Path, replacements: list[tuple[bytes, bytes]]) -> None:
    original = next(one for one in (layer / SHARED, layer / COPIED) if os.path.lexists(one / path))
    with _parents(original, folder, path) as (source, target, name):
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=target)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(_replace(os.fsencode(os.readlink(name, dir_fd=source)), replacements), name, dir_fd=target)
            return
        with os.fdopen(os.open(name, _FILE, dir_fd=source), "rb") as stream:
            content = _replace(stream.read(), replacements)
        with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=target), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), stat.S_IMODE(status.st_mode))
            if not name.endswith(_PYTHON):  # with a new time, Python compiles it again
                os.utime(stream.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def _replace(content: bytes, replacements: list[tuple[bytes, bytes]]) -> bytes:
    for old, new in replacements:
        content = content.replace(old, new)
    return content


@contextlib.contextmanager
def _parents(source: Path, target: Path, path: str) -> Iterator[tuple[int, int, str]]:
    """Yields the folders of a path, opened, and its last name. Those of the target are made, and follow no link."""
    *way, name = path.split("/")
    opened = [os.open(source, _FOLDER), os.open(target, _FOLDER)]
    try:
        for one in way:
            like = os.stat(one, dir_fd=opened[0], follow_symlinks=False)
            with contextlib.suppress(FileExistsError):
                os.mkdir(one, 0o700, dir_fd=opened[1])
                _make_like(opened[1], one, like)
            inner = [os.open(one, _FOLDER, dir_fd=outer) for outer in opened]
            for outer in opened:
                os.close(outer)
            opened = inner
        yield opened[0], opened[1], name
    finally:
        for outer in opened:
            os.close(outer)


def _make_like(outer: int | None, name: str | Path, like: os.stat_result) -> None:
    opened = os.open(name, _FOLDER, dir_fd=outer)
    try:
        if os.geteuid() == 0:
            os.fchown(opened, like.st_uid, like.st_gid)
        os.fchmod(opened, stat.S_IMODE(like.st_mode))
    finally:
        os.close(opened)


def copy_missing(source: Path, target: Path) -> None:
    """Copies what the target has not. Follows no link; what an overlay notes as removed stays removed."""
    opened = [os.open(source.resolve(), _FOLDER), os.open(target, _FOLDER)]
    try:
        _copy_folder(*opened)
    finally:
        for one in opened:
            os.close(one)


def _copy_folder(source: int, target: int) -> None:
    with os.scandir(source) as listing:
        names = [entry.name for entry in listing]
    for name in names:
        _copy_entry(source, target, name)


def _copy_entry(source: int, target: int, name: str) -> None:
    status, known = os.stat(name, dir_fd=source, follow_symlinks=False), _status(name, target)
    if known and is_whiteout(known):
        os.unlink(name, dir_fd=target)
    elif stat.S_ISDIR(status.st_mode):
        if not known:
            os.mkdir(name, 0o700, dir_fd=target)
        if not known or stat.S_ISDIR(known.st_mode):
            _copy_inner(source, target, name, None if known else status)
    elif not known:
        _copy_file(source, target, name, status)


def _copy_inner(source: int, target: int, name: str, status: os.stat_result | None) -> None:
    inner, copy = os.open(name, _FOLDER, dir_fd=source), os.open(name, _FOLDER, dir_fd=target)
    try:
        if status or not _is_opaque(copy):
            _copy_folder(inner, copy)
        if status:
            os.fchmod(copy, stat.S_IMODE(status.st_mode))
    finally:
        os.close(inner)
        os.close(copy)


def _copy_file(source: int, target: int, name: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        return
    with (
        os.fdopen(os.open(name, _FILE, dir_fd=source), "rb") as original,
        os.fdopen(os.open(name, _NEW, 0o600, dir_fd=target), "wb") as copy,
    ):
        try:
            fcntl.ioctl(copy, _FICLONE, original.fileno())
        except OSError:  # the file system cannot share blocks
            shutil.copyfileobj(original, copy, 1 << 20)
            copy.flush()
        os.fchmod(copy.fileno(), stat.S_IMODE(status.st_mode))
        os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def _status(name: str, folder: int) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None


def _is_opaque(folder: int) -> bool:
    """An overlay shows nothing beneath this folder."""
    name = "trusted.overlay.opaque" if os.geteuid() == 0 else "user.overlay.opaque"
    try:
        return os.getxattr(folder, name) == b"y"
    except OSError as problem:
        if problem.errno not in {errno.ENODATA, errno.ENOTSUP}:
            raise
    return False

"""Reads what a worktree holds, on hostile ground: no git, no link followed, nothing opened that could block.

Rule: every folder is opened by its path below the root and must be the very one its parent listed; every file is opened
in its folder's descriptor. So nothing outside the root is ever read, whatever is swapped meanwhile.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.gitignore import Layer, Parts, Rule, is_ignored, parse_rules
from bot.git.index import LINK, SUBMODULE, Entry, Index, mode_of, stamp_of, unknown_stamp

LARGEST_FILE = 100_000_000
"""GitHub takes no larger one."""
LARGEST_CHANGE = 1_000_000_000

_LARGEST_RULES = 256 * 1024
_LISTED = 50
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_GIT_BEGINS = frozenset({b".", b"g", b"G", b"\xe2", b"\xef"})
# code points that a Mac's file system ignores in a name
_INVISIBLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])

Keep = Callable[[bytes], bytes]
"""Puts content into the object store; its id."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a reading goes."""

    file: int = LARGEST_FILE
    everything: int = LARGEST_CHANGE
    go_on: Callable[[], None] = lambda: None
    """Asked before each name that is looked at; what it raises ends the reading."""


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to commit."""

    entries: Mapping[bytes, Entry]
    left_out: tuple[str, ...] = ()
    ignored: tuple[bytes, ...] = ()
    """Folders that are none of git's business, with all that is in them."""


def read_worktree(
    folder: Path, index: Index, keep: Keep, always_ignored: Sequence[Rule] = (), reach: Reach = Reach()
) -> Found:
    """Files the index vouches for are not read again."""
    try:
        root = os.open(folder, _FOLDER)
    except OSError as exc:
        raise NeedsHuman(f"The worktree {folder} is gone. `retry` starts again from the last commit.") from exc
    try:
        return _Reading(root, index, keep, always_ignored, reach).all()
    finally:
        os.close(root)


def read_file(
    path: bytes | Path, *, dir_fd: int | None = None, limit: int = LARGEST_FILE
) -> tuple[bytes, os.stat_result]:
    """A regular file's content, and how it was before it was read. Anything else, or larger, is an OSError."""
    opened = os.open(path, _FILE, dir_fd=dir_fd)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a file")
        with os.fdopen(opened, "rb", closefd=False) as stream:
            content = stream.read(limit + 1)
    finally:
        os.close(opened)
    if len(content) > limit:
        raise OSError(errno.EFBIG, "too large")
    return content, status


def shown(path: bytes) -> str:
    """On one line, for people."""
    text = path.decode(errors="backslashreplace")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def is_git_name(name: bytes) -> bool:
    """Some file system somewhere takes this for `.git`."""
    if name[:1] not in _GIT_BEGINS:
        return False
    text = name.decode(errors="replace").translate(_INVISIBLE).casefold().partition(":")[0].rstrip(". ")
    return text in {".git", "git~1"}


@dataclass(frozen=True, slots=True)
class _Folder:
    path: bytes
    identity: tuple[int, int]
    layers: tuple[Layer, ...]
    ignored: bool = False
    """Only what is tracked counts here."""

    def below(self, name: bytes) -> bytes:
        return self.path + b"/" + name if self.path else name

    @property
    def parts(self) -> Parts:
        return tuple(self.path.split(b"/")) if self.path else ()


@dataclass(slots=True)
class _Reading:
    root: int
    index: Index
    keep: Keep
    always_ignored: Sequence[Rule]
    reach: Reach
    entries: dict[bytes, Entry] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    ignored: list[bytes] = field(default_factory=list)
    tracked_folders: frozenset[bytes] = frozenset()
    new_bytes: int = 0

    def all(self) -> Found:
        self.tracked_folders = frozenset(_parents(self.index.entries))
        top = os.fstat(self.root)
        waiting = [_Folder(b"", (top.st_dev, top.st_ino), ())]
        while waiting:
            waiting.extend(self._read_folder(waiting.pop()))
        self._keep_submodules()
        more = len(self.left_out) - _LISTED
        listed = self.left_out[:_LISTED] + ([f"and {more} more"] if more > 0 else [])
        return Found(self.entries, tuple(listed), tuple(self.ignored))

    def _read_folder(self, folder: _Folder) -> list[_Folder]:
        """The folders in it that are to be read as well."""
        try:
            opened = os.open(folder.path or b".", _FOLDER, dir_fd=self.root)
        except OSError as exc:
            self._leave_folder(folder.path, _in_words(exc))
            return []
        try:
            status = os.fstat(opened)
            if (status.st_dev, status.st_ino) != folder.identity:
                self._leave_folder(folder.path, "changed while it was read")
                return []
            return self._read_listing(folder, opened)
        finally:
            os.close(opened)

    def _read_listing(self, folder: _Folder, opened: int) -> list[_Folder]:
        with os.scandir(opened) as listing:
            found = [(os.fsencode(item.name), item) for item in listing]
        if folder.path and folder.path not in self.tracked_folders and any(is_git_name(name) for name, _ in found):
            self._leave(folder.path, "a repository of its own")
            return []
        layers = folder.layers
        if not folder.ignored and any(name == b".gitignore" for name, _ in found):
            layers = (*layers, Layer(len(folder.parts), parse_rules(_read_rules(opened))))
        here = _Folder(folder.path, folder.identity, layers, folder.ignored)
        inner: list[_Folder] = []
        for name, item in found:
            self.reach.go_on()
            if is_git_name(name):
                self._pass_by(here, name)
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(status.st_mode):
                inner.extend(self._consider_folder(here, name, status))
            else:
                self._consider_file(here, opened, name, status)
        return inner

    def _pass_by(self, folder: _Folder, name: bytes) -> None:
        """The worktree's own pointer is expected; any other is told."""
        if folder.path or name != b".git":
            self._leave(folder.below(name), "git's own name")

    def _consider_folder(self, folder: _Folder, name: bytes, status: os.stat_result) -> Iterator[_Folder]:
        path = folder.below(name)
        known = self.index.entries.get(path)
        if known and known.mode == SUBMODULE:
            return
        ignored = folder.ignored or self._is_ignored(folder, name, is_folder=True)
        if ignored and path not in self.tracked_folders:
            self.ignored.append(path)
            return
        if status.st_dev != folder.identity[0]:
            self._leave_folder(path, "on another file system")
            return
        yield _Folder(path, (status.st_dev, status.st_ino), folder.layers, ignored)

    def _consider_file(self, folder: _Folder, opened: int, name: bytes, status: os.stat_result) -> None:
        path = folder.below(name)
        known, mode = self.index.entries.get(path), mode_of(status)
        stamp = stamp_of(status, mode)
        if known and self.index.vouches_for(known, stamp):
            self.entries[path] = known
        elif not known and (folder.ignored or self._is_ignored(folder, name, is_folder=False)):
            return
        elif not mode:
            self._leave(path, "neither a file nor a link")
        elif mode == LINK and name.lower() == b".gitmodules":
            self._leave(path, "git does not allow a link of this name")
        else:
            self._read_file(path, opened, name, status)

    def _read_file(self, path: bytes, opened: int, name: bytes, status: os.stat_result) -> None:
        known = self.index.entries.get(path)
        if status.st_size > min(self.reach.file, self.reach.everything - self.new_bytes):
            self._leave_file(path, f"too large ({status.st_size:,} bytes)")
            return
        try:
            content, status = (
                _read_link(opened, name)
                if stat.S_ISLNK(status.st_mode)
                else read_file(name, dir_fd=opened, limit=self.reach.file)
            )
        except FileNotFoundError:
            return
        except OSError as exc:
            self._leave_file(path, _in_words(exc))
            return
        self.new_bytes += len(content)
        stamp = stamp_of(status, mode_of(status))
        sha = self.keep(content)
        self.entries[path] = known if known and known == (stamp, sha) else Entry(stamp, sha)

    def _is_ignored(self, folder: _Folder, name: bytes, *, is_folder: bool) -> bool:
        parts = (*folder.parts, name)
        if any(rule.matches(parts, is_folder=is_folder) for rule in self.always_ignored):
            return True
        return is_ignored(parts, folder.layers, is_folder=is_folder)

    def _leave(self, path: bytes, reason: str) -> None:
        self.left_out.append(f"{shown(path)}: {reason}")

    def _leave_file(self, path: bytes, reason: str) -> None:
        """What cannot be read stays as it was committed: not reading must never look like deleting."""
        self._leave(path, reason)
        if known := self.index.entries.get(path):
            self.entries[path] = Entry(unknown_stamp(known.mode), known.sha)

    def _leave_folder(self, path: bytes, reason: str) -> None:
        self._leave(path or b".", reason)
        inside = path + b"/" if path else b""
        self.entries |= {name: entry for name, entry in self.index.entries.items() if name.startswith(inside)}

    def _keep_submodules(self) -> None:
        """As they are: what lies in them is another repository's."""
        submodules = {name: entry for name, entry in self.index.entries.items() if entry.mode == SUBMODULE}
        folders = frozenset(_parents(self.entries)) if submodules else frozenset()
        for name, entry in submodules.items():
            taken = name in folders or any(parent in self.entries for parent in _parents([name]))
            if name not in self.entries and not taken:
                self.entries[name] = entry


def _parents(names: Mapping[bytes, object] | Sequence[bytes]) -> Iterator[bytes]:
    for name in names:
        at = name.find(b"/")
        while at >= 0:
            yield name[:at]
            at = name.find(b"/", at + 1)


def _read_rules(opened: int) -> bytes:
    try:
        content, _ = read_file(b".gitignore", dir_fd=opened, limit=_LARGEST_RULES)
    except OSError:
        return b""
    return content


def _read_link(opened: int, name: bytes) -> tuple[bytes, os.stat_result]:
    status = os.stat(name, dir_fd=opened, follow_symlinks=False)
    return os.readlink(name, dir_fd=opened), status


def _in_words(exc: OSError) -> str:
    return (exc.strerror or "cannot be read").lower()

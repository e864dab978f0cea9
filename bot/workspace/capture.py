"""Reads a worktree that an agent controls: runs no git, follows no link, opens nothing that could block.

Rule: a folder is opened by its path below the root and must be the one its parent listed; a file is opened through its
folder's descriptor. So nothing outside the root is read, even if paths are swapped meanwhile. What is over a limit ends
the reading with OverLimit: it is never taken for the whole.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from bot.errors import NeedsHuman, OverLimit
from bot.git.gitattributes import MAX_ATTRIBUTES_BYTES
from bot.git.gitignore import MAX_RULES, IgnoreLayer, IgnoreRules, PathParts, TooManyRules, is_ignored, parse_gitignore
from bot.git.index import LINK, SUBMODULE, Index, IndexEntry, file_stamp, git_mode, unknown_stamp
from bot.git.lfs import ATTRIBUTES, LfsRules, parse_pointer, pointer_to
from bot.git.objects import blob_id
from bot.publish_guard.size_limits import MAX_ENTRIES, MAX_FILE_BYTES, MAX_NEW_BYTES, MAX_NEW_FILES
from bot.text.invisible_characters import printable_path

_MAX_UNRELATED_BYTES = 16 * 1024 * 1024
"""Largest .gitattributes file that is read; it may say nothing about Git LFS."""
_MAX_LISTED = 50
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_GIT_BEGINS = frozenset({b".", b"g", b"G", b"\xe2", b"\xef"})
# code points that macOS ignores in a file name
_INVISIBLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])

_NO_RULES = IgnoreRules()

StoreContent = Callable[[bytes], bytes]
"""Stores content in the object database and returns its id."""
StoreLfsObject = Callable[[bytes], None]
"""Stores a file under Git LFS, for which git stores a pointer."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of reading a worktree."""

    max_file_bytes: int = MAX_FILE_BYTES
    max_new_bytes: int = MAX_NEW_BYTES
    max_new_files: int = MAX_NEW_FILES
    max_entries: int = MAX_ENTRIES
    expected: frozenset[bytes] = frozenset()
    """Untracked files that do not count as new."""


@dataclass(frozen=True, slots=True)
class WorktreeContents:
    """The files to commit, and those left out."""

    entries: Mapping[bytes, IndexEntry]
    left_out: tuple[str, ...] = ()
    ignored_folders: tuple[bytes, ...] = ()
    """Ignored folders, each with everything in it."""
    is_whole: bool = True
    """False if files or folders with content were left out."""


def read_worktree(
    folder: Path,
    index: Index,
    store: StoreContent,
    always_ignored: IgnoreRules = _NO_RULES,
    limits: ReadLimits = ReadLimits(),
    store_lfs: StoreLfsObject = lambda _: None,
) -> WorktreeContents:
    """Files that are unchanged according to the index are not read again."""
    try:
        root = os.open(folder, _FOLDER)
    except OSError as exc:
        raise NeedsHuman(f"The worktree {folder} is gone. A retry starts from the last commit.") from exc
    try:
        return _Reading(root, index, store, always_ignored, limits, store_lfs).read()
    finally:
        os.close(root)


def read_inner_folder(worktree: Path, path: bytes, index: Index, store: StoreContent) -> WorktreeContents:
    """Reads a folder in a worktree; the index has its own paths. Raises OSError if there is no such folder."""
    root = os.open(worktree, _FOLDER)
    for name in path.split(b"/"):
        root = _open_inner(root, name)
    try:
        return _Reading(root, index, store, _NO_RULES, ReadLimits(), lambda _: None).read()
    finally:
        os.close(root)


def _open_inner(folder: int, name: bytes) -> int:
    """Opens a folder in an open folder, which is closed."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)


def read_file(
    path: bytes | Path, *, dir_fd: int | None = None, limit: int = MAX_FILE_BYTES
) -> tuple[bytes, os.stat_result]:
    """Returns a regular file's content and its status before reading. Raises OSError for anything else or larger."""
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


def is_whiteout(status: os.stat_result) -> bool:
    """Returns True for the device that an overlay puts in the place of a removed file of the layer beneath."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_git_name(name: bytes) -> bool:
    """True if some file system treats this name as `.git`."""
    if name[:1] not in _GIT_BEGINS:
        return False
    text = name.decode(errors="replace").translate(_INVISIBLE).casefold().partition(":")[0].rstrip(". ")
    return text in {".git", "git~1"}


@dataclass(frozen=True, slots=True)
class _Folder:
    path: bytes
    identity: tuple[int, int]
    layers: tuple[IgnoreLayer, ...]
    ignored: bool = False
    """Only tracked files count in it."""

    def below(self, name: bytes) -> bytes:
        return self.path + b"/" + name if self.path else name

    @property
    def parts(self) -> PathParts:
        return tuple(self.path.split(b"/")) if self.path else ()


@dataclass(slots=True)
class _Reading:
    root: int
    index: Index
    store: StoreContent
    always_ignored: IgnoreRules
    limits: ReadLimits
    store_lfs: StoreLfsObject
    entries: dict[bytes, IndexEntry] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    ignored: list[bytes] = field(default_factory=list)
    unread: set[bytes] = field(default_factory=set)
    """Folders that count as committed."""
    tracked_folders: frozenset[bytes] = frozenset()
    lfs: LfsRules = field(default_factory=LfsRules)
    new_bytes: int = 0
    new_files: int = 0
    seen: int = 0
    rules: int = 0
    is_whole: bool = True

    def read(self) -> WorktreeContents:
        self.tracked_folders = frozenset(_parent_folders(self.index.entries))
        top = os.fstat(self.root)
        waiting = [_Folder(b"", (top.st_dev, top.st_ino), ())]
        while waiting:
            waiting.extend(self._read_folder(waiting.pop()))
        self._keep_unread_folders()
        self._keep_submodules()
        more = len(self.left_out) - _MAX_LISTED
        listed = self.left_out[:_MAX_LISTED] + ([f"and {more} more"] if more > 0 else [])
        return WorktreeContents(self.entries, tuple(listed), tuple(self.ignored), is_whole=self.is_whole)

    def _read_folder(self, folder: _Folder) -> list[_Folder]:
        """Returns the subfolders to read."""
        try:
            opened = os.open(folder.path or b".", _FOLDER, dir_fd=self.root)
        except OSError as exc:
            self._keep_committed_folder(folder.path, _reason(exc))
            return []
        try:
            status = os.fstat(opened)
            if (status.st_dev, status.st_ino) != folder.identity:
                self._keep_committed_folder(folder.path, "changed while it was read")
                return []
            return self._read_listing(folder, opened)
        finally:
            os.close(opened)

    def _read_listing(self, folder: _Folder, opened: int) -> list[_Folder]:
        found = self._list(opened)
        if folder.path and folder.path not in self.tracked_folders and any(is_git_name(name) for name, _ in found):
            self._leave_out(folder.path, "a nested repository")
            return []
        layers = folder.layers
        if not folder.ignored and any(name == b".gitignore" for name, _ in found):
            layers = (*layers, IgnoreLayer(len(folder.parts), self._read_gitignore(folder, opened)))
        if any(name == ATTRIBUTES for name, _ in found):
            self._read_attributes(folder, opened)
        here = _Folder(folder.path, folder.identity, layers, folder.ignored)
        inner: list[_Folder] = []
        for name, item in found:
            if is_git_name(name):
                self._skip_git_name(here, name)
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

    def _list(self, opened: int) -> "list[tuple[bytes, os.DirEntry[str]]]":
        most = self.limits.max_entries + len(self.index.entries) - self.seen
        with os.scandir(opened) as listing:
            found = [(os.fsencode(item.name), item) for item in islice(listing, most + 1)]
        self.seen += len(found)
        if len(found) > most:
            raise OverLimit(
                f"The worktree has more than {self.limits.max_entries:,} files and folders beside those that git "
                f"tracks. Delete them, or put generated files into a folder that .gitignore excludes."
            )
        return found

    def _read_gitignore(self, folder: _Folder, opened: int) -> IgnoreRules:
        """Too many rules are no reason to publish what they ignore."""
        path = folder.below(b".gitignore")
        with self._following(path):
            rules = parse_gitignore(_read_rules(path, opened), most=MAX_RULES - self.rules)
            self.rules += len(rules.rules)
        return rules

    def _read_attributes(self, folder: _Folder, opened: int) -> None:
        path = folder.below(ATTRIBUTES)
        with self._following(path):
            self.lfs.add(folder.parts, _read_rules(path, opened, _MAX_UNRELATED_BYTES))

    @contextlib.contextmanager
    def _following(self, path: bytes) -> Iterator[None]:
        try:
            yield
        except TooManyRules as exc:
            raise OverLimit(f"{printable_path(path)} cannot be followed: {exc}.") from exc

    def _count_new(self, path: bytes) -> None:
        if path in self.limits.expected:
            return
        self.new_files += 1
        if self.new_files > self.limits.max_new_files:
            folder = printable_path(path.rpartition(b"/")[0] or b".")
            raise OverLimit(
                f"The worktree has more than {self.limits.max_new_files:,} new files and folders, the last of them in "
                f"{folder}. Delete them, or add their folders to .gitignore."
            )

    def _skip_git_name(self, folder: _Folder, name: bytes) -> None:
        """Expects `.git` at the top of the worktree and reports any other."""
        if folder.path or name != b".git":
            self._leave_out(folder.below(name), "a name that git reserves")

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
            self._keep_committed_folder(path, "on another file system")
            return
        if not ignored and path not in self.tracked_folders:
            self._count_new(path)
        yield _Folder(path, (status.st_dev, status.st_ino), folder.layers, ignored)

    def _consider_file(self, folder: _Folder, opened: int, name: bytes, status: os.stat_result) -> None:
        path = folder.below(name)
        known, mode = self.index.entries.get(path), git_mode(status)
        stamp = file_stamp(status, mode)
        if known and self.index.is_unchanged(known, stamp):
            self.entries[path] = known
        elif not known and (folder.ignored or self._is_ignored(folder, name, is_folder=False)):
            return
        else:
            self._consider_change(path, opened, name, status)

    def _consider_change(self, path: bytes, opened: int, name: bytes, status: os.stat_result) -> None:
        mode = git_mode(status)
        if is_whiteout(status):
            return
        if path not in self.index.entries:
            self._count_new(path)
        if not mode:
            self._leave_out(path, "neither a file nor a link", has_content=False)
        elif mode == LINK and name.lower() == b".gitmodules":
            self._leave_out(path, "git does not allow a link of this name")
        else:
            self._read_file(path, opened, name, status)

    def _read_file(self, path: bytes, opened: int, name: bytes, status: os.stat_result) -> None:
        known = self.index.entries.get(path)
        if status.st_size > min(self.limits.max_file_bytes, self.limits.max_new_bytes - self.new_bytes):
            self._keep_committed_file(path, f"too large ({status.st_size:,} bytes)")
            return
        try:
            content, status = (
                _read_link(opened, name)
                if stat.S_ISLNK(status.st_mode)
                else read_file(name, dir_fd=opened, limit=self.limits.max_file_bytes)
            )
        except FileNotFoundError:
            return
        except OSError as exc:
            self._keep_committed_file(path, _reason(exc))
            return
        self.new_bytes += len(content)
        stamp = file_stamp(status, git_mode(status))
        sha = self.store(self._as_stored(path, content, stat.S_ISREG(status.st_mode)))
        self.entries[path] = known if known and known == (stamp, sha) else IndexEntry(stamp, sha)

    def _as_stored(self, path: bytes, content: bytes, is_file: bool) -> bytes:  # noqa: FBT001
        """Returns the pointer to a file under Git LFS. What is committed otherwise stays so until it changes."""
        if not (content and is_file and self.lfs and self.lfs.covers(tuple(path.split(b"/")))):
            return content
        known = self.index.entries.get(path)
        if parse_pointer(content) or (known and known.sha == blob_id(content)):
            return content
        self.store_lfs(content)
        return pointer_to(content).content

    def _is_ignored(self, folder: _Folder, name: bytes, *, is_folder: bool) -> bool:
        parts = (*folder.parts, name)
        if self.always_ignored.last_match(parts, is_folder=is_folder):
            return True
        return is_ignored(parts, folder.layers, is_folder=is_folder)

    def _leave_out(self, path: bytes, reason: str, *, has_content: bool = True) -> None:
        self.is_whole = self.is_whole and not has_content
        self.left_out.append(f"{printable_path(path)}: {reason}")

    def _keep_committed_file(self, path: bytes, reason: str) -> None:
        """Keeps an unreadable file as committed, so that it does not look deleted."""
        self._leave_out(path, reason)
        if known := self.index.entries.get(path):
            self.entries[path] = IndexEntry(unknown_stamp(known.mode), known.sha)

    def _keep_committed_folder(self, path: bytes, reason: str) -> None:
        self._leave_out(path or b".", reason)
        self.unread.add(path)

    def _keep_unread_folders(self) -> None:
        if self.unread:
            for name, entry in self.index.entries.items():
                if not self.unread.isdisjoint((b"", *_parent_folders([name]))):
                    self.entries[name] = entry

    def _keep_submodules(self) -> None:
        """Keeps submodules as committed: their content belongs to another repository."""
        submodules = {name: entry for name, entry in self.index.entries.items() if entry.mode == SUBMODULE}
        folders = frozenset(_parent_folders(self.entries)) if submodules else frozenset()
        for name, entry in submodules.items():
            taken = name in folders or any(parent in self.entries for parent in _parent_folders([name]))
            if name not in self.entries and not taken:
                self.entries[name] = entry


def _parent_folders(names: Mapping[bytes, object] | Sequence[bytes]) -> Iterator[bytes]:
    for name in names:
        at = name.find(b"/")
        while at >= 0:
            yield name[:at]
            at = name.find(b"/", at + 1)


def _read_rules(path: bytes, folder: int, limit: int = MAX_ATTRIBUTES_BYTES) -> bytes:
    """Treats what is no file as git does: as no rules."""
    try:
        return read_file(path.rpartition(b"/")[2], dir_fd=folder, limit=limit)[0]
    except OSError as exc:
        if exc.errno == errno.EFBIG:
            raise OverLimit(f"{printable_path(path)} has more than {limit // 1024} KB; shorten it.") from exc
        return b""


def _read_link(opened: int, name: bytes) -> tuple[bytes, os.stat_result]:
    status = os.stat(name, dir_fd=opened, follow_symlinks=False)
    return os.readlink(name, dir_fd=opened), status


def _reason(exc: OSError) -> str:
    return (exc.strerror or "cannot be read").lower()

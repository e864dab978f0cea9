"""Files of the operator's that a worktree needs and git does not have: which ones, and their content.

Rule: only regular files that git ignores where they are, and that the repository does not track. No link is followed.
Git runs here, in the operator's own folder, where no agent has ever been.
"""

import errno
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git_bytes
from bot.git.objects import hash_content
from bot.workspace.safe_files import read_within, status_within, write_within

INCLUDES = ".worktreeinclude"

_LARGEST = 10_000_000
_MOST = 200
_PATTERN = re.compile(r"[*?\[]")
_USUAL = (".env",)
"""Wished for by nobody in particular, so it may be missing."""


@dataclass(frozen=True, slots=True)
class Source:
    folder: Path
    tracked: Collection[str]
    """What the repository has, in the commit that the work starts from."""

    def find(self, wanted: Sequence[str], included: str) -> Mapping[str, bytes]:
        """The content by path. `included`: patterns as in .gitignore, for files that may be there."""
        git_dir = self.folder / ".git"
        is_repository = git_dir.exists()
        exact = [path for path in wanted if not _PATTERN.search(path)]
        patterns = [path for path in wanted if _PATTERN.search(path)]
        named = [path for path in map(_plain, exact) if self._is_there(path)]
        if is_repository:
            self._refuse_shown(named, git_dir)
        matched = [*self._matching(patterns, git_dir), *self._matching(included.splitlines(), git_dir)]
        found = dict.fromkeys((*named, *(path for path in matched if path not in self.tracked)))
        if len(found) > _MOST:
            raise NeedsHuman(f"copy: {len(found)} files of {self.folder} match, and {_MOST} are the most I copy.")
        return {path: self._content(path) for path in found}

    def _is_there(self, path: str) -> bool:
        try:
            status = status_within(self.folder, path)
        except OSError as exc:
            if exc.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise self._refusal(path, "lies behind a link, and I follow none") from exc
            if path in _USUAL:
                return False
            raise self._refusal(path, "is not there") from exc
        if stat.S_ISLNK(status.st_mode):
            raise self._refusal(path, "is a link, and I follow none")
        if stat.S_ISDIR(status.st_mode):
            raise self._refusal(path, "is a directory; name files, or use a pattern such as `config/*.local`")
        if not stat.S_ISREG(status.st_mode):
            raise self._refusal(path, "is no file")
        return self._is_untracked(path)

    def _is_untracked(self, path: str) -> bool:
        if path not in self.tracked:
            return True
        if path in _USUAL:
            return False
        raise self._refusal(path, "is tracked by git, so it is in every worktree as it is")

    def _refuse_shown(self, named: Sequence[str], git_dir: Path) -> None:
        ignored = self._ignored(named, git_dir)
        for path in named:
            if path not in ignored:
                raise self._refusal(path, "is not ignored by git there; I copy only what cannot be committed")

    def _matching(self, patterns: Sequence[str], git_dir: Path) -> Sequence[str]:
        wanted = [f"--exclude={one}" for one in patterns if one.strip() and not one.startswith("#")]
        if not wanted:
            return ()
        if not git_dir.exists():
            return sorted(self._by_hand(patterns))
        words = ("ls-files", "-z", "--others", "--ignored", *wanted)
        listed = git_bytes(git_dir, f"--work-tree={self.folder}", *words).split(b"\0")[:-1]
        names = [name.decode(errors="surrogateescape") for name in listed]
        ignored = self._ignored(names, git_dir)
        return [name for name in names if name in ignored and self._is_file(name)]

    def _by_hand(self, patterns: Sequence[str]) -> Iterator[str]:
        for pattern in patterns:
            for path in self.folder.glob(_plain(pattern)):
                name = str(path.relative_to(self.folder))
                if self._is_file(name):
                    yield name

    def _is_file(self, path: str) -> bool:
        try:
            return stat.S_ISREG(status_within(self.folder, path).st_mode)
        except OSError:
            return False

    def _ignored(self, names: Sequence[str], git_dir: Path) -> frozenset[str]:
        if not names:
            return frozenset()
        asked = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names)
        words = (f"--work-tree={self.folder}", "check-ignore", "-z", "--stdin")
        try:
            told = git_bytes(git_dir, *words, stdin=asked)
        except GitFailed as none:
            if none.code != 1:
                raise
            return frozenset()
        return frozenset(name.decode(errors="surrogateescape") for name in told.split(b"\0")[:-1])

    def _content(self, path: str) -> bytes:
        try:
            return read_within(self.folder, path, limit=_LARGEST)
        except OSError as exc:
            raise self._refusal(path, f"cannot be read: {(exc.strerror or 'too large').lower()}") from exc

    def _refusal(self, path: str, why: str) -> NeedsHuman:
        return NeedsHuman(f"copy: {path} in {self.folder} {why}.")


def _plain(path: str) -> str:
    """Seen from the folder, and never out of it."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or ".." in parts or ".git" in parts:
        raise NeedsHuman(f"copy: {path!r} is no path inside the folder.")
    return "/".join(parts)


def put(found: Mapping[str, bytes], folder: Path, before: Mapping[str, str], *, over: bool = False) -> dict[str, str]:
    """Into a worktree, for its owner alone; by path, the object ids of what lies there as a copy now.

    What somebody has changed or made there stays as it is. `over`: it goes before what is there.
    """
    copied = dict(before)
    for path, content in found.items():
        there, sha = _sha_of(folder, path), hash_content(content).hex()
        if there not in {"", sha, before.get(path)} and not over:
            continue
        if there != sha:
            _write(folder, path, content)
        copied[path] = sha
    return copied


def _write(folder: Path, path: str, content: bytes) -> None:
    try:
        write_within(folder, path, content)
    except OSError as exc:
        if exc.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise NeedsHuman(f"copy: {path} cannot be put into the worktree: {(exc.strerror or '').lower()}.") from exc


def _sha_of(folder: Path, path: str) -> str:
    """Of the file that is there; empty: none is."""
    try:
        return hash_content(read_within(folder, path)).hex()
    except FileNotFoundError:
        return ""
    except OSError as exc:
        raise NeedsHuman(f"copy: {path} cannot be put into the worktree: {(exc.strerror or '').lower()}.") from exc

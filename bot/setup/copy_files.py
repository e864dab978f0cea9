"""Copies the operator's ignored files, such as .env, into a worktree.

Rule: only regular files that git ignores where they are, and that the repository does not track. No link is followed.
Git runs in the operator's own folder, which no agent can write.
"""

import errno
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git_bytes
from bot.git.objects import blob_id
from bot.system.disk import is_full_disk
from bot.workspace.safe_files import read_within, status_within, write_within

INCLUDE_FILE = ".worktreeinclude"

_MAX_BYTES = 10_000_000
_MAX_FILES = 200
_PATTERN = re.compile(r"[*?\[]")
_OPTIONAL = (".env",)
"""Copied by default, so they may be missing."""


@dataclass(frozen=True, slots=True)
class CopySource:
    folder: Path
    tracked: Collection[str]
    """Names of the tracked files in the commit that the work starts from."""

    def find(self, wanted: Sequence[str], included: str) -> Mapping[str, bytes]:
        """Returns contents by path. `included`: patterns as in .gitignore, for files that may be missing."""
        git_dir = self.folder / ".git"
        is_repository = git_dir.exists()
        exact = [path for path in wanted if not _PATTERN.search(path)]
        patterns = [path for path in wanted if _PATTERN.search(path)]
        named = [path for path in map(_safe_path, exact) if self._is_copyable(path)]
        if is_repository:
            self._refuse_unignored(named, git_dir)
        matched = [*self._matching(patterns, git_dir), *self._matching(included.splitlines(), git_dir)]
        files = dict.fromkeys((*named, *(path for path in matched if path not in self.tracked)))
        if len(files) > _MAX_FILES:
            raise NeedsHuman(f"copy: {len(files)} files of {self.folder} match; the limit is {_MAX_FILES}.")
        return {path: self._content(path) for path in files}

    def _is_copyable(self, path: str) -> bool:
        try:
            status = status_within(self.folder, path)
        except OSError as exc:
            if exc.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise self._refusal(path, "is behind a link; links are not followed") from exc
            if path in _OPTIONAL:
                return False
            raise self._refusal(path, "does not exist") from exc
        if stat.S_ISLNK(status.st_mode):
            raise self._refusal(path, "is a link; links are not followed")
        if stat.S_ISDIR(status.st_mode):
            raise self._refusal(path, "is a directory; name files, or use a pattern such as `config/*.local`")
        if not stat.S_ISREG(status.st_mode):
            raise self._refusal(path, "is not a file")
        return self._is_untracked(path)

    def _is_untracked(self, path: str) -> bool:
        if path not in self.tracked:
            return True
        if path in _OPTIONAL:
            return False
        raise self._refusal(path, "is tracked by git, so every worktree already has it")

    def _refuse_unignored(self, named: Sequence[str], git_dir: Path) -> None:
        ignored = self._ignored(named, git_dir)
        for path in named:
            if path not in ignored:
                raise self._refusal(path, "is not ignored by git there; only ignored files are copied")

    def _matching(self, patterns: Sequence[str], git_dir: Path) -> Sequence[str]:
        wanted = [f"--exclude={one}" for one in patterns if one.strip() and not one.startswith("#")]
        if not wanted:
            return ()
        if not git_dir.exists():
            return sorted(self._glob(patterns))
        words = ("ls-files", "-z", "--others", "--ignored", *wanted)
        listed = git_bytes(git_dir, f"--work-tree={self.folder}", *words).split(b"\0")[:-1]
        names = [name.decode(errors="surrogateescape") for name in listed]
        ignored = self._ignored(names, git_dir)
        return [name for name in names if name in ignored and self._is_file(name)]

    def _glob(self, patterns: Sequence[str]) -> Iterator[str]:
        for pattern in patterns:
            for path in self.folder.glob(_safe_path(pattern)):
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
        names_given = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names)
        words = (f"--work-tree={self.folder}", "check-ignore", "-z", "--stdin")
        try:
            printed = git_bytes(git_dir, *words, stdin=names_given)
        except GitFailed as problem:
            if problem.code != 1:
                raise
            return frozenset()
        return frozenset(name.decode(errors="surrogateescape") for name in printed.split(b"\0")[:-1])

    def _content(self, path: str) -> bytes:
        try:
            return read_within(self.folder, path, limit=_MAX_BYTES)
        except OSError as exc:
            raise self._refusal(path, f"cannot be read: {(exc.strerror or 'too large').lower()}") from exc

    def _refusal(self, path: str, why: str) -> NeedsHuman:
        return NeedsHuman(f"copy: {path} in {self.folder} {why}.")


def _safe_path(path: str) -> str:
    """Normalizes a relative path. Raises NeedsHuman if it leads out of the folder or into .git."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or ".." in parts or ".git" in parts:
        raise NeedsHuman(f"copy: {path!r} is not a path inside the folder.")
    return "/".join(parts)


def copy_into(
    files: Mapping[str, bytes], folder: Path, before: Mapping[str, str], *, overwrite: bool = False
) -> dict[str, str]:
    """Copies into a worktree, readable for its owner alone. Returns the object ids of all copies there by path.

    Keeps files that have been changed or made in the worktree, unless `overwrite`.
    """
    copied = dict(before)
    for path, content in files.items():
        present, sha = _sha_of(folder, path), blob_id(content).hex()
        if present not in {"", sha, before.get(path)} and not overwrite:
            continue
        if present != sha:
            _write(folder, path, content)
        copied[path] = sha
    return copied


def _write(folder: Path, path: str, content: bytes) -> None:
    try:
        write_within(folder, path, content)
    except OSError as exc:
        if is_full_disk(exc):
            raise
        raise NeedsHuman(f"copy: {path} cannot be copied into the worktree: {(exc.strerror or '').lower()}.") from exc


def _sha_of(folder: Path, path: str) -> str:
    """Object id of the file; empty if there is none."""
    try:
        return blob_id(read_within(folder, path)).hex()
    except FileNotFoundError:
        return ""
    except OSError as exc:
        raise NeedsHuman(f"copy: {path} cannot be copied into the worktree: {(exc.strerror or '').lower()}.") from exc

"""Diff view: a run's changed files against the base, as people see them at one moment."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from bot.text.invisible_characters import is_invisible

_PROGRAM, _LINK, _SUBMODULE = 0o100755, 0o120000, 0o160000
_KINDS = {_PROGRAM: "program", _LINK: "link", _SUBMODULE: "submodule"}


def display_path(path: str) -> str:
    """On one line, for people."""
    text = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "".join(ascii(letter)[1:-1] if is_invisible(letter) or letter in "\n\t" else letter for letter in text)


class ChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The object at a path."""

    path: str
    """Any bytes survive, as surrogates."""
    mode: int
    sha: str

    @property
    def kind(self) -> str:
        """Returns the kind of a special file; empty for a regular one."""
        return _KINDS.get(self.mode, "")

    @property
    def has_content(self) -> bool:
        return self.mode != _SUBMODULE


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A changed file."""

    kind: ChangeKind
    before: FileVersion | None
    after: FileVersion | None
    added: int = 0
    removed: int = 0
    is_binary: bool = False

    @property
    def path(self) -> str:
        return self._latest.path

    @property
    def display_path(self) -> str:
        return display_path(self.path)

    @property
    def old_display_path(self) -> str:
        """Path before the rename."""
        return display_path(self.before.path) if self.before else ""

    @property
    def id(self) -> str:
        """Hash of the path, so that it stays the same while the content changes."""
        return hashlib.sha256(self.path.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Hash that changes with the file's content, path or mode."""
        words = f"{self.before} {self.after}"
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def new_mode(self) -> str:
        """Returns the change of kind, such as `file → symlink`; empty if unchanged."""
        if not (self.before and self.after) or self.before.mode == self.after.mode:
            return ""
        return f"{self.before.kind or 'file'} → {self.after.kind or 'file'}"

    @property
    def _latest(self) -> FileVersion:
        found = self.after or self.before
        assert found
        return found


@dataclass(frozen=True, slots=True)
class DiffView:
    """All changed files of a run."""

    files: tuple[FileDiff, ...] = ()
    live: bool = False
    """Read from the worktree; otherwise from the last commit."""
    left_out: tuple[str, ...] = ()
    """Files that are not shown, each with the reason."""
    trouble: str = ""
    """Reason why changes are missing; empty if all are shown."""

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    @property
    def fingerprint(self) -> str:
        words = " ".join((*(file.fingerprint for file in self.files), *self.left_out, self.trouble, str(self.live)))
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]

    def find(self, id_: str) -> FileDiff | None:
        return next((file for file in self.files if file.id == id_), None)

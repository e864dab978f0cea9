"""What people are shown of a run's changes: file by file, against the base, as of one moment."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from bot.text.visible import is_unseen

_PROGRAM, _LINK, _SUBMODULE = 0o100755, 0o120000, 0o160000
_KINDS = {_PROGRAM: "program", _LINK: "link", _SUBMODULE: "submodule"}


def shown(path: str) -> str:
    """On one line, for people."""
    text = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "".join(ascii(letter)[1:-1] if is_unseen(letter) or letter in "\n\t" else letter for letter in text)


class Fate(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Version:
    """What lies at a path."""

    path: str
    """Any bytes survive, as surrogates."""
    mode: int
    sha: str

    @property
    def kind(self) -> str:
        """In a word, where it is no ordinary file."""
        return _KINDS.get(self.mode, "")

    @property
    def has_content(self) -> bool:
        return self.mode != _SUBMODULE


@dataclass(frozen=True, slots=True)
class SeenFile:
    """One that is not as it was."""

    fate: Fate
    before: Version | None
    now: Version | None
    added: int = 0
    removed: int = 0
    is_binary: bool = False

    @property
    def path(self) -> str:
        return self._latest.path

    @property
    def shown(self) -> str:
        return shown(self.path)

    @property
    def old_shown(self) -> str:
        """As it was called before."""
        return shown(self.before.path) if self.before else ""

    @property
    def id(self) -> str:
        """Of the path, so that it stays the same while the content changes."""
        return hashlib.sha256(self.path.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def print(self) -> str:
        """Another one whenever anything about it is different."""
        words = f"{self.before} {self.now}"
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def new_mode(self) -> str:
        """In words, where it became another one."""
        if not (self.before and self.now) or self.before.mode == self.now.mode:
            return ""
        return f"{self.before.kind or 'file'} → {self.now.kind or 'file'}"

    @property
    def _latest(self) -> Version:
        found = self.now or self.before
        assert found
        return found


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything that is not as it was."""

    files: tuple[SeenFile, ...] = ()
    live: bool = False
    """As it lies in the worktree now; else as it was committed last."""
    left_out: tuple[str, ...] = ()
    """What is not shown, each with the reason."""
    trouble: str = ""
    """Why there is less to see than there might be."""

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    @property
    def print(self) -> str:
        words = " ".join((*(file.print for file in self.files), *self.left_out, self.trouble, str(self.live)))
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]

    def find(self, id_: str) -> SeenFile | None:
        return next((file for file in self.files if file.id == id_), None)

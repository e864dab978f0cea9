"""A worktree of the pool follows its base: the files that changed, and nothing else.

Rule: setup has been in there, so no git works in it, and no link is followed. What it holds afterwards is compared with
the commit; in any doubt it is not brought up, and another is made.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from bot.git.command import git_bytes
from bot.git.index import FILE, PROGRAM
from bot.publish_guard.path_collisions import text_of
from bot.publish_guard.path_rules import canonical
from bot.workspace.branch import tree_of
from bot.workspace.paths import BASES
from bot.workspace.safe_files import remove_within, write_within
from bot.workspace.worktree import Worktree

_MOST = 300
_NONE = 0
_MODES = {FILE: 0o666, PROGRAM: 0o777}
"""As git makes them; the umask does the rest."""


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    was: int
    mode: int
    sha: str


def bring_up(worktree: Worktree, commit: str, refs: dict[str, str]) -> bool:
    """From the commit it was made of to this one. False: it could not be, and it is good for nothing now."""
    old = refs[worktree.ref]
    with contextlib.suppress(OSError, ValueError):
        changes = list(_changes(worktree, old, commit))
        if len(changes) > _MOST:
            return False
        for change in changes:
            _apply(worktree, change)
        with worktree.look(commit) as look:
            if look.tree != tree_of(worktree, commit):
                return False
            worktree.remember(look)
        _repoint(worktree, commit, refs)
        return True
    return False


def _changes(worktree: Worktree, old: str, new: str) -> Iterator[_Change]:
    raw = git_bytes(worktree.mirror.path, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    fields = raw.split(b"\0")[:-1]
    for facts, path in zip(fields[::2], fields[1::2], strict=True):
        was, mode, _, sha, _ = facts.decode().removeprefix(":").split(" ")
        change = _Change(text_of(path), int(was, 8), int(mode, 8), sha)
        if not {change.was, change.mode} <= {_NONE, *_MODES}:
            raise ValueError(f"{path!r} is, or was, no plain file")
        if canonical(change.path).rpartition("/")[2] == ".gitignore":
            raise ValueError("what setup made may count as somebody's work now")
        yield change


def _apply(worktree: Worktree, change: _Change) -> None:
    folder = worktree.place.folder
    if change.mode == _NONE:
        remove_within(folder, change.path)
    else:
        content = git_bytes(worktree.mirror.path, "cat-file", "blob", change.sha)
        write_within(folder, change.path, content, mode=_MODES[change.mode])


def _repoint(worktree: Worktree, commit: str, refs: dict[str, str]) -> None:
    place, base = worktree.place, f"{BASES}{worktree.place.branch}"
    worktree.mirror.update({worktree.ref: (commit, refs[worktree.ref]), base: (commit, refs[base])})
    fresh = place.shadow.with_name(f"{place.shadow.name}~index")
    shutil.copy2(place.admin / "index", fresh)
    fresh.replace(place.shadow / "index")

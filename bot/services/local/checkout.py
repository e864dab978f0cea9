"""The user's folder in which the target branch of a merge is checked out: it is brought to the merge with the branch.

Rule: no hook runs, and nothing is overwritten that is not committed. The filters of the user's own settings apply,
such as those of Git LFS, as in a pull of theirs.
"""

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git
from bot.git.user_repository import user_git_config

_TIME_LIMIT = 600
_MAX_LISTED = 5
_AS_THE_USER = {"GIT_LFS_SKIP_SMUDGE": "0", "GIT_NO_LAZY_FETCH": "0"}
_IN_THE_WAY = ("would be overwritten", "resolve your current index")


@dataclass(frozen=True, slots=True)
class Checkout:
    folder: Path
    git_dir: Path
    """The git directory of this worktree, with its HEAD and index."""


def find_clean_checkout(user_git_dir: Path, branch: str, commit: str) -> Checkout | None:
    """Returns None if the branch is checked out nowhere. Raises NeedsHuman if there is uncommitted work in it.

    An earlier try may have stopped when the files were already those of the merge.
    """
    found = _checkouts_of(user_git_dir, branch)
    if len(found) > 1:
        folders = " and ".join(str(one.folder) for one in found)
        raise NeedsHuman(
            f"{branch} is checked out in {folders}. Nothing was merged: switch all but one to another branch."
        )
    for one in found:
        changed = _changed_files(one)
        if changed and not _has_content_of(one, commit):
            raise NeedsHuman(
                f"{one.folder} has {branch} checked out, with uncommitted changes in {_listed(changed)}. Nothing was "
                f"merged. Commit them, or put them aside with `git -C {shlex.quote(str(one.folder))} stash`; then "
                "merge again."
            )
    return found[0] if found else None


@contextmanager
def updated_files(checkout: Checkout, before: str, after: str) -> Iterator[None]:
    """Brings index and files to a commit; takes that back if the block fails.

    Raises NeedsHuman if a file that is in no commit is in the way.
    """
    if lost := _files_in_the_way(checkout, before, after):
        raise NeedsHuman(
            f"{checkout.folder}: nothing was merged. Untracked files would be overwritten: {_listed(lost)}. Move them "
            "away; then merge again."
        )
    try:
        _git_in(checkout, "read-tree", "-m", "-u", before, after)
    except GitFailed as problem:
        if any(words in problem.stderr for words in _IN_THE_WAY):
            raise NeedsHuman(f"{checkout.folder}: nothing was merged. {problem.stderr.strip()}") from problem
        raise
    try:
        yield
    except GitFailed:
        _git_in(checkout, "read-tree", "-m", "-u", after, before)
        raise


def _checkouts_of(user_git_dir: Path, branch: str) -> list[Checkout]:
    found = []
    listed = git(user_git_dir, "worktree", "list", "--porcelain", "-z")
    for number, entry in enumerate(listed.strip("\0").split("\0\0")):
        lines = entry.split("\0")
        folder = Path(lines[0].removeprefix("worktree "))
        if f"branch refs/heads/{branch}" in lines and (number == 0 or (folder / ".git").exists()):
            found.append(Checkout(folder, user_git_dir if number == 0 else folder / ".git"))
    return found


def _changed_files(checkout: Checkout) -> list[str]:
    """Tracked files only."""
    status = _git_in(checkout, "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
    return [entry[3:] for entry in status.split("\0") if entry]


def _files_in_the_way(checkout: Checkout, before: str, after: str) -> list[str]:
    """Untracked files, also ignored ones: git overwrites those without a word."""
    added = _git_in(checkout, "diff-tree", "-r", "--no-renames", "--diff-filter=A", "--name-only", "-z", before, after)
    there = {file for path in filter(None, added.split("\0")) for file in _files_at(checkout.folder, path)}
    return sorted(there.difference(_git_in(checkout, "ls-files", "-z").split("\0"))) if there else []


def _files_at(top: Path, path: str) -> Iterator[str]:
    """Yields files in the place of one of its folders, or its own, and all files of a folder in its own."""
    for place in accumulate(path.split("/"), "{}/{}".format):
        try:
            mode = (top / place).lstat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            yield place
            return
    for within, folders, files in os.walk(top / path):
        links = (name for name in folders if Path(within, name).is_symlink())
        yield from (str(Path(within, name).relative_to(top)) for name in (*files, *links))


def _has_content_of(checkout: Checkout, commit: str) -> bool:
    try:
        _git_in(checkout, "diff-index", "--quiet", commit, "--")
    except GitFailed as problem:
        if problem.code == 1:
            return False
        raise
    return True


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _git_in(checkout: Checkout, *args: str) -> str:
    env = {**_AS_THE_USER, **user_git_config()}
    return git(checkout.git_dir, f"--work-tree={checkout.folder}", *args, env=env, timeout=_TIME_LIMIT)

"""How a merge reaches the person's own repository: objects first, the branch last, and never what is checked out.

Rule: whoever has the branch checked out is left at the commit they have, on no branch, before the branch moves. Their
index and files are exactly what they were. Stopping between any two steps does no harm, and a repeat completes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, git
from bot.services.local.repository import Repository, tip_of

_TIME_LIMIT = 120


class Style(StrEnum):
    MERGE = "merge"
    SQUASH = "squash"


@dataclass(frozen=True, slots=True)
class Signature:
    """Whose commit it is, and when it was made."""

    name: str
    email: str
    at: float

    def env(self) -> Mapping[str, str]:
        who = {"NAME": self.name, "EMAIL": self.email, "DATE": f"@{int(self.at)} +0000"}
        return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}


@dataclass(frozen=True, slots=True)
class Joint:
    """What is to become of two commits."""

    base: str
    head: str
    style: Style
    message: str


def combine(bare: Path, joint: Joint, signature: Signature) -> str:
    """The commit that brings head into base, or NeedsHuman with the files that conflict. Nothing points at it yet."""
    try:
        tree = git(bare, "merge-tree", "--write-tree", joint.base, joint.head, timeout=_TIME_LIMIT)
    except GitFailed as exc:
        if exc.code != 1:
            raise
        raise NeedsHuman(
            f"It conflicts with the base branch in {_conflicts(bare, joint)}. Nothing was merged."
        ) from exc
    parents = ["-p", joint.base] + (["-p", joint.head] if joint.style is Style.MERGE else [])
    return git(bare, "commit-tree", tree, *parents, "-F", "-", env=signature.env(), stdin=joint.message.encode())


def land(repository: Repository, branch: str, commit: str, *, expected: str, signature: Signature) -> tuple[Path, ...]:
    """Move the person's branch from `expected` to the commit. The folders that were left behind, on no branch."""
    theirs = repository.theirs()
    _hand_over(repository.bare, theirs, commit)
    if tip_of(theirs, branch) != expected:
        raise Retryable(f"{branch} moved while merging. Nothing has changed; merge again.")
    detached: list[tuple[Path, Path]] = []
    try:
        for folder, git_dir in _checked_out(theirs, branch):
            git(git_dir, "update-ref", "--no-deref", *_reason(branch), "HEAD", expected, expected, env=signature.env())
            detached.append((folder, git_dir))
        git(theirs, "update-ref", *_reason(branch), f"refs/heads/{branch}", commit, expected, env=signature.env())
    except GitFailed as exc:
        for _, git_dir in detached:
            git(git_dir, "symbolic-ref", *_reason(branch), "HEAD", f"refs/heads/{branch}", env=signature.env())
        raise Retryable(f"{branch} could not be moved. Nothing has changed; merge again. ({exc})") from exc
    return tuple(folder for folder, _ in detached)


def _hand_over(bare: Path, theirs: Path, commit: str) -> None:
    """Only objects: no ref of theirs moves, and no FETCH_HEAD of theirs is written."""
    ref = f"refs/treehand/landing/{commit}"
    git(bare, "update-ref", ref, commit)
    git(theirs, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(bare), ref, timeout=_TIME_LIMIT)
    git(bare, "update-ref", "-d", ref)


def _checked_out(theirs: Path, branch: str) -> list[tuple[Path, Path]]:
    """Every folder that has the branch checked out, and the git directory that holds its HEAD."""
    found = []
    listed = git(theirs, "worktree", "list", "--porcelain", "-z")
    for number, entry in enumerate(listed.strip("\0").split("\0\0")):
        lines = entry.split("\0")
        folder = Path(lines[0].removeprefix("worktree "))
        if f"branch refs/heads/{branch}" in lines and (number == 0 or (folder / ".git").exists()):
            found.append((folder, theirs if number == 0 else folder / ".git"))
    return found


def _conflicts(bare: Path, joint: Joint) -> str:
    try:
        git(bare, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", joint.base, joint.head)
    except GitFailed as exc:
        names = [name for name in exc.stdout.decode(errors="replace").split("\0")[1:] if name]
        shown = ", ".join(names[:5])
        return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
    return "files"


def _reason(branch: str) -> tuple[str, str]:
    return "-m", f"treehand: merged into {branch}"


def receive(repository: Repository, source: Path, ref: str, branch: str) -> str:
    """A commit from another repository of ours as a branch of theirs. Its name: one that was free, or has just that."""
    theirs, commit = repository.theirs(), git(source, "rev-parse", ref)
    name, number = branch, 1
    while tip_of(theirs, name) not in {"", commit}:
        number += 1
        name = f"{branch}-{number}"
    git(theirs, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source), f"{ref}:refs/heads/{name}")
    return name

"""Git steps of a local merge: makes the commit, copies objects to the user's repository, then moves the branch.

Rule: a checkout of the branch is updated with it, and only if no tracked file in it has uncommitted changes. Stopping
between two steps is harmless, and a repeat completes the merge.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bot.errors import NeedsHuman, Retryable
from bot.git.absent_content import own_lfs_objects
from bot.git.command import GitFailed, git
from bot.git.lfs import copy_objects, lfs_objects
from bot.services.local.checkout import find_clean_checkout, updated_files
from bot.services.local.repository import LocalRepository, branch_tip

_TIME_LIMIT = 120
_MOST_COMMITS = 1000
_MOST_CO_AUTHORS = 20


class MergeStyle(StrEnum):
    MERGE = "merge"
    SQUASH = "squash"


@dataclass(frozen=True, slots=True)
class CommitSignature:
    """Author, committer and date of a merge commit."""

    name: str
    email: str
    at: float

    def env(self) -> Mapping[str, str]:
        who = {"NAME": self.name, "EMAIL": self.email, "DATE": f"@{int(self.at)} +0000"}
        return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """Two commits to merge, and how."""

    base: str
    head: str
    style: MergeStyle
    message: str


def co_authors(bare: Path, plan: PlannedMerge, merged_by: CommitSignature) -> tuple[str, ...]:
    """Returns a line for everybody but the person who merges: authors of the commits, and those they name."""
    form = "--format=Co-authored-by: %an <%ae>%n%(trailers:key=Co-authored-by)"
    log = git(bare, "log", form, f"--max-count={_MOST_COMMITS}", f"{plan.base}..{plan.head}", timeout=_TIME_LIMIT)
    own = f"<{merged_by.email}>".casefold()
    lines = (line for line in log.splitlines() if line.startswith("Co-authored-by: "))
    return tuple(dict.fromkeys(line for line in lines if own not in line.casefold()))[:_MOST_CO_AUTHORS]


def create_merge_commit(bare: Path, plan: PlannedMerge, signature: CommitSignature) -> str:
    """Returns a commit that merges head into base, on no ref yet. Raises NeedsHuman with the conflicting files."""
    try:
        tree = git(bare, "merge-tree", "--write-tree", plan.base, plan.head, timeout=_TIME_LIMIT)
    except GitFailed as exc:
        if exc.code != 1:
            raise
        raise NeedsHuman(
            f"The pull request conflicts with the base branch in {_conflicting_files(bare, plan)}. Nothing was merged."
        ) from exc
    parents = ["-p", plan.base] + (["-p", plan.head] if plan.style is MergeStyle.MERGE else [])
    return git(bare, "commit-tree", tree, *parents, "-F", "-", env=signature.env(), stdin=plan.message.encode())


def move_branch(
    repository: LocalRepository, branch: str, commit: str, *, expected: str, signature: CommitSignature
) -> Path | None:
    """Moves the user's branch from `expected` to the commit. Returns the folder whose files were updated with it."""
    user_git_dir = repository.user_git_dir()
    _copy_objects(repository.bare, user_git_dir, commit)
    _copy_lfs_objects(repository, repository.bare, commit)
    checkout = find_clean_checkout(user_git_dir, branch, commit)
    if branch_tip(user_git_dir, branch) != expected:
        raise Retryable(f"{branch} moved while merging. Nothing has changed; merge again.")
    message = f"treehand: merged into {branch}"
    move = ("update-ref", "-m", message, f"refs/heads/{branch}", commit, expected)
    try:
        with updated_files(checkout, expected, commit) if checkout else nullcontext():
            git(user_git_dir, *move, env=signature.env())
    except GitFailed as exc:
        raise Retryable(f"{branch} could not be moved. Nothing has changed; merge again. ({exc})") from exc
    return checkout.folder if checkout else None


def _copy_objects(bare: Path, user_git_dir: Path, commit: str) -> None:
    """Copies objects only: no ref and no FETCH_HEAD of the user changes."""
    ref = f"refs/treehand/landing/{commit}"
    git(bare, "update-ref", ref, commit)
    git(user_git_dir, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(bare), ref, timeout=_TIME_LIMIT)
    git(bare, "update-ref", "-d", ref)


def _copy_lfs_objects(repository: LocalRepository, source: Path, commit: str) -> None:
    user_git_dir = repository.user_git_dir()
    copy_objects(user_git_dir, lfs_objects(source), own_lfs_objects(user_git_dir), commit, "--not", "--branches")


def _conflicting_files(bare: Path, plan: PlannedMerge) -> str:
    try:
        git(bare, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", plan.base, plan.head)
    except GitFailed as exc:
        names = [name for name in exc.stdout.decode(errors="replace").split("\0")[1:] if name]
        shown = ", ".join(names[:5])
        return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
    return "files"


def copy_as_branch(repository: LocalRepository, source: Path, ref: str, branch: str) -> str:
    """Copies a commit to a branch of the user's repository. Returns the branch's name, numbered if it was used."""
    user_git_dir, commit = repository.user_git_dir(), git(source, "rev-parse", ref)
    name, number = branch, 1
    while branch_tip(user_git_dir, name) not in {"", commit}:
        number += 1
        name = f"{branch}-{number}"
    fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source))
    git(user_git_dir, *fetch, ref)
    _copy_lfs_objects(repository, source, commit)
    git(user_git_dir, *fetch, f"{ref}:refs/heads/{name}")
    return name

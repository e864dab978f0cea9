"""Bare repository of the local forge: the user's branches as fetched, and the bot's own.

Rule: nothing here writes to the user's repository; only merge_git.py does, when a person merges. Nothing is shared with
it either: its packs hold what no branch contains, and agents read the objects that are here.
"""

import contextlib
import logging
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.base_branch import branch_names, choose_base
from bot.git.command import GitFailed, git
from bot.git.commit_files import find_blob, read_blob
from bot.git.diff_text import diff_text
from bot.git.history import create_refs, is_large, is_suspected, pack_history
from bot.git.progress import git_with_progress
from bot.git.unreadable import ensure_readable, incomplete, is_partial, why_unreadable
from bot.system.locks import exclusive_lock

log = logging.getLogger(__name__)

OUR_BRANCHES = "refs/heads/treehand/"

_TIME_LIMIT = 120
_FETCH_SECONDS = 3600
_MAX_LISTED = 8


class LocalRepository:
    def __init__(self, bare: Path, user_git_dir: Path, base: str = "") -> None:
        self.bare = bare
        self.lock = bare.with_suffix(".lock")
        self._folder = user_git_dir
        self._wanted_base = base

    def user_git_dir(self) -> Path:
        """Git directory of the user's repository, shared by all its worktrees."""
        for candidate in (self._folder / ".git", self._folder):
            if candidate.is_file() or (candidate / "HEAD").exists():
                try:
                    found = git(candidate, "rev-parse", "--path-format=absolute", "--git-common-dir")
                except GitFailed as problem:
                    if reason := why_unreadable(self._folder, candidate, problem):
                        raise reason from problem
                    continue
                return Path(found)
        if not self._folder.exists():
            raise NeedsHuman(f"There is no {self._folder}. Correct `repository` in the settings.")
        raise NeedsHuman(f"{self._folder} is not a git repository. Run `git init` there, or correct `repository`.")

    def fetch(self) -> None:
        """Fetches the user's branches and keeps ours."""
        with exclusive_lock(self.lock):
            self.fetch_locked()

    def fetch_locked(self) -> None:
        """Fetches; the caller holds the lock."""
        user_git_dir = self.user_git_dir()
        base = self._base(user_git_dir)
        if not self.bare.exists():
            self._init(user_git_dir)
        elif is_suspected(self.bare):
            self._replace(user_git_dir)
        self._fetch_into(self.bare, user_git_dir)
        if (self.bare / "HEAD").read_text().strip() != f"ref: refs/heads/{base}":
            git(self.bare, "symbolic-ref", "HEAD", f"refs/heads/{base}")

    def _fetch_into(self, bare: Path, user_git_dir: Path) -> None:
        try:
            git_with_progress(
                bare, "fetch", "--quiet", "--progress", "--prune", "--no-tags", "--no-write-fetch-head",
                "--update-shallow", str(user_git_dir), "+refs/heads/*:refs/heads/*", "^refs/heads/treehand",
                f"^{OUR_BRANCHES}*", timeout=_FETCH_SECONDS,
            )  # fmt: skip
        except GitFailed as problem:
            raise why_unreadable(self._folder, user_git_dir, problem) or problem from problem

    def base(self) -> str:
        """Target branch of pull requests: from the settings, or the user's checked out branch."""
        return self._base(self.user_git_dir())

    def ensure_readable(self) -> None:
        """Raises as a fetch would, for instance if another user owns the repository."""
        user_git_dir = self.user_git_dir()
        git(user_git_dir, "ls-remote", "--quiet", str(user_git_dir), "HEAD", timeout=_TIME_LIMIT)
        ensure_readable(self._folder, user_git_dir, self._base(user_git_dir))

    def tip(self, branch: str) -> str:
        """Returns the branch's commit; empty if it does not exist."""
        return branch_tip(self.bare, branch)

    def our_tips(self) -> dict[str, str]:
        """Commits of our branches."""
        return self._branches(OUR_BRANCHES)

    def all_tips(self) -> dict[str, str]:
        """Commits of our branches, and of the user's as last fetched."""
        return self._branches("refs/heads/")

    def can_merge(self, base: str, head: str) -> bool:
        """True if git merges without conflicts, or if that cannot be determined."""
        try:
            git(self.bare, "merge-tree", "--write-tree", "--no-messages", base, head, timeout=_TIME_LIMIT)
        except GitFailed as exc:
            return exc.code != 1
        return True

    def keep_head(self, number: int, commit: str) -> None:
        """Keeps a pull request's head when its branch is removed."""
        git(self.bare, "update-ref", f"refs/pull/{number}/head", commit)

    def remove_branch(self, branch: str) -> None:
        if self.tip(branch):
            git(self.bare, "update-ref", "-d", f"refs/heads/{branch}")

    def count_commits(self, author: str, heads: Sequence[str]) -> int:
        """Number of an author's commits that these heads contain."""
        return int(git(self.bare, "rev-list", "--count", "--no-merges", f"--author={author}", *heads)) if heads else 0

    def has_commit(self, commit: str) -> bool:
        return bool(_git_or_empty(self.bare, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"))

    def count_lines(self, commit: str, path: str) -> int | None:
        """Returns None if the commit has no such file."""
        blob = find_blob(self.bare, commit, path)
        return len(read_blob(self.bare, blob.sha).splitlines()) if blob else None

    def diff(self, base: str, head: str, *, stat: bool = False) -> str:
        """Empty if a commit is not here."""
        if not (self.has_commit(base) and self.has_commit(head)):
            return ""
        return diff_text(self.bare, base, head, stat=stat)

    def merge_base(self, base: str, head: str) -> str:
        """Returns the merge base; empty if there is none."""
        return _git_or_empty(self.bare, "merge-base", base, head) if base and head else ""

    def _branches(self, where: str) -> dict[str, str]:
        if not self.bare.exists():
            return {}
        listed = git(self.bare, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", where)
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {branch: commit for commit, branch in pairs}

    def _init(self, user_git_dir: Path) -> None:
        """Creates it completely or not at all, with a long history that the fetch then need not transfer."""
        fresh = self._begin()
        if is_large(user_git_dir) and not _is_cut(user_git_dir):
            with contextlib.suppress(GitFailed):  # the fetch says why
                self._copy_history(user_git_dir, fresh)
        fresh.rename(self.bare)

    def _begin(self) -> Path:
        fresh = self.bare.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        git(fresh, "init", "--bare", "--quiet", "--template=")
        return fresh

    def _replace(self, user_git_dir: Path) -> None:
        """Fetches the user's branches into a new one, and copies ours as far as they are intact."""
        fresh, archive = self._begin(), self.bare.with_name(f"{self.bare.name}.damaged-{time.time_ns()}")
        self._fetch_into(fresh, user_git_dir)
        listed = git(self.bare, "for-each-ref", "--format=%(refname)", OUR_BRANCHES, "refs/pull/").splitlines()
        lost = [ref for ref in listed if not _copy_ref(self.bare, fresh, ref)]
        if (self.bare / "lfs").is_dir():
            (self.bare / "lfs").rename(fresh / "lfs")
        self.bare.rename(archive)
        fresh.rename(self.bare)
        log.warning("repository of the local forge replaced path=%s lost=%s damaged=%s", self.bare, lost, archive)

    def _copy_history(self, user_git_dir: Path, fresh: Path) -> None:
        listed = git(user_git_dir, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/").splitlines()
        theirs = {name: commit for commit, _, name in (line.partition(" ") for line in listed) if not _is_ours(name)}
        pack_history(user_git_dir, fresh, theirs.values())
        create_refs(fresh, theirs)

    def _base(self, user_git_dir: Path) -> str:
        name = self._wanted_base or choose_base(user_git_dir, before=self._last_base())
        if name and branch_tip(user_git_dir, name):
            return name
        known = branch_names(user_git_dir)
        if not known:
            raise NeedsHuman(f"{self._folder} has no commits yet. Commit something there first.")
        listed = ", ".join(known[:_MAX_LISTED]) + (", ..." if len(known) > _MAX_LISTED else "")
        if not name:
            raise NeedsHuman(f"{self._folder} has no branch checked out. Set `base` in the settings: {listed}.")
        if name in known:
            raise NeedsHuman(incomplete(self._folder))
        raise NeedsHuman(f"{self._folder} has no branch {name}. Create it, or set `base` in the settings: {listed}.")

    def _last_base(self) -> str:
        """The person may have left the branch: the base is still what it was."""
        return _git_or_empty(self.bare, "symbolic-ref", "--short", "HEAD") if self.bare.exists() else ""


def _copy_ref(source: Path, target: Path, ref: str) -> bool:
    try:
        git(target, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source), f"+{ref}:{ref}")
    except GitFailed:
        return False
    return True


def _is_ours(ref: str) -> bool:
    return ref.startswith(OUR_BRANCHES) or f"{ref}/" == OUR_BRANCHES


def _is_cut(git_dir: Path) -> bool:
    """A shallow or partial clone: a fetch knows what it lacks."""
    return (git_dir / "shallow").exists() or is_partial(git_dir)


def branch_tip(git_dir: Path, branch: str) -> str:
    return _git_or_empty(git_dir, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")


def is_ancestor(git_dir: Path, commit: str, of: str) -> bool:
    try:
        git(git_dir, "merge-base", "--is-ancestor", commit, of)
    except GitFailed as exc:
        if exc.code == 1:
            return False
        raise
    return True


def _git_or_empty(git_dir: Path, *args: str) -> str:
    """Returns git's output; empty if the command fails."""
    try:
        return git(git_dir, *args)
    except GitFailed:
        return ""

"""The embedded forge's bare repository: the person's branches, fetched, and beside them the bot's own.

Rule: nothing here writes to the person's own repository; only landing.py does, when they merge.
"""

from collections.abc import Sequence
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git, git_bytes
from bot.system.locks import alone

OURS = "refs/heads/treehand/"
DIFF_LIMIT = 1024 * 1024

_TIME_LIMIT = 120


class Repository:
    def __init__(self, bare: Path, theirs: Path, base: str = "") -> None:
        self.bare = bare
        self.lock = bare.with_suffix(".lock")
        self._folder = theirs
        self._wanted_base = base

    def theirs(self) -> Path:
        """The git directory of the person's own repository, shared by all its worktrees."""
        for candidate in (self._folder / ".git", self._folder):
            if candidate.exists():
                try:
                    found = git(candidate, "rev-parse", "--path-format=absolute", "--git-common-dir")
                except GitFailed:
                    continue
                return Path(found)
        if not self._folder.exists():
            raise NeedsHuman(f"There is no {self._folder}. Correct `repository` in the settings.")
        raise NeedsHuman(f"{self._folder} is not a git repository. Run `git init` there, or correct `repository`.")

    def refresh(self) -> None:
        """Bring the person's branches in. Ours live only here and stay."""
        with alone(self.lock):
            self.refresh_alone()

    def refresh_alone(self) -> None:
        """For who holds the lock."""
        theirs = self.theirs()
        base = self._base(theirs)
        if not self.bare.exists():
            self._make()
        git(
            self.bare, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--update-shallow",
            str(theirs), "+refs/heads/*:refs/heads/*", "^refs/heads/treehand", f"^{OURS}*", timeout=_TIME_LIMIT,
        )  # fmt: skip
        if (self.bare / "HEAD").read_text().strip() != f"ref: refs/heads/{base}":
            git(self.bare, "symbolic-ref", "HEAD", f"refs/heads/{base}")

    def base(self) -> str:
        """The branch pull requests go to: the one in the settings, or the person's default one."""
        return self._base(self.theirs())

    def ensure_readable(self) -> None:
        """As a fetch would find it: whose it is counts there."""
        theirs = self.theirs()
        git(theirs, "ls-remote", "--quiet", str(theirs), "HEAD", timeout=_TIME_LIMIT)

    def tip(self, branch: str) -> str:
        """Empty: there is no such branch."""
        return tip_of(self.bare, branch)

    def tips(self) -> dict[str, str]:
        """Our branches and their commits."""
        return self._branches(OURS)

    def all_tips(self) -> dict[str, str]:
        """Ours, and the person's as they were when last fetched."""
        return self._branches("refs/heads/")

    def merges(self, base: str, head: str) -> bool:
        """Whether git can do it alone. Where it cannot be told, nobody is to be alarmed."""
        try:
            git(self.bare, "merge-tree", "--write-tree", "--no-messages", base, head, timeout=_TIME_LIMIT)
        except GitFailed as exc:
            return exc.code != 1
        return True

    def keep(self, number: int, commit: str) -> None:
        """What a pull request offered stays readable when its branch is gone."""
        git(self.bare, "update-ref", f"refs/pull/{number}/head", commit)

    def remove(self, branch: str) -> None:
        if self.tip(branch):
            git(self.bare, "update-ref", "-d", f"refs/heads/{branch}")

    def commits_by(self, author: str, heads: Sequence[str]) -> int:
        """How many of the commits these lead to are of one author."""
        return int(git(self.bare, "rev-list", "--count", "--no-merges", f"--author={author}", *heads)) if heads else 0

    def has(self, commit: str) -> bool:
        return bool(_answer(self.bare, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"))

    def diff(self, base: str, head: str) -> str:
        """What the head adds since it left the base, cut when it is very long."""
        if not (self.has(base) and self.has(head)):
            return ""
        shown = git_bytes(
            self.bare, "diff", "--no-color", "--no-ext-diff", "--no-textconv", f"{base}...{head}", timeout=_TIME_LIMIT
        )
        cut = f"\n[cut: {len(shown) // 1024} KiB in all]\n" if len(shown) > DIFF_LIMIT else ""
        return shown[:DIFF_LIMIT].decode(errors="replace") + cut

    def fork(self, base: str, head: str) -> str:
        """Where the head left the base; empty: nowhere."""
        return _answer(self.bare, "merge-base", base, head) if base and head else ""

    def _branches(self, where: str) -> dict[str, str]:
        if not self.bare.exists():
            return {}
        listed = git(self.bare, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", where)
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {branch: commit for commit, branch in pairs}

    def _make(self) -> None:
        """Whole or not at all."""
        fresh = self.bare.with_suffix(".new")
        git(fresh, "init", "--bare", "--quiet", "--template=")
        fresh.rename(self.bare)

    def _base(self, theirs: Path) -> str:
        if self._wanted_base:
            name = self._wanted_base
        else:
            name = _answer(theirs, "symbolic-ref", "--quiet", "--short", "HEAD") or _usual_name(theirs)
        if name and tip_of(theirs, name):
            return name
        if not git(theirs, "for-each-ref", "--count=1", "refs/heads"):
            raise NeedsHuman(f"{self._folder} has no commits yet. Commit something there first.")
        if not name:
            raise NeedsHuman(f"{self._folder} has no branch checked out. Set `base` in the settings.")
        raise NeedsHuman(f"{self._folder} has no branch {name}. Create it, or set `base` in the settings.")


def tip_of(git_dir: Path, branch: str) -> str:
    return _answer(git_dir, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")


def is_ancestor(git_dir: Path, commit: str, of: str) -> bool:
    try:
        git(git_dir, "merge-base", "--is-ancestor", commit, of)
    except GitFailed as exc:
        if exc.code == 1:
            return False
        raise
    return True


def _usual_name(theirs: Path) -> str:
    return next((name for name in ("main", "master") if tip_of(theirs, name)), "")


def _answer(git_dir: Path, *args: str) -> str:
    """What git says, or nothing where it says no."""
    try:
        return git(git_dir, *args)
    except GitFailed:
        return ""

"""Chooses the base branch of a user's repository where the settings name none."""

from pathlib import Path

from bot.git.command import GitFailed, git

_USUAL = ("main", "master")


def branch_names(git_dir: Path) -> tuple[str, ...]:
    return tuple(git(git_dir, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines())


def choose_base(git_dir: Path, *, before: str = "") -> str:
    """Returns the branch that is checked out. On no branch, or on one without a commit: the one used before, a usual
    name, or the only one; empty if that leaves a choice.
    """
    try:
        checked_out = git(git_dir, "symbolic-ref", "--quiet", "--short", "HEAD")
    except GitFailed:
        checked_out = ""
    known = branch_names(git_dir)
    found = next((name for name in (checked_out, before, *_USUAL) if name in known), "")
    return found or (known[0] if len(known) == 1 else "")

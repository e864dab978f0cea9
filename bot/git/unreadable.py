"""Says in one sentence why git cannot read a user's repository, and what to do there."""

import re
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git

_MISSING_OBJECT = re.compile(
    r"missing (object|blob|tree|commit)|bad (tree |commit )?object|unable to (read|unpack)|inflate: |Could not read "
    r"|Failed to traverse|possible repository corruption|bad pack header|revision walk setup failed|is corrupt"
    r"|unable to normalize alternate"
)
_PROMISED = re.compile(r"promisor|lazy fetch")
_UNKNOWN_FORMAT = re.compile(r"unknown repository extensions?|Expected git repo version|unknown repository format")
_GONE = re.compile(r"not a git repository: '?(?P<place>[^'\n]+)'?")
_OWN_SECONDS = 60
_NO_DOWNLOAD = {"GIT_ALLOW_PROTOCOL": ""}


def why_unreadable(folder: Path, git_dir: Path, problem: GitFailed) -> NeedsHuman | None:
    """Returns None for a failure that says nothing about the repository."""
    message = problem.stderr
    if _UNKNOWN_FORMAT.search(message):
        reason = message.strip().splitlines()[-1].strip().removeprefix("fatal: ")
        return NeedsHuman(f"{folder} needs a newer git than the one on the PATH ({reason}). Install a newer git.")
    if found := _GONE.search(message):
        return NeedsHuman(
            f"{folder} belongs to a repository that is gone: there is no {found['place']}. Run `git worktree repair` "
            "in that repository, or name another clone as `repository`."
        )
    if "mismatched algorithms" in message:
        return NeedsHuman(_other_format(folder))
    if _PROMISED.search(message) or (_MISSING_OBJECT.search(message) and is_partial(git_dir)):
        return NeedsHuman(_partial(folder))
    return NeedsHuman(incomplete(folder)) if _MISSING_OBJECT.search(message) else None


def ensure_readable(folder: Path, git_dir: Path, branch: str) -> None:
    """Raises NeedsHuman if an object is missing that the branch needs. Downloads nothing.

    The history is looked at only in a partial clone, where it stops at the first missing object.
    """
    if git(git_dir, "rev-parse", "--show-object-format") != "sha1":
        raise NeedsHuman(_other_format(folder))
    partial = is_partial(git_dir)
    extent = () if partial else ("--no-walk",)
    command = ("rev-list", "--quiet", "--objects", *extent, f"refs/heads/{branch}")
    try:
        git(git_dir, *command, env=_NO_DOWNLOAD, timeout=_OWN_SECONDS)
    except GitFailed as problem:
        if problem.code > 0:  # taking long is no fault
            raise NeedsHuman(_partial(folder) if partial else incomplete(folder)) from problem


def is_partial(git_dir: Path) -> bool:
    """Git may have left objects at the remote."""
    try:
        return bool(git(git_dir, "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"))
    except GitFailed:
        return False


def _partial(folder: Path) -> str:
    return (
        f"{folder} is a partial clone: git has left objects of its history at the remote. Run `git fetch --refetch "
        "--no-filter` there once to download them; then retry."
    )


def incomplete(folder: Path) -> str:
    return (
        f"{folder} lacks objects that its commits need, or they are damaged. `git fsck` there names them; "
        "`git fetch --refetch` there downloads those that a remote has, or use a fresh clone as `repository`."
    )


def _other_format(folder: Path) -> str:
    return f"{folder} uses another object format than sha1, which Treehand does not support. Use a clone with sha1."

"""Finds the user's repository, its remotes and what tells it from others. No agent writes there."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.errors import NeedsHuman
from bot.git.base_branch import choose_base
from bot.git.command import GitFailed, git
from bot.git.remote_url import RemoteUrl, parse_remote_url
from bot.git.unreadable import why_unreadable

_TIMEOUT_SECONDS = 20
_HISTORY_SECONDS = 120
_USUAL_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class UserRepository:
    """A user's repository."""

    top: Path
    """Top folder; may be a parent of the folder searched."""
    branch: str
    """The branch checked out, or the likeliest one."""
    remotes: Mapping[str, RemoteUrl]
    """Remotes on other machines, `origin` first."""


def find_repository(folder: Path) -> UserRepository | None:
    """Returns the repository that contains this folder. Raises NeedsHuman if git cannot read it."""
    for candidate in (folder / ".git", folder, *(parent / ".git" for parent in folder.parents)):
        if common := _common_git_dir(candidate):
            top = candidate.parent if candidate.name == ".git" else candidate
            return UserRepository(top, choose_base(common) or _USUAL_BRANCH, _remotes_of(common))
    return None


def exclude_file(top: Path, name: Path) -> bool:
    """Adds a path to the files that git ignores in this clone alone. Returns False if git knows it already."""
    git_dir = _common_git_dir(top / ".git")
    if git_dir is None:
        return False
    file, line = git_dir / "info" / "exclude", f"/{name}"
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
    if line in before.splitlines():
        return False
    file.parent.mkdir(exist_ok=True)
    end = "" if before.endswith("\n") or not before else "\n"
    with file.open("a", encoding="utf-8", errors="surrogateescape") as opened:
        opened.write(f"{end}{line}\n")
    return True


def is_shallow(folder: Path) -> bool:
    """Returns False if this is no repository that git can read."""
    try:
        git_dir = _common_git_dir(folder / ".git")
    except NeedsHuman:
        return False
    return git_dir is not None and (git_dir / "shallow").exists()


def git_dir_of(folder: Path) -> Path | None:
    """Returns the git directory of the repository at this very folder, shared by all its worktrees.

    Raises NeedsHuman if git cannot read it.
    """
    found = (_common_git_dir(candidate) for candidate in (folder / ".git", folder))
    return next((path.resolve() for path in found if path), None)


def first_commit(git_dir: Path) -> str:
    """Returns the commit that the history of the base branch begins with; empty without one, or if git cannot tell."""
    base = choose_base(git_dir)
    command = ("rev-list", "--max-parents=0", "--first-parent", f"refs/heads/{base}" if base else "HEAD", "--")
    try:
        found = git(git_dir, *command, timeout=_HISTORY_SECONDS).split()
    except GitFailed:
        return ""
    return found[-1] if found else ""


def has_commit(git_dir: Path, commit: str) -> bool:
    try:
        git(git_dir, "cat-file", "-e", f"{commit}^{{commit}}")
    except GitFailed:
        return False
    return True


def _common_git_dir(candidate: Path) -> Path | None:
    """Checks this path only; git does not search."""
    if not (candidate.is_file() or (candidate / "HEAD").is_file()):
        return None
    try:
        return Path(git(candidate, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    except GitFailed as problem:
        if reason := why_unreadable(candidate.parent if candidate.name == ".git" else candidate, candidate, problem):
            raise reason from problem
        return None


def _remotes_of(common: Path) -> Mapping[str, RemoteUrl]:
    """Applies the URL rewrites of the user's git settings."""
    names = git(common, "remote").splitlines()
    found = {name: _remote_url(common, name) for name in sorted(names, key=lambda name: (name != "origin", name))}
    return {name: address for name, address in found.items() if address}


def _remote_url(common: Path, name: str) -> RemoteUrl | None:
    try:
        address = parse_remote_url(git(common, "ls-remote", "--get-url", name, env=user_git_config()))
    except GitFailed:
        return None
    return address.on(_ssh_host_name(address.host)) if address and _is_alias(address) else address


def user_git_config() -> Mapping[str, str]:
    """Environment of commands that need the user's settings, such as URL shorthands; others read none."""
    home = Path.home()
    files = (home / ".gitconfig", home / ".config" / "git" / "config")
    return next(({"GIT_CONFIG_GLOBAL": str(file)} for file in files if file.is_file()), {})


def git_identity(git_dir: Path) -> tuple[str, str]:
    """Returns the name and email address that the user's commits have in this repository; empty where not set."""
    return _configured(git_dir, "user.name"), _configured(git_dir, "user.email")


def _configured(git_dir: Path, key: str) -> str:
    try:
        return git(git_dir, "config", "--get", key, env=user_git_config())
    except GitFailed:
        return ""


def _is_alias(address: RemoteUrl) -> bool:
    return address.by_ssh and "." not in address.host


def _ssh_host_name(alias: str) -> str:
    """Looks up an alias in the ssh settings without connecting."""
    try:
        output = subprocess.run(
            ["ssh", "-G", "--", alias], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True, cwd="/",
            start_new_session=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return alias
    lines = (line.partition(" ") for line in output.splitlines())
    return next((value for key, _, value in lines if key == "hostname"), alias)

"""Where a person's own repository is, and where its remotes lead. For `treehand init`: no agent was there yet."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.git.command import GitFailed, git
from bot.git.remote_url import Address, parse_address

_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A repository of somebody's, and what it says of itself."""

    top: Path
    """Its folder, which may be above the one we were asked about."""
    branch: str
    """The one it is on."""
    remotes: Mapping[str, Address]
    """Those that lead to other machines; the one it would push to comes first."""


def find_repository(folder: Path) -> Found | None:
    """The one this folder is in."""
    for candidate in (folder / ".git", folder, *(parent / ".git" for parent in folder.parents)):
        if common := _git_dir_of(candidate):
            top = candidate.parent if candidate.name == ".git" else candidate
            return Found(top, _branch_of(common), _remotes_of(common))
    return None


def _git_dir_of(candidate: Path) -> Path | None:
    """Git is asked about this place and no other."""
    if not (candidate.is_file() or (candidate / "HEAD").is_file()):
        return None
    try:
        return Path(git(candidate, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    except GitFailed:
        return None


def _branch_of(common: Path) -> str:
    try:
        return git(common, "symbolic-ref", "--quiet", "--short", "HEAD")
    except GitFailed:
        return "main"


def _remotes_of(common: Path) -> Mapping[str, Address]:
    """As git would use them: with whatever the person's own settings make of their addresses."""
    names = git(common, "remote").splitlines()
    found = {name: _leads_to(common, name) for name in sorted(names, key=lambda name: (name != "origin", name))}
    return {name: address for name, address in found.items() if address}


def _leads_to(common: Path, name: str) -> Address | None:
    try:
        address = parse_address(git(common, "ls-remote", "--get-url", name, env=_own_settings()))
    except GitFailed:
        return None
    return address.on(_name_of(address.host)) if address and _is_alias(address) else address


def _own_settings() -> Mapping[str, str]:
    """Elsewhere git reads nobody's; here the shorthands in them are wanted."""
    home = Path.home()
    files = (home / ".gitconfig", home / ".config" / "git" / "config")
    return next(({"GIT_CONFIG_GLOBAL": str(file)} for file in files if file.is_file()), {})


def _is_alias(address: Address) -> bool:
    return address.by_ssh and "." not in address.host


def _name_of(alias: str) -> str:
    """What ssh's settings say a short name stands for. Nothing is connected to."""
    try:
        said = subprocess.run(
            ["ssh", "-G", "--", alias], capture_output=True, text=True, timeout=_SECONDS, check=True, cwd="/",
            start_new_session=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return alias
    lines = (line.partition(" ") for line in said.splitlines())
    return next((value for key, _, value in lines if key == "hostname"), alias)

"""Detects the repository in the current folder and the GitHub server its remotes point to, for `treehand init`."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from bot.errors import BadSettings
from bot.git.remote_url import RemoteUrl, parse_remote_url
from bot.git.user_repository import UserRepository, find_repository

_PREFERRED_REMOTES = ("origin", "upstream")


@dataclass(frozen=True, slots=True)
class DetectedSetup:
    folder: Path
    local: UserRepository | None
    github: RemoteUrl | None = None
    """The remote on GitHub or on a GitHub Enterprise server."""
    notes: tuple[str, ...] = ()
    """Sentences about the choice of the remote, to be printed."""

    @property
    def repository(self) -> str:
        return self.github.repository if self.github else ""

    @property
    def branch(self) -> str:
        """Raises BadSettings unless the folder is the top of a repository: the local forge needs one."""
        if self.local is None:
            raise BadSettings(
                f"{self.folder} is not a git repository. Change to yours, or run `git init` and commit something."
            )
        if self.local.top != self.folder:
            raise BadSettings(
                f"{self.folder} is only a subfolder of a git repository. Change to its top: cd {self.local.top}; "
                "or run `git init` here and commit something."
            )
        return self.local.branch


def detect_setup(folder: Path, options: Namespace) -> DetectedSetup:
    """Looks only for what the options leave open."""
    local = find_repository(folder)
    if options.here or not local:
        return DetectedSetup(folder, local)
    by_name = {address.repository.lower(): address for address in local.remotes.values() if address.repository}
    if options.repository:
        return DetectedSetup(folder, local, _only_github(by_name.get(options.repository.lower()), options.api_url))
    preferred = [local.remotes[name] for name in (*_PREFERRED_REMOTES, *local.remotes) if name in local.remotes]
    for address in dict.fromkeys(one for one in preferred if one.repository):
        if _only_github(address, options.api_url):
            return DetectedSetup(folder, local, address, _note_others(address, local))
    hosts = ", ".join(sorted({address.host for address in preferred}))
    note = f"This repository is on {hosts}, which is not GitHub: pull requests stay on this machine."
    return DetectedSetup(folder, local, notes=(note,) if hosts else ())


def _note_others(chosen: RemoteUrl, local: UserRepository) -> tuple[str, ...]:
    others = [
        f"{address.repository} ({name})"
        for name, address in local.remotes.items()
        if address.repository and address.repository != chosen.repository
    ]
    return (f"There is also {', '.join(others)}: use `--repository` to choose it.",) if others else ()


def _only_github(address: RemoteUrl | None, api_url: str) -> RemoteUrl | None:
    """Sends a request only if the host name does not tell."""
    from bot.services.github.connect import is_github

    if address and (address.is_github or api_url or is_github(address.api_url)):
        return address
    return None


def parse_repository(text: str) -> str:
    """Accepts `owner/name` and the address of a repository; raises ValueError for anything else."""
    text = text.strip()
    address = parse_remote_url(text) or parse_remote_url(f"https://github.com/{text}")
    if address is None or not address.repository:
        raise ValueError(f"{text!r} is not a repository on GitHub: write OWNER/NAME, such as acme/shop.")
    return address.repository

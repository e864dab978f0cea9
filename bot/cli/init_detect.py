"""Where `treehand init` was typed: which repository that is, and which server its remotes lead to."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from bot.errors import BadSettings
from bot.git.remote_url import Address, parse_address
from bot.git.user_repository import Found, find_repository

_LIKELY = ("origin", "upstream")


@dataclass(frozen=True, slots=True)
class Bearings:
    folder: Path
    found: Found | None
    github: Address | None = None
    """The remote that is on GitHub, or on an Enterprise server."""
    notes: tuple[str, ...] = ()
    """What people should know of what was found."""

    @property
    def repository(self) -> str:
        return self.github.repository if self.github else ""

    @property
    def branch(self) -> str:
        """Raises where no repository is: an embedded forge needs one, and at its top."""
        if self.found is None:
            raise BadSettings(
                f"{self.folder} is not a git repository. Go to yours, or run `git init` and commit something first."
            )
        if self.found.top != self.folder:
            raise BadSettings(
                f"{self.folder} is not a git repository itself, only inside of one. Go there: cd {self.found.top}; "
                "or run `git init` here and commit something first."
            )
        return self.found.branch


def bearings_of(folder: Path, options: Namespace) -> Bearings:
    """Only what was not said is looked for."""
    found = find_repository(folder)
    if options.here or not found:
        return Bearings(folder, found)
    named = {address.repository.lower(): address for address in found.remotes.values() if address.repository}
    if options.repository:
        return Bearings(folder, found, _if_github(named.get(options.repository.lower()), options.api_url))
    likely = [found.remotes[name] for name in (*_LIKELY, *found.remotes) if name in found.remotes]
    for address in dict.fromkeys(one for one in likely if one.repository):
        if _if_github(address, options.api_url):
            return Bearings(folder, found, address, _notes_of(address, found))
    elsewhere = ", ".join(sorted({address.host for address in likely}))
    note = f"This repository is on {elsewhere}, which is no GitHub: pull requests are kept on this machine."
    return Bearings(folder, found, notes=(note,) if elsewhere else ())


def _notes_of(chosen: Address, found: Found) -> tuple[str, ...]:
    others = [
        f"{address.repository} ({name})"
        for name, address in found.remotes.items()
        if address.repository and address.repository != chosen.repository
    ]
    return (f"There is also {', '.join(others)}: `--repository` takes another one.",) if others else ()


def _if_github(address: Address | None, api_url: str) -> Address | None:
    """Asked only where its name does not say so."""
    from bot.services.github.recognising import is_github

    if address and (address.is_github or api_url or is_github(address.api_url)):
        return address
    return None


def parse_repository(text: str) -> str:
    """`owner/name`, or the address of it."""
    text = text.strip()
    address = parse_address(text) or parse_address(f"https://github.com/{text}")
    if address is None or not address.repository:
        raise ValueError(f"{text!r} is no repository on GitHub: use OWNER/NAME, such as acme/shop.")
    return address.repository

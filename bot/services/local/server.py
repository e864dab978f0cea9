"""The desk people come to: issues and pull requests of every project that has no service of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import NeedsHuman
from bot.services.local.database import Book
from bot.services.local.input_rules import parsed_key
from bot.services.local.issues import Issues
from bot.services.local.pull_requests import Pulls
from bot.services.local.repository import Repository

if TYPE_CHECKING:
    from bot.services.local.merge import Merging


@dataclass(frozen=True, slots=True)
class Site:
    """Where one project's code is; no repository: only its issues are here."""

    repository: Path | None
    base: str = ""
    """Empty: the repository's own default."""


class Desk:
    """To be used by the thread that made it. Any number of processes may have one."""

    def __init__(self, state_dir: Path, sites: Mapping[str, Site], clock: Callable[[], float]) -> None:
        self._folder = state_dir / "forge"
        self._sites = sites
        self.book = Book(self._folder / "desk.sqlite", clock)

    def issues(self, project: str) -> Issues:
        return Issues(self.book, self.project(project))

    def pulls(self, project: str) -> Pulls:
        return Pulls(self.book, self.project(project), self.repository(project))

    def merging(self, project: str) -> "Merging":
        from bot.services.local.merge import Merging  # looking need not wait for it

        return Merging(self.book, self.project(project), self.pulls(project))

    def repository(self, project: str) -> Repository:
        name = self.project(project)
        site = self._sites[name]
        if site.repository is None:
            raise NeedsHuman(f"The code of {name} is not kept here.")
        return Repository(self._folder / f"{name}.git", site.repository, site.base)

    def project(self, name: str = "") -> str:
        """The one of that name; unnamed: the only one there is."""
        if name in self._sites:
            return name
        known = ", ".join(self._sites) or "none"
        if name:
            raise NeedsHuman(f"There is no project {name} here. There is: {known}.")
        if not self._sites:
            raise NeedsHuman(
                "There is no project yet. `treehand init` in your repository writes a settings file with it."
            )
        if len(self._sites) != 1:
            raise NeedsHuman(f"Say which project: {known}.")
        return next(iter(self._sites))

    def projects(self, name: str = "") -> list[str]:
        """Those meant: the one of that name, or unnamed all of them."""
        return [self.project(name)] if name else list(self._sites)

    def parse_key(self, text: str) -> tuple[str, int]:
        """`shop#3`; where there is only one project `#3` and `3` will do."""
        parsed = parsed_key(text)
        if parsed is None:
            raise NeedsHuman(f"{text!r} does not name an issue or a pull request. They look like this: shop#3.")
        name, number = parsed
        return self.project(name), number

    def close(self) -> None:
        self.book.close()

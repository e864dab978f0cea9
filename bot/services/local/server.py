"""Local server: issues, pull requests and repositories of all projects on the local tracker or forge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import NeedsHuman
from bot.services.local.database import LocalDatabase
from bot.services.local.input_rules import parse_local_key
from bot.services.local.issues import LocalIssues
from bot.services.local.pull_requests import LocalPullRequests
from bot.services.local.repository import LocalRepository

if TYPE_CHECKING:
    from bot.services.local.merge import PullRequestMerger


@dataclass(frozen=True, slots=True)
class LocalSite:
    """Repository of one project; None if only its issues are local."""

    repository: Path | None
    base: str = ""
    """Target branch; empty for the repository's default."""


class LocalServer:
    """Use only in the thread that made it. Several processes may have one."""

    def __init__(
        self,
        state_dir: Path,
        sites: Mapping[str, LocalSite],
        clock: Callable[[], float],
        default_project: Callable[[], str] = str,
    ) -> None:
        """`default_project`: returns the project that a person means who names none, or an empty string."""
        self._folder = state_dir / "forge"
        self._sites = sites
        self._default_project = default_project
        self.database = LocalDatabase(self._folder / "desk.sqlite", clock)

    def issues(self, project: str) -> LocalIssues:
        return LocalIssues(self.database, self.project(project))

    def pull_requests(self, project: str) -> LocalPullRequests:
        return LocalPullRequests(self.database, self.project(project), self.repository(project))

    def merger(self, project: str) -> "PullRequestMerger":
        from bot.services.local.merge import PullRequestMerger  # imported only to merge

        return PullRequestMerger(self.database, self.project(project), self.pull_requests(project))

    def repository(self, project: str) -> LocalRepository:
        name = self.project(project)
        site = self._sites[name]
        if site.repository is None:
            raise NeedsHuman(f"The code of {name} is not on the local forge.")
        return LocalRepository(self._folder / f"{name}.git", site.repository, site.base)

    def project(self, name: str = "") -> str:
        """Returns the project of that name; without a name the only project, or that of the current folder."""
        if name in self._sites:
            return name
        known = ", ".join(self._sites) or "none"
        if name:
            raise NeedsHuman(f"There is no local project {name}. Known: {known}.")
        if not self._sites:
            raise NeedsHuman(
                "There is no project yet. `treehand init` in your repository writes a settings file with it."
            )
        if len(self._sites) == 1:
            return next(iter(self._sites))
        if (default := self._default_project()) in self._sites:
            return default
        raise NeedsHuman(f"Name a project: {known}.")

    def projects(self, name: str = "") -> list[str]:
        """Returns the project of that name; without a name all projects."""
        return [self.project(name)] if name else list(self._sites)

    def parse_key(self, text: str) -> tuple[str, int]:
        """Parses `shop#3`, and `#3` and `3` where it is clear which project is meant."""
        parsed = parse_local_key(text)
        if parsed is None:
            raise NeedsHuman(f"{text!r} does not name an issue or a pull request. They look like this: shop#3.")
        name, number = parsed
        return self.project(name), number

    def close(self) -> None:
        self.database.close()

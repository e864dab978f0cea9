"""Routes a team's issues to our projects: by `repo:` label, by project in Linear, or to the default. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.services.linear.cache import Row

_LABEL = "repo:"


@dataclass(frozen=True, slots=True)
class TeamRoute:
    """One of our projects, and the names that lead to it."""

    project: str
    repository: str = ""
    """`owner/name`; empty: only the project's name leads to it."""
    linear_projects: tuple[str, ...] = ()
    default: bool = False

    @property
    def label(self) -> str:
        return f"{_LABEL}{self.project}"

    def is_named(self, word: str) -> bool:
        names = {self.project, self.repository, self.repository.rpartition("/")[2]}
        return bool(word) and word in {name.lower() for name in names}


def find_route(row: Row, routes: Sequence[TeamRoute]) -> TeamRoute | None:
    """A label goes before the project in Linear, and that before the default. Returns None if a person must decide."""
    words = [name.lower().removeprefix(_LABEL) for name in _names(row) if name.lower().startswith(_LABEL)]
    if words:
        return _only([route for route in routes if any(route.is_named(word) for word in words)])
    placed = row["linear_project"].lower()
    by_project = [route for route in routes if placed and placed in {name.lower() for name in route.linear_projects}]
    if by_project:
        return _only(by_project)
    return _only([route for route in routes if route.default] or list(routes))


def _names(row: Row) -> list[str]:
    return [name for label in row["labels"] for name in label["names"]]


def _only(routes: Sequence[TeamRoute]) -> TeamRoute | None:
    return routes[0] if len(routes) == 1 else None

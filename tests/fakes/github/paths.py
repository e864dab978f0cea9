"""Parses the forms of an API address."""

import re

from tests.fakes.github.api_request import ROUTES
from tests.fakes.github.repository_actions import GitHubWorld

_BY_NUMBER = re.compile(r"/repositories/(\d+)(/.*)?\Z")
_LOGS = re.compile(r"/_logs/(\d+)/(\d+)\Z")


def api_path(world: GitHubWorld, path: str) -> str:
    """Returns the path below the API's root, with the name of a repository given by its number."""
    path = path.removeprefix("/api/v3")
    if found := _BY_NUMBER.match(path):
        home = next((home for home in world.repositories.values() if home.id == int(found[1])), None)
        return f"/repos/{home.full_name}{found[2] or ''}" if home else path
    return path


def described_path(method: str, path: str) -> str:
    """Returns the path with slashes inside a part hidden: the description has no such parts. Empty: no such address."""
    for route in ROUTES:
        if route.method == method and (found := route.pattern.match(path)):
            for name, value in found.groupdict().items():
                if f"{{{name}:path}}" in route.template:
                    return path[: found.start(name)] + value.replace("/", "%2F") + path[found.end(name) :]
            return path
    return ""


def logs_of(world: GitHubWorld, path: str) -> str | None:
    if not (found := _LOGS.match(path)):
        return None
    home = next(home for home in world.repositories.values() if home.id == int(found[1]))
    return home.checks[int(found[2])].log

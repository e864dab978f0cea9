"""One API request: its account, its permission check, its routing and its response."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from tests.fakes.github.model import Repository, Token, at_least
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.state import Impossible

Json = Any


class Refusal(Exception):
    """A response that refuses the request."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(status, message)
        self.status, self.message, self.headers = status, message, headers
        self.errors: list[Json] = []


def invalid(resource: str, message: str, *, code: str = "custom", name: str = "base") -> Refusal:
    refusal = Refusal(422, "Validation Failed")
    refusal.errors = [{"resource": resource, "field": name, "code": code} | ({"message": message} if message else {})]
    return refusal


@dataclass
class Reply:
    status: int = 200
    data: Json = None
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None

    @property
    def body(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        return b"" if self.status in {204, 304} else json.dumps(self.data).encode()


@dataclass
class Ask:
    world: GitHubWorld
    method: str
    path: str
    query: Mapping[str, str]
    body: Json
    base: str
    """The root of the API as this client knows it."""
    token: Token | None
    headers: Mapping[str, str] = field(default_factory=dict)
    home: Repository | None = None

    @property
    def site(self) -> str:
        return self.base.removesuffix("/api/v3")

    @property
    def login(self) -> str:
        assert self.token
        return self.token.user.login

    def level(self, home: Repository) -> str:
        """Returns the permission of the account for the repository: `read`, `write`..."""
        token = self.token
        if token is None or not token.reaches(home):
            return home.level_of(None)
        if token.installation:
            return "write"
        own = home.level_of(token.user)
        return own if token.permissions is not None or token.scopes_reach(home) else home.level_of(None)

    def may(self, level: str, home: Repository | None = None) -> bool:
        where = home or self.home
        assert where
        return at_least(self.level(where), level)

    def field(self, name: str, kind: type, default: Json = None) -> Json:
        found = (self.body or {}).get(name, default) if isinstance(self.body, dict) else default
        if found is not None and not isinstance(found, kind):
            raise invalid("Request", f"{name} is of the wrong kind", name=name)
        return found

    def needed(self, name: str, kind: type) -> Json:
        found = self.field(name, kind)
        if found is None:
            raise Refusal(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return found


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    pattern: re.Pattern[str]
    endpoint: Callable[..., Reply]
    level: str
    app: str
    """The permission an App needs; with a `|`, one of two."""
    anonymous: bool


ROUTES: list[Route] = []


def route(
    method: str, template: str, *, level: str = "read", app: str = "metadata", anonymous: bool = False
) -> Callable[[Callable[..., Reply]], Callable[..., Reply]]:
    def known(endpoint: Callable[..., Reply]) -> Callable[..., Reply]:
        pattern = re.sub(r"\\{([\w:]+)\\}", r"{\1}", re.escape(template))
        pattern = re.sub(r"\{(\w+):path\}", r"(?P<\1>.+)", pattern)
        pattern = re.sub(r"\{(number|key)\}", r"(?P<\1>\\d+)", pattern)
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
        ROUTES.append(Route(method, template, re.compile(pattern + r"\Z"), endpoint, level, app, anonymous))
        return endpoint

    return known


def answer(ask: Ask) -> Reply:
    """Answers a request: refusals are decided here or raised by the endpoint."""
    try:
        found, values = _found(ask)
        if "owner" in values:
            ask.home = _home(ask, values.pop("owner"), values.pop("repo"))
            _may(ask, found)
        return found.endpoint(ask, **{name: _value(name, text) for name, text in values.items()})
    except Refusal as refusal:
        data = {"message": refusal.message, "documentation_url": "https://docs.github.com/rest"}
        headers = {name.replace("_", "-"): value for name, value in refusal.headers.items()}
        if refusal.status in {301, 302, 307}:
            data["url"] = headers["Location"]
        return Reply(refusal.status, data | ({"errors": refusal.errors} if refusal.errors else {}), headers)
    except Impossible as problem:
        error = str(problem) if problem.plain else {"code": "custom", "message": str(problem)}
        data = {"message": "Validation Failed", "errors": [error]}
        return Reply(422, data | {"documentation_url": "https://docs.github.com/rest"})


def _value(name: str, text: str) -> int | str:
    return int(text) if name in {"number", "key"} else unquote(text)


def _found(ask: Ask) -> tuple[Route, dict[str, str]]:
    for candidate in ROUTES:
        if candidate.method == ask.method and (match := candidate.pattern.match(ask.path)):
            if ask.token is None and not candidate.anonymous:
                raise Refusal(401, "Requires authentication")
            return candidate, match.groupdict()
    raise Refusal(404, "Not Found")


def _home(ask: Ask, owner: str, name: str) -> Repository:
    full = f"{owner}/{name}".lower()
    if (moved := ask.world.redirects.get(full)) and full not in ask.world.repositories:
        _visible(ask, moved)
        raise redirection(ask, moved, ask.path.split("/", 4)[4] if ask.path.count("/") > 3 else "")
    home = ask.world.repositories.get(full)
    if home is None:
        raise Refusal(404, "Not Found")
    return _visible(ask, home)


def _visible(ask: Ask, home: Repository) -> Repository:
    if not ask.may("read", home):
        raise Refusal(404, "Not Found")
    return home


def redirection(ask: Ask, home: Repository, rest: str) -> Refusal:
    where = f"{ask.base}/repositories/{home.id}" + (f"/{rest}" if rest else "")
    where += f"?{urlencode(ask.query)}" if ask.query else ""
    if ask.method == "GET":
        return Refusal(301, "Moved Permanently", Location=where)
    return Refusal(307, "Moved Temporarily", Location=where)


def _may(ask: Ask, found: Route) -> None:
    assert ask.home
    if ask.home.archived and ask.method not in {"GET", "HEAD"}:
        raise Refusal(403, "Repository was archived so is read-only.")
    if not ask.may(found.level):
        raise Refusal(403 if at_least(ask.level(ask.home), "read") else 404, "Must have push access to repository")
    if ask.token and ask.token.permissions is not None:
        _permitted(ask, found.app)


def _permitted(ask: Ask, needed: str) -> None:
    assert ask.token
    assert ask.home
    granted = ask.token.permissions or {}
    allowed = {"write", "admin"} if ask.method != "GET" else {"read", "write", "admin"}
    public_read = ask.method == "GET" and not ask.home.private
    if needed == "metadata" or public_read or any(granted.get(one) in allowed for one in needed.split("|")):
        return
    kind = "integration" if ask.token.installation else "personal access token"
    verb = "read" if ask.method == "GET" else "write"
    accepted = "; ".join(f"{one}={verb}" for one in needed.split("|"))
    raise Refusal(403, f"Resource not accessible by {kind}", X_Accepted_GitHub_Permissions=accepted)


# Pages.


def paged(ask: Ask, things: Sequence[Json], shape: Callable[[Json], Json], wrap: str = "") -> Reply:
    """Returns one page, with links like GitHub's: to the repository by its number."""
    size = min(max(_number(ask, "per_page", 30), 1), ask.world.longest_page)
    page = max(_number(ask, "page", 1), 1)
    last = max(-(-len(things) // size), 1)
    shown = [shape(thing) for thing in things[(page - 1) * size : page * size]]
    links = {}
    if page > 1:
        links |= {"prev": page - 1, "first": 1}
    if page < last:
        links |= {"next": page + 1, "last": last}
    headers = {"Link": ", ".join(f'<{_page_url(ask, n)}>; rel="{rel}"' for rel, n in links.items())} if links else {}
    return Reply(200, {"total_count": len(things), wrap: shown} if wrap else shown, headers)


def _number(ask: Ask, name: str, default: int) -> int:
    text = ask.query.get(name, "")
    return int(text) if text.isdigit() else default


def _page_url(ask: Ask, page: int) -> str:
    path = ask.path
    if ask.home:
        path = f"/repositories/{ask.home.id}" + re.sub(r"^/repos/[^/]+/[^/]+", "", path)
    return f"{ask.base}{path}?{urlencode({**ask.query, 'page': str(page)})}"


def etag_of(reply: Reply, ask: Ask) -> str:
    """A weak ETag that differs by account."""
    seed = reply.body + (ask.token.text if ask.token else "").encode() + reply.headers.get("Link", "").encode()
    return f'W/"{hashlib.sha256(seed).hexdigest()}"'

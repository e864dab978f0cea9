"""HTTP server of the stand-in on loopback; records every request."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tests.fakes.github import (  # noqa: F401 - each of the last ones brings its routes
    graphql,
    rest_apps,
    rest_checks,
    rest_comments,
    rest_issues,
    rest_pulls,
    rest_repositories,
    rest_reviews,
)
from tests.fakes.github.api_request import Ask, Refusal, Reply, answer, etag_of
from tests.fakes.github.faults import Fault, Faults
from tests.fakes.github.limits import Limits
from tests.fakes.github.model import Token
from tests.fakes.github.paths import api_path, described_path, logs_of
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.schemas import Checker, Exchange
from tests.fakes.github.smart_http import ADDRESS, SmartHttp
from tests.fakes.github.website import made_on_website
from tests.fakes.loopback import cut, end_after, listening

_GRAPHQL = ("/graphql", "/api/graphql")


@dataclass(frozen=True)
class Call:
    """One request and its response."""

    method: str
    path: str
    """Without the query."""
    query: dict[str, str]
    status: int
    """Its effects; a fault may have sent another answer."""
    at: float
    """Time of arrival by the machine's clock."""
    points: int
    conditional: bool
    by: str
    body: Any = None

    @property
    def mutations(self) -> list[str]:
        """Names of the mutations in it, without repetition."""
        return graphql.mutations_in(self.body) if self.path in _GRAPHQL else []

    @property
    def writes(self) -> bool:
        return self.method != "GET" and (self.path not in _GRAPHQL or bool(self.mutations))


@dataclass
class ServedGitHub:
    world: GitHubWorld
    validate: bool = True
    faults: Faults = field(default_factory=Faults)
    history: list[Call] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Violations of GitHub's API description by either side."""
    url: str = ""

    def __post_init__(self) -> None:
        self.limits = Limits(self.world)
        self._known: dict[object, tuple[int, Reply]] = {}
        self._requests = 0
        self._git = SmartHttp(self.world, self.find_token)
        self._checker = Checker() if self.validate else None

    @property
    def enterprise_url(self) -> str:
        """The same API at the address of an Enterprise server."""
        return f"{self.url}/api/v3"

    def token_for(self, login: str, *scopes: str) -> str:
        return self.world.token_for(login, *scopes)

    def find_token(self, text: str) -> Token | None:
        found = self.world.tokens.get(text)
        return None if found and found.expires_at and found.expires_at <= self.world.now else found

    def calls(self, method: str = "", containing: str = "") -> list[Call]:
        return [one for one in self.history if method in {"", one.method} and containing in one.path]

    # One request.

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["arrived"] = self.world.now - self.world.skew
        http = Request(scope, receive)
        fault = self.faults.next_for(http.method, await _named(http))
        if fault and fault.before:
            fault.before()
        if fault and fault.delay:
            await anyio.sleep(fault.delay)
        if fault and not fault.done and (fault.cut or fault.status):
            reply = _scripted(fault)
            self._note(http, reply, None, points=0)
        else:
            reply = await self._answer(http)
        if fault and fault.cut:
            cut(scope["client"])
            return
        if fault and fault.done and fault.status:
            reply = _scripted(fault)
        if fault and fault.half:
            reply.headers["content-length"] = str(len(reply.body))
            await send({"type": "http.response.start", "status": reply.status_code, "headers": reply.raw_headers})
            await send({"type": "http.response.body", "body": reply.body[: len(reply.body) // 2], "more_body": True})
            end_after(scope["client"])
            return
        await reply(scope, receive, send)

    async def _answer(self, http: Request) -> Response:
        body = b"" if ADDRESS.fullmatch(http.scope["path"]) else await http.body()
        path = http.scope["path"]
        base = self.enterprise_url if path.startswith(("/api/v3", "/api/graphql")) else self.url
        asked = api_path(self.world, http.scope["raw_path"].decode())
        query, headers = dict(http.query_params), dict(http.headers)
        ask = Ask(self.world, http.method, asked, query, _parsed(body), base, None, headers)
        if ADDRESS.fullmatch(path):
            reply = await self._git.answer(http, ask)
            self._note(http, reply, ask.token, points=0)
            return reply
        with self.world.lock:
            if (text := logs_of(self.world, path)) is not None:
                return Response(text, media_type="text/plain")
            if (back := made_on_website(self.world, http.method, path, query, body)) is not None:
                return RedirectResponse(back, 302)
            return self._api(http, ask, body)

    def _api(self, http: Request, ask: Ask, body: bytes) -> Response:
        resource, points = ("graphql" if http.scope["path"] in _GRAPHQL else "core"), 1
        try:
            self._signed_in(ask)
            self._within_limits(ask, resource)
        except Refusal as refusal:
            reply = Reply(refusal.status, {"message": refusal.message}, refusal.headers)
        else:
            if resource == "graphql":
                reply, points = self._graphql(ask)
            else:
                reply = self._rest(ask, body)
            points = 0 if reply.status == 304 or ask.path == "/rate_limit" else points
            self.limits.spend(ask.token, resource, points)
        headers = self.limits.headers(ask.token, resource) | self._common(ask) | reply.headers
        response = Response(reply.body, reply.status, headers)
        self._note(http, response, ask.token, points=points, body=ask.body)
        return response

    def _rest(self, ask: Ask, body: bytes) -> Reply:
        """Caches the response of a request while nothing changes: benchmarks send it thousands of times."""
        key = (ask.token and ask.token.text, ask.base, ask.path, tuple(ask.query.items()))
        steady = ask.method == "GET" and ask.path.startswith("/repos/") and not self.world.lag
        version, reply = self._known.get(key, (-1, Reply()))
        if not steady or version != self.world.version:
            reply = answer(ask)
            self._hold(ask, body, reply)
            self.world.version += ask.method != "GET"
            if ask.method == "GET" and reply.status == 200:
                reply.text = reply.body.decode()
                reply.headers["ETag"] = etag_of(reply, ask)
            if steady:
                self._known[key] = (self.world.version, reply)
        if reply.headers.get("ETag") and ask.headers.get("if-none-match") == reply.headers["ETag"]:
            return Reply(304, None, reply.headers)
        return reply

    def _hold(self, ask: Ask, body: bytes, reply: Reply) -> None:
        """Checks the exchange against GitHub's description."""
        if self._checker is None or reply.status in {304, 405}:
            return
        if not (path := described_path(ask.method, ask.path)):
            self.violations.append(f"request {ask.method} {ask.path}: the stand-in has no such address")
            return
        headers = {"content-type": "application/json"} | {name.lower(): text for name, text in reply.headers.items()}
        exchange = Exchange(ask.method, path, dict(ask.query), body, reply.status, reply.body, headers)
        self.violations += self._checker.problems(exchange)

    def _graphql(self, ask: Ask) -> tuple[Reply, int]:
        if ask.token is None:
            return Reply(401, {"message": "This endpoint requires you to be authenticated."}), 1
        data, points, wrong = graphql.answer(ask)
        self.world.version += bool(graphql.mutations_in(ask.body))
        self.violations += [f"graphql: {one}" for one in wrong]
        return Reply(200, data), points

    def _signed_in(self, ask: Ask) -> None:
        scheme, _, text = ask.headers.get("authorization", "").partition(" ")
        if not scheme or (scheme.lower() == "bearer" and text.count(".") == 2):
            return  # nobody, or an App with its own key
        ask.token = self.find_token(text)
        if ask.token is None:
            raise Refusal(401, "Bad credentials")
        if ask.token.installation and ask.token.installation.suspended:
            raise Refusal(403, "This installation has been suspended")

    def _within_limits(self, ask: Ask, resource: str) -> None:
        if ask.path != "/rate_limit" and self.limits.left(ask.token, resource) <= 0:
            raise Refusal(403, "API rate limit exceeded for this user.")

    def _common(self, ask: Ask) -> dict[str, str]:
        now = datetime.fromtimestamp(int(self.world.now), UTC)
        headers = {"Date": format_datetime(now, usegmt=True), "Content-Type": "application/json; charset=utf-8"}
        if ask.token and ask.token.scopes:
            headers["x-oauth-scopes"] = ", ".join(ask.token.scopes)
        self._requests += 1
        return headers | {"x-github-request-id": f"{self._requests:X}"}

    def _note(self, http: Request, reply: Response, token: Token | None, *, points: int, body: Any = None) -> None:
        self.history.append(
            Call(
                http.method, http.scope["path"], dict(http.query_params), reply.status_code,
                http.scope["arrived"], points, "if-none-match" in http.headers,
                token.user.login if token else "", body,
            )
        )  # fmt: skip


async def _named(http: Request) -> str:
    """Returns the path for faults; a mutation's contains its names: `/mutation/addReaction/graphql`."""
    path = str(http.scope["path"])
    if path not in _GRAPHQL or not (names := graphql.mutations_in(_parsed(await http.body()))):
        return path
    return f"/mutation/{'+'.join(names)}{path}"


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def _scripted(fault: Fault) -> Response:
    return Response(fault.body, fault.status or 500, {"content-type": "application/json", **fault.headers})


@contextmanager
def served(world: GitHubWorld, *, validate: bool = True, github: ServedGitHub | None = None) -> Iterator[ServedGitHub]:
    """Serves on a free port of this machine, in its own thread."""
    github = github or ServedGitHub(world, validate)
    with listening(github) as github.url:
        yield github

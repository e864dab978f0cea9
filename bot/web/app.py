"""Every address the daemon answers at. Those for machines reveal nothing: they wake, or say that it lives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import BotError
from bot.status import prometheus as metrics
from bot.status.prometheus import Figures, no_figures
from bot.system.clock import Clock, now
from bot.web import (
    api,
    board,
    health,
    login,
)
from bot.web import (
    new_issue as new_work,
)
from bot.web import (
    state_events as events,
)
from bot.web import (
    statistics as figures,
)
from bot.web.auth import Access, Asked
from bot.web.browser_guard import SIGNED, Guarded
from bot.web.dashboard import Dashboard
from bot.web.error_pages import failed, refused
from bot.web.run import runs
from bot.web.templating import STATIC
from bot.web.webhooks import MOST_BYTES, is_of_now, is_signed_by_github, is_signed_by_linear, parse_repository


@dataclass(frozen=True, slots=True)
class Door:
    """What whoever comes in over HTTP may reach."""

    wake: Callable[[str], None]
    """Look anew at the projects of this repository; empty: at all."""
    ready: Callable[[], bool]
    wake_linear: Callable[[], None] = lambda: None
    """Look anew at the projects that have their issues in Linear."""
    clock: Clock = now
    github_secret: str = ""
    linear_secret: str = ""
    access: Access = field(default=Access())
    """Asked wherever there is no signature."""
    bound: str = "127.0.0.1"
    """The host it listens on."""
    hosts: tuple[str, ...] = ()
    """More names it is reached by."""
    figures: Figures = no_figures
    """For `/metrics`."""


def pages_of(door: Door, dashboard: Dashboard | None = None) -> Starlette:
    """Without a dashboard only what is for machines."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        return PlainTextResponse("ok\n") if door.ready() else PlainTextResponse("starting\n", status_code=503)

    async def measures(_request: Request) -> Response:
        return await metrics.page(door.figures)

    async def wake(_request: Request) -> Response:
        door.wake("")
        return PlainTextResponse("looking\n", status_code=202)

    async def github(request: Request) -> Response:
        return await _github(request, door)

    async def linear(request: Request) -> Response:
        return await _linear(request, door)

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", measures),
            Route("/api/v1/wake", wake, methods=["POST"]),
            Route(f"{SIGNED}github", github, methods=["POST"]),
            Route(f"{SIGNED}linear", linear, methods=["POST"]),
            *(_pages_for_people(door, dashboard) if dashboard else ()),
        ],
        middleware=[
            Middleware(Guarded, bound=door.bound, hosts=door.hosts),
            Middleware(Asked, access=door.access),
        ],
        exception_handlers={HTTPException: refused, BotError: failed},
    )


def _pages_for_people(door: Door, dashboard: Dashboard) -> Iterator[Route]:
    yield STATIC
    yield from login.routes_of(door.access)
    for pages in (board, new_work, figures, health, api, events, runs):
        yield from pages.routes_of(dashboard)


async def _github(request: Request, door: Door) -> Response:
    signature = request.headers.get("x-hub-signature-256", "")
    body = await _checked(
        request, door.github_secret, lambda body: is_signed_by_github(door.github_secret, body, signature)
    )
    if isinstance(body, Response):
        return body
    try:
        repository = parse_repository(body, request.headers.get("content-type", ""))
    except (ValueError, RecursionError):
        return PlainTextResponse("This cannot be read as JSON.\n", status_code=400)
    if repository:
        door.wake(repository)
    return PlainTextResponse("looking\n", status_code=202)


async def _linear(request: Request, door: Door) -> Response:
    signature = request.headers.get("linear-signature", "")
    body = await _checked(
        request, door.linear_secret, lambda body: is_signed_by_linear(door.linear_secret, body, signature)
    )
    if isinstance(body, Response):
        return body
    try:
        if not is_of_now(body, door.clock()):
            return PlainTextResponse("That is too old, or this machine's clock is wrong.\n", status_code=401)
    except (ValueError, RecursionError):
        return PlainTextResponse("This cannot be read as JSON with a time.\n", status_code=400)
    door.wake_linear()
    return PlainTextResponse("looking\n", status_code=200)  # Linear takes anything else for a failure


async def _checked(request: Request, secret: str, is_signed: Callable[[bytes], bool]) -> bytes | Response:
    """What was sent, or why it is not even read."""
    if not secret:
        name = request.url.path.rpartition("/")[2].upper()
        text = f"No webhook secret is set here: set TREEHAND_{name}__WEBHOOK_SECRET.\n"
        return PlainTextResponse(text, status_code=503)
    body = await _body_of(request)
    if body is None:
        return PlainTextResponse("That is too long.\n", status_code=413)
    if not is_signed(body):
        return PlainTextResponse("The signature is not right: is the secret the same on both sides?\n", status_code=401)
    return body


async def _body_of(request: Request) -> bytes | None:
    """None: longer than anybody may send."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)

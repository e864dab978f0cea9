"""Every address the daemon answers at. Nothing here decides or reveals anything: it wakes, or says that it lives."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.web.doors import SIGNED, Guarded, has_token
from bot.web.webhooks import MOST_BYTES, is_signed_by_github, parse_repository


@dataclass(frozen=True, slots=True)
class Door:
    """What whoever comes in over HTTP may reach."""

    wake: Callable[[str], None]
    """Look anew at the projects of this repository; empty: at all."""
    ready: Callable[[], bool]
    github_secret: str = ""
    token: str = ""
    """Asked for wherever something is set moving without a signature; empty: only this machine may come."""
    bound: str = "127.0.0.1"
    """The host it listens on."""
    hosts: tuple[str, ...] = ()
    """More names it is reached by."""


def pages_of(door: Door) -> Starlette:
    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        return PlainTextResponse("ok\n") if door.ready() else PlainTextResponse("starting\n", status_code=503)

    async def wake(request: Request) -> Response:
        if door.token and not has_token(request.headers, door.token):
            return PlainTextResponse("A token is needed: Authorization: Bearer ...\n", status_code=401)
        door.wake("")
        return PlainTextResponse("looking\n", status_code=202)

    async def github(request: Request) -> Response:
        return await _github(request, door)

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/api/v1/wake", wake, methods=["POST"]),
            Route(f"{SIGNED}github", github, methods=["POST"]),
        ],
        middleware=[Middleware(Guarded, bound=door.bound, hosts=door.hosts)],
    )


async def _github(request: Request, door: Door) -> Response:
    if not door.github_secret:
        text = "No webhook secret is set here: set TREEHAND_GITHUB__WEBHOOK_SECRET.\n"
        return PlainTextResponse(text, status_code=503)
    body = await _body_of(request)
    if body is None:
        return PlainTextResponse("That is too long.\n", status_code=413)
    if not is_signed_by_github(door.github_secret, body, request.headers.get("x-hub-signature-256", "")):
        return PlainTextResponse("The signature is not right: is the secret the same on both sides?\n", status_code=401)
    try:
        repository = parse_repository(body, request.headers.get("content-type", ""))
    except (ValueError, RecursionError):
        return PlainTextResponse("This cannot be read as JSON.\n", status_code=400)
    if repository:
        door.wake(repository)
    return PlainTextResponse("looking\n", status_code=202)


async def _body_of(request: Request) -> bytes | None:
    """None: longer than anybody may send."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)

"""Web app: lists every address of the daemon, for people (dashboard) and machines (webhooks, metrics, probes)."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import BotError
from bot.status.prometheus_format import CollectMetrics, no_metrics
from bot.system.clock import Clock, now
from bot.web import api, board, health, login, metrics, new_issue, server_sent_events, statistics
from bot.web.auth import Authenticator, AuthMiddleware
from bot.web.browser_guard import BrowserGuard
from bot.web.dashboard import Dashboard
from bot.web.error_pages import bot_error, http_error
from bot.web.request_body import BodyMemory
from bot.web.run import routes as run_routes
from bot.web.static_files import STATIC_ROUTE
from bot.web.webhooks import Webhook, webhook_route


async def _always_ready() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class AppConfig:
    wake: Callable[[str], None]
    """Polls the projects of this repository soon; all projects if it is empty."""
    ready: Callable[[], Awaitable[bool]] = _always_ready
    webhooks: Mapping[str, Webhook] = field(default_factory=dict)
    """The webhooks by name of the service."""
    clock: Clock = now
    authenticator: Authenticator = field(default=Authenticator())
    bind_host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    """More host names, such as a reverse proxy's."""
    collect_metrics: CollectMetrics = no_metrics


def build_app(config: AppConfig, dashboard: Dashboard | None = None) -> Starlette:
    """Without a dashboard, only the addresses for machines exist."""
    app = Starlette(
        routes=[*_routes_for_machines(config), *(_routes_for_people(config, dashboard) if dashboard else ())],
        middleware=[
            Middleware(BrowserGuard, bind_host=config.bind_host, hosts=config.hosts),
            Middleware(AuthMiddleware, authenticator=config.authenticator),
        ],
        exception_handlers={HTTPException: http_error, BotError: bot_error},
    )
    app.state.bodies = BodyMemory()
    return app


def _routes_for_machines(config: AppConfig) -> Iterator[Route]:
    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        return PlainTextResponse("ok\n") if await config.ready() else PlainTextResponse("starting\n", status_code=503)

    async def wake(_request: Request) -> Response:
        config.wake("")
        return PlainTextResponse("looking\n", status_code=202)

    yield Route("/healthz", healthz)
    yield Route("/readyz", readyz)
    yield metrics.route_of(config.collect_metrics)
    yield Route("/api/v1/wake", wake, methods=["POST"])
    yield from (webhook_route(name, webhook, config.clock) for name, webhook in config.webhooks.items())


def _routes_for_people(config: AppConfig, dashboard: Dashboard) -> Iterator[Route]:
    yield STATIC_ROUTE
    yield from login.routes_of(config.authenticator)
    for module in (board, new_issue, statistics, health, api, server_sent_events, run_routes):
        yield from module.routes_of(dashboard)

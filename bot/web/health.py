"""How everything is that we depend on, and what still works where something is not well."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.rendering import page


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def health(request: Request) -> Response:
        stations = await asyncio.to_thread(dashboard.window.stations)
        return page(request, "health.html", stations=sorted(stations, key=lambda one: one.ok))

    return [Route("/health", health)]

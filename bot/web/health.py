"""How everything is that we depend on, what still works where something is not well, and what projects need."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.templating import page


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def health(request: Request) -> Response:
        window = dashboard.window
        stations, projects = await asyncio.gather(
            asyncio.to_thread(window.stations), asyncio.to_thread(window.outlooks)
        )
        return page(request, "health.html", stations=sorted(stations, key=lambda one: one.ok), projects=projects)

    return [Route("/health", health)]

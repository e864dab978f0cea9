"""Health page: shows every dependency, what still works without it, and the setup report of each project."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.templating import page


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def health(request: Request) -> Response:
        data = dashboard.data
        dependencies, reports = await asyncio.gather(
            asyncio.to_thread(data.health), asyncio.to_thread(data.setup_reports)
        )
        by_state = sorted(dependencies, key=lambda dependency: dependency.ok)
        return page(request, "health.html", dependencies=by_state, reports=reports)

    return [Route("/health", health)]

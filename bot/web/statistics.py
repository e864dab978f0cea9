"""The figures: what happened lately, as small charts, as tables, and as files for spreadsheets."""

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.domain.statistics import SPANS, Figure, Span, figures_of
from bot.system.clock import now
from bot.web.charts import chart, rows_of
from bot.web.dashboard import Dashboard
from bot.web.sheets import sheet
from bot.web.templating import page

_USUAL = 30


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def figures(request: Request) -> Response:
        days, project = _asked(request)
        drawn = [(one, chart(one), rows_of(one)) for one in await _figures(dashboard, days, project)]
        projects = [site.name for site in dashboard.window.sites()]
        return page(request, "figures.html", figures=drawn, days=days, spans=SPANS, project=project, projects=projects)

    async def as_sheet(request: Request) -> Response:
        days, project = _asked(request)
        for one in await _figures(dashboard, days, project):
            if one.name == request.path_params["name"]:
                headers = {"Content-Disposition": f'attachment; filename="treehand-{one.name}.csv"'}
                return Response(sheet(one), media_type="text/csv; charset=utf-8", headers=headers)
        return PlainTextResponse("There is no such figure.\n", status_code=404)

    return [Route("/figures", figures), Route("/figures/{name}.csv", as_sheet)]


def _asked(request: Request) -> tuple[int, str]:
    """What makes no sense is as if nothing had been said."""
    asked = request.query_params.get("days", "")
    days = next((days for days in SPANS if str(days) == asked), _USUAL)
    return days, request.query_params.get("project", "")


async def _figures(dashboard: Dashboard, days: int, project: str) -> list[Figure]:
    span = Span.until(now(), days)
    past = await asyncio.to_thread(dashboard.window.past, span.start)
    return list(figures_of(past.of(project), span))

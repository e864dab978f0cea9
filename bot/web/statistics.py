"""Statistics page: charts and tables of the last days, and each statistic as CSV."""

import asyncio
import csv
import io
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.domain.statistics import SPANS, DaySpan, Statistic, statistics_of
from bot.system.clock import now
from bot.text.invisible_characters import on_one_line
from bot.web.dashboard import Dashboard
from bot.web.statistics_charts import chart, rows_of
from bot.web.templating import page

_DEFAULT_DAYS = 30
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""https://owasp.org/www-community/attacks/CSV_Injection"""


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def statistics(request: Request) -> Response:
        days, project = _filters(request)
        charts = [(each, chart(each), rows_of(each)) for each in await _statistics(dashboard, days, project)]
        projects = [site.name for site in dashboard.data.projects()]
        return page(
            request, "statistics.html", charts=charts, days=days, spans=SPANS, project=project, projects=projects
        )

    async def as_csv(request: Request) -> Response:
        days, project = _filters(request)
        for statistic in await _statistics(dashboard, days, project):
            if statistic.name == request.path_params["name"]:
                headers = {"Content-Disposition": f'attachment; filename="treehand-{statistic.name}.csv"'}
                return Response(to_csv(statistic), media_type="text/csv; charset=utf-8", headers=headers)
        return PlainTextResponse("No such statistic.\n", status_code=404)

    addresses = ("/statistics", "/figures")  # the second is the address of earlier versions
    return [
        route
        for address in addresses
        for route in (Route(address, statistics), Route(f"{address}/{{name}}.csv", as_csv))
    ]


def _filters(request: Request) -> tuple[int, str]:
    """The number of days and the project; an unknown number counts as the default."""
    wanted = request.query_params.get("days", "")
    days = next((days for days in SPANS if str(days) == wanted), _DEFAULT_DAYS)
    return days, request.query_params.get("project", "")


async def _statistics(dashboard: Dashboard, days: int, project: str) -> list[Statistic]:
    span = DaySpan.until(now(), days)
    history = await asyncio.to_thread(dashboard.data.history, span.start)
    return list(statistics_of(history.of(project), span))


def to_csv(statistic: Statistic) -> str:
    """One row per day or week, by its first day; one column per series. An unknown value is empty."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["from", *(no_formula(f"{series.name} ({statistic.unit})") for series in statistic.series)])
    for column, start in enumerate(statistic.starts):
        values = [series.values[column] for series in statistic.series]
        writer.writerow([time.strftime("%Y-%m-%d", time.gmtime(start)), *map(_number, values)])
    return out.getvalue()


def no_formula(text: str) -> str:
    """Puts an apostrophe before text that a spreadsheet would run as a formula."""
    plain = on_one_line(text)
    return f"'{plain}" if plain.startswith(_FORMULA_STARTS) else plain


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")

"""All pages of one run, in the order in which their addresses are tried: what ends in a word of ours comes first."""

from collections.abc import Iterator

from starlette.routing import Route

from bot.web import run_events, run_files, run_orders, run_page
from bot.web.dashboard import Dashboard


def routes_of(dashboard: Dashboard) -> Iterator[Route]:
    for pages in (run_files, run_events, run_orders, run_page):
        yield from pages.routes_of(dashboard)

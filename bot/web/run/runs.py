"""All pages of one run, in the order in which their addresses are tried: what ends in a word of ours comes first."""

from collections.abc import Iterator

from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.run import action_forms as run_orders
from bot.web.run import events as run_events
from bot.web.run import files as run_files
from bot.web.run import routes as run_page


def routes_of(dashboard: Dashboard) -> Iterator[Route]:
    for pages in (run_files, run_events, run_orders, run_page):
        yield from pages.routes_of(dashboard)

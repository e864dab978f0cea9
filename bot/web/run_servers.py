"""What the page of a run says of its servers: what can be started, what is up, and at which address."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.recipe import Step
from bot.domain.run import Run
from bot.web.dashboard import Dashboard
from bot.web.rendering import rendered
from bot.web.shows import Show

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Servers:
    show: Show | None
    """What is up, or was last."""
    address: str
    is_far: bool
    """The page was reached by a name of its own, so that its reader may be on another machine."""
    known: Mapping[str, Step] | None = None
    """None: there is no worktree now."""
    print: str = ""


async def servers_of(dashboard: Dashboard, run: Run, host: str) -> Servers:
    """`host`: by which name the page was reached."""
    seen = dashboard.shows.print_of(run)  # first: what changes meanwhile is news then
    known = await asyncio.to_thread(dashboard.closeup.servers, run)
    show = _as_it_is(dashboard.shows.of(run))
    return Servers(show, address_for(show, host), host not in _HERE, known, seen)


def show_html(dashboard: Dashboard, run: Run, host: str) -> str:
    """What is up, as a piece of the page."""
    show = dashboard.shows.of(run)
    servers = Servers(show, address_for(show, host), host not in _HERE)
    return rendered("show.html", run=run, servers=servers)


def _as_it_is(show: Show | None) -> Show | None:
    """Pages are put together in a thread, and it goes on printing."""
    return replace(show, lines=show.lines.copy()) if show else None


def address_for(show: Show | None, host: str) -> str:
    """By another name than the page's own: else a browser hands our cookie to the agent's server, whatever the port."""
    if show is None:
        return ""
    return show.address.replace("//localhost:", "//127.0.0.1:") if host == "localhost" else show.address

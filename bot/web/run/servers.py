"""What the page of a run says of its servers: what can be started, what is up, and at which address."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.run import Run
from bot.domain.setup_plan import Step
from bot.web.dashboard import Dashboard
from bot.web.run.server_processes import Show
from bot.web.templating import rendered

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
    is_shared: bool = False
    """The page was reached by the very name that servers have: a browser would show them our cookie."""


async def servers_of(dashboard: Dashboard, run: Run, host: str) -> Servers:
    """`host`: by which name the page was reached."""
    seen = dashboard.shows.print_of(run)  # first: what changes meanwhile is news then
    known = await asyncio.to_thread(dashboard.closeup.servers, run)
    show = _as_it_is(dashboard.shows.of(run))
    return replace(_seen_from(show, host), known=known, print=seen)


def show_html(dashboard: Dashboard, run: Run, host: str) -> str:
    """What is up, as a piece of the page."""
    show = dashboard.shows.of(run)
    return rendered("show.html", run=run, servers=_seen_from(show, host))


def _as_it_is(show: Show | None) -> Show | None:
    """Pages are put together in a thread, and it goes on printing."""
    return replace(show, lines=show.lines.copy()) if show else None


def _seen_from(show: Show | None, host: str) -> Servers:
    """Nobody is led to an agent's server by the name that our cookie is for: browsers show it to every port."""
    is_shared = host == "localhost"
    address = show.address if show and not is_shared else ""
    return Servers(show, address, host not in _HERE, is_shared=is_shared)

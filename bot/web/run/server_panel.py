"""Preview panel of the run page: the servers that can be started, the running one and its address."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.run import Run
from bot.domain.setup_plan import SetupStep
from bot.web.dashboard import Dashboard
from bot.web.run.server_processes import ServerProcess
from bot.web.templating import render

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServerPanel:
    server: ServerProcess | None
    """The running server, or the last one that ended."""
    address: str
    is_remote: bool
    """The page's reader may be on another machine than the daemon."""
    commands: Mapping[str, SetupStep] | None = None
    """Servers that can be started, by name; None if the run has no worktree."""
    fingerprint: str = ""
    shares_cookie_host: bool = False
    """The page's host name is that of the servers, so a browser would send them our login cookie."""


async def server_panel_of(dashboard: Dashboard, run: Run, host: str) -> ServerPanel:
    """`host` is the host name in the page's address."""
    fingerprint = dashboard.servers.fingerprint_of(run)  # first, so a change in the meantime is an event
    commands = await asyncio.to_thread(dashboard.details.servers, run)
    server = _copy(dashboard.servers.of(run))
    return replace(_panel(server, host), commands=commands, fingerprint=fingerprint)


def server_html(dashboard: Dashboard, run: Run, host: str) -> str:
    return render("run/server.html", run=run, servers=_panel(dashboard.servers.of(run), host))


def _copy(server: ServerProcess | None) -> ServerProcess | None:
    """A thread renders the page while the server continues to print."""
    return replace(server, lines=server.lines.copy()) if server else None


def _panel(server: ServerProcess | None, host: str) -> ServerPanel:
    """Gives no address under the host name of our cookie: browsers send a cookie to every port of a host."""
    shares_cookie_host = host == "localhost"
    address = server.address if server and not shares_cookie_host else ""
    return ServerPanel(server, address, host not in _LOOPBACK, shares_cookie_host=shares_cookie_host)

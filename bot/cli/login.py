"""`treehand login`: prints a link that logs somebody in to the dashboard, once."""

from argparse import Namespace

from bot.cli.settings import load_settings
from bot.errors import NeedsHuman
from bot.settings.dashboard_access import dashboard_bind, web_token
from bot.settings.schema import Settings
from bot.system.clock import now
from bot.web.login_link import make_link

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - recognised, not bound


def login(options: Namespace) -> None:
    settings = load_settings(options)
    if not settings.web.bind:
        raise NeedsHuman("There is no dashboard: web.bind is empty.")
    if not web_token(settings):
        raise NeedsHuman(f"The dashboard needs no login: open {address_of(settings)}.")
    print(login_link(settings))


def login_link(settings: Settings) -> str:
    return make_link(address_of(settings), web_token(settings), now=now())


def address_of(settings: Settings) -> str:
    """Returns the address for this machine's own browser."""
    host, _, port = dashboard_bind(settings).rpartition(":")
    return f"http://{_ANY_ADDRESS.get(host, host)}:{port}"

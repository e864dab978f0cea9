"""`treehand open`: opens the dashboard of the running daemon in a browser, or prints its address."""

import webbrowser
from argparse import Namespace

from bot.cli.login import address_of, login_link
from bot.cli.settings import load_settings
from bot.errors import NeedsHuman
from bot.settings.dashboard_access import dashboard_bind, web_token
from bot.settings.display import has_display
from bot.system.locks import daemon_pid


def open_dashboard(options: Namespace) -> None:
    settings = load_settings(options)
    if not daemon_pid(settings.state_dir):
        raise NeedsHuman("No daemon is running, so there is no dashboard: `treehand run` starts one.")
    if not dashboard_bind(settings):
        raise NeedsHuman("The running daemon has no dashboard: web.bind is empty, or it is `treehand once`.")
    if web_token(settings):
        print(login_link(settings))  # not for a browser's command line, which everybody on this machine can read
        return
    print(address_of(settings), flush=True)
    if has_display():
        webbrowser.open(address_of(settings))

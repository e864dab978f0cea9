"""`treehand status`: prints all runs by phase, in colour on a terminal, otherwise as plain lines."""

import json
from argparse import Namespace

from bot.cli.output import colour_console, print_text
from bot.cli.settings import load_settings
from bot.cli.status_text import format_status
from bot.status.snapshot import read_status


def status(options: Namespace) -> None:
    settings = load_settings(options)
    if options.watch:
        from bot.cli.status_watch import watch

        watch(settings, as_json=options.json)
        return
    snapshot = read_status(settings)
    if options.json:
        print(json.dumps(snapshot.as_json()))
    elif console := colour_console():
        from bot.cli.tables import render_status

        console.print(render_status(snapshot, console.width))
    else:
        print_text("\n".join(format_status(snapshot)))

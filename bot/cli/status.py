"""`treehand status`: the board, in colour on a terminal, else in plain lines that always look the same."""

import json
from argparse import Namespace

from bot.cli.output import colours, say
from bot.cli.status_text import plain
from bot.settings import load, settings_file
from bot.status.snapshot import picture


def status(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.watch:
        from bot.cli.status_watch import watch

        watch(settings, as_json=options.json)
        return
    seen = picture(settings)
    if options.json:
        print(json.dumps(seen.as_json()))
    elif console := colours():
        from bot.cli.tables import painted

        console.print(painted(seen, console.width))
    else:
        say("\n".join(plain(seen)))

"""`treehand status`: the board, in colour on a terminal, else in plain lines that always look the same."""

import json
from argparse import Namespace

from bot.glance import picture
from bot.settings import load, settings_file
from bot.terminal.lanes import plain
from bot.terminal.saying import colours, say


def status(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.watch:
        from bot.terminal.watching import watch

        watch(settings, as_json=options.json)
        return
    seen = picture(settings)
    if options.json:
        print(json.dumps(seen.as_json()))
    elif console := colours():
        from bot.terminal.painting import painted

        console.print(painted(seen, console.width))
    else:
        say("\n".join(plain(seen)))

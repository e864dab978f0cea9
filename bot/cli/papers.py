"""`treehand man` and `treehand completion`: what systems want to know of a command, out of its own parser."""

from argparse import Namespace

import shtab

from bot import __version__
from bot.cli.main import parser
from bot.cli.man import manual


def man(_options: Namespace) -> None:
    print(manual(parser(), __version__), end="")


def completion(options: Namespace) -> None:
    made = parser()
    for action in made._actions:  # noqa: SLF001 - argparse shows them nowhere else
        if action.dest == "config":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(made, shell=options.shell))

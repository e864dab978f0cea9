"""`treehand completion`: prints the completion script for bash, zsh or fish, made from the argument parser."""

from argparse import Namespace

import shtab

from bot.cli.main import parser


def completion(options: Namespace) -> None:
    commands = parser()
    for action in commands._actions:  # noqa: SLF001 - argparse has no other way to list them
        if action.dest == "config":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(commands, shell=options.shell))

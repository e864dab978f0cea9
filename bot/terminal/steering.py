"""`treehand say`, `stop`, `pause`, ...: the comment commands, typed. They are comments, like anybody else's."""

from argparse import Namespace

from bot.app import desk_of
from bot.settings import load, operator, settings_file


def say(options: Namespace) -> None:
    _comment(options, options.text)


def order(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    _comment(options, f"/{settings.label} {options.order}")


def _comment(options: Namespace, text: str) -> None:
    desk = desk_of(load(settings_file(options.config)))
    project, number = desk.parse_key(options.key)
    desk.issues(project).comment(number, text, by=options.author or operator())
    desk.close()

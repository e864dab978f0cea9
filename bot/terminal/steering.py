"""`treehand say`, `stop`, `pause`, ...: the comment commands, typed. They are comments, like anybody else's."""

import asyncio
from argparse import Namespace

from bot.app import desk_of, speak_on_service
from bot.settings import Settings, load, operator, settings_file
from bot.terminal.keys import parse_key


def say(options: Namespace) -> None:
    _comment(load(settings_file(options.config)), options, options.text)


def order(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    _comment(settings, options, f"/{settings.label} {options.order}")


def _comment(settings: Settings, options: Namespace, text: str) -> None:
    project, key = parse_key(settings, options.key)
    author = options.author or operator()
    if project.tracker != "local":
        asyncio.run(speak_on_service(settings, project, key, author, text))
        return
    desk = desk_of(settings)
    desk.issues(project.name).comment(desk.parse_key(key)[1], text, by=author)
    desk.close()

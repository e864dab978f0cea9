"""`treehand say`, `stop`, `pause`, ...: the comment commands, typed. They are comments, like anybody else's."""

import asyncio
from argparse import Namespace

from bot.control.user_actions import speak
from bot.settings import Settings, load, operator, settings_file


def say(options: Namespace) -> None:
    _comment(load(settings_file(options.config)), options, options.text)


def order(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    _comment(settings, options, f"/{settings.label} {options.order}")


def _comment(settings: Settings, options: Namespace, text: str) -> None:
    asyncio.run(speak(settings, options.key, text, by=options.author or operator()))

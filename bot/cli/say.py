"""`treehand say`, `stop`, `retry`, `pause`, `resume` and `give`: post a comment on the issue of a run."""

import asyncio
from argparse import Namespace

from bot.control.user_actions import comment_as
from bot.settings.load import load, operator, settings_file
from bot.settings.schema import Settings


def say(options: Namespace) -> None:
    _post(load(settings_file(options.config)), options, options.text)


def post_command(options: Namespace) -> None:
    """Posts `/ai stop` for `treehand stop`, and so on."""
    settings = load(settings_file(options.config))
    _post(settings, options, f"/{settings.label} {options.comment_command}")


def _post(settings: Settings, options: Namespace, text: str) -> None:
    asyncio.run(comment_as(settings, options.key, text, by=options.author or operator()))

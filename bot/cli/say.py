"""`treehand say`, `stop`, `retry`, `pause`, `resume` and `give`: post a comment on the issue of a run."""

import asyncio
from argparse import Namespace

from bot.cli.order_outcome import foresee_outcome
from bot.cli.output import print_text
from bot.cli.settings import load_settings
from bot.control.issue_keys import parse_run_key
from bot.control.user_actions import comment_as
from bot.settings.load import operator
from bot.settings.schema import Settings


def say(options: Namespace) -> int:
    return _post(load_settings(options), options, options.text)


def post_command(options: Namespace) -> int:
    """Posts `/ai stop` for `treehand stop`, and so on."""
    settings = load_settings(options)
    return _post(settings, options, f"/{settings.label} {options.comment_command}")


def _post(settings: Settings, options: Namespace, text: str) -> int:
    by = options.author or operator()
    key = parse_run_key(settings, options.key)[1]
    outcome = foresee_outcome(settings, key, text, by=by)
    asyncio.run(comment_as(settings, key, text, by=by))
    print_text(outcome.line)
    return outcome.exit_code

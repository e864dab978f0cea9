"""Opens the local tracker and forge for `treehand issue` and `treehand pr`, and prints their comments."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from bot.cli.output import indented, print_markdown, print_text
from bot.cli.settings import load_settings
from bot.control.current_project import current_project
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.services.local.comments import ShownComment
from bot.services.local.connect import open_local_server
from bot.services.local.server import LocalServer
from bot.services.registry import used_by
from bot.settings.load import operator
from bot.text.invisible_characters import on_one_line

JsonObject = dict[str, object]

_EMOJI = {Reaction.SEEN: "👀", Reaction.DONE: "🚀"}


@contextmanager
def open_server(options: Namespace) -> Iterator[LocalServer]:
    settings = load_settings(options)
    used = used_by(settings.projects)
    if used and not any(service.kept_here for service in used):
        places = " and ".join(service.site for service in used)
        raise NeedsHuman(
            f"Your issues and pull requests are {places}. This command works for the local tracker and forge only."
        )
    server = open_local_server(settings, partial(current_project, settings))
    try:
        yield server
    finally:
        server.close()


def author_of(options: Namespace) -> str:
    return options.author or operator()


def read_text(argument: str) -> str:
    """Reads standard input for `-`."""
    return sys.stdin.read() if argument == "-" else argument


def print_comments(comments: Sequence[ShownComment]) -> None:
    for comment in comments:
        reactions = " ".join(_EMOJI[reaction] for reaction in sorted(comment.reactions))
        verdict = f" ({comment.verdict})" if comment.verdict else ""
        print_text(f"\n── {on_one_line(comment.author)}{verdict} {reactions}".rstrip())
        if comment.text:
            print_markdown(comment.text)
        for remark in comment.remarks:
            print_text(indented(f"{on_one_line(remark.path)}:{remark.line}: {remark.text}"))


def comments_as_json(comments: Sequence[ShownComment]) -> list[JsonObject]:
    return [
        {
            "author": comment.author,
            "at": comment.at,
            "text": comment.text,
            "verdict": comment.verdict,
            "remarks": [{"path": remark.path, "line": remark.line, "text": remark.text} for remark in comment.remarks],
        }
        for comment in comments
    ]

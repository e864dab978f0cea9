"""Prints text on the terminal. Rule: control characters and invisible characters never reach it, and no untrusted text
looks like a line of ours: it is on a row, or its further lines are indented.

Colours are for terminals only: output to a file or a pipe is plain and never depends on the size of a window.
"""

import sys
from functools import cache, partial
from typing import TYPE_CHECKING

from bot.text.invisible_characters import escape_invisible, strip_invisible
from bot.text.pull_request_section import without_markers

if TYPE_CHECKING:
    from rich.console import Console

_NARROWEST = 20
"""Columns for words beside an indentation, however narrow the window is."""
_DIFF_STYLES = {"@": "cyan", "+": "green", "-": "red"}


def print_text(text: str, *, flush: bool = False, style: str = "") -> None:
    console = colour_console() if style else None
    if console is None:
        print(strip_invisible(text), flush=flush)
        return
    from rich.text import Text

    console.print(Text(strip_invisible(text), style), soft_wrap=True)


def print_markdown(text: str) -> None:
    """Indents all lines. Without a terminal, the text is printed as it was written."""
    shown = strip_invisible(without_markers(text))
    console = colour_console()
    if console is None:
        print_text(indented(shown))
        return
    from bot.cli.rendered_markdown import render_markdown

    console.print(render_markdown(shown, console.width))


def print_diff(diff: str) -> None:
    """Shows what cannot be seen as an escape, and every line as it is, however long."""
    shown = escape_invisible(diff)
    console = colour_console()
    if console is None:
        print(shown)
        return
    from rich.text import Text

    in_hunk = False
    for line in shown.split("\n"):
        in_hunk = line.startswith("@@") or (in_hunk and not line.startswith("diff "))
        console.print(Text(line, _DIFF_STYLES.get(line[:1], "none") if in_hunk else "bold"), soft_wrap=True)


def hanging(text: str, width: int) -> str:
    """Indents all lines after the first."""
    return strip_invisible(text).replace("\n", f"\n{' ' * width}")


def hanging_words(text: str, width: int) -> str:
    """Like `hanging`, and on a terminal no word is broken at the edge of the window, unless it is wider."""
    if not sys.stdout.isatty():
        return hanging(text, width)
    import shutil
    import textwrap

    room = max(shutil.get_terminal_size().columns, width + _NARROWEST)
    first, *rest = strip_invisible(text).split("\n")
    wrap = partial(
        textwrap.wrap, width=room, subsequent_indent=" " * width, break_long_words=False, break_on_hyphens=False
    )
    lines = [*wrap(first), *(line for one in rest for line in wrap(one, initial_indent=" " * width))]
    return "\n".join(lines)


def indented(text: str) -> str:
    """Indents all lines."""
    return hanging(f"  {text}", 2)


@cache
def colour_console() -> "Console | None":
    """Returns None without a terminal, with `TERM=dumb` and with `NO_COLOR`."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console
    from rich.theme import Theme

    theme = Theme({"markdown.code": "cyan", "markdown.block_quote": "none"})
    console = Console(highlight=False, markup=False, emoji=False, theme=theme)
    return None if console.no_color or console.is_dumb_terminal else console

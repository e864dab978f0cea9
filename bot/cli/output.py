"""Prints text on the terminal. Rule: control characters and invisible characters never reach it, and no untrusted text
looks like a line of ours: it is on a row, or its further lines are indented.

Colours are for terminals only: output to a file or a pipe is plain and never depends on the size of a window.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING

from bot.text.invisible_characters import strip_invisible

if TYPE_CHECKING:
    from rich.console import Console


def print_text(text: str, *, flush: bool = False, style: str = "") -> None:
    console = colour_console() if style else None
    if console is None:
        print(strip_invisible(text), flush=flush)
        return
    from rich.text import Text

    console.print(Text(strip_invisible(text), style), soft_wrap=True)


def hanging(text: str, width: int) -> str:
    """Indents all lines after the first."""
    return strip_invisible(text).replace("\n", f"\n{' ' * width}")


def indented(text: str) -> str:
    """Indents all lines."""
    return hanging(f"  {text}", 2)


@cache
def colour_console() -> "Console | None":
    """Returns None without a terminal, with `TERM=dumb` and with `NO_COLOR`."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    return None if console.no_color or console.is_dumb_terminal else console

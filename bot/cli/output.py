"""Puts words on the terminal. Rule: whatever a terminal would obey, or nobody would see, stays out of it.

Colours are for terminals alone: anywhere else lines are plain and always look the same.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING

from bot.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str, *, flush: bool = False, style: str = "") -> None:
    console = colours() if style else None
    if console is None:
        print(visible(text), flush=flush)
        return
    from rich.text import Text

    console.print(Text(visible(text), style), soft_wrap=True)


@cache
def colours() -> "Console | None":
    """None: there is no terminal, or it or its owner wants none (`TERM=dumb`, `NO_COLOR`)."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    return None if console.no_color or console.is_dumb_terminal else console

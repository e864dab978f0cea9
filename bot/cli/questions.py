"""Questions on a terminal, each with a good answer to begin with; where nobody sits there, that is the answer."""

import sys
from collections.abc import Callable

from bot.errors import BadSettings

Ask = Callable[[str, str, Callable[[str], str]], str]
"""The question, the answer to begin with, and what makes an answer usable: it raises ValueError with what is wrong."""


def asking(*, silent: bool) -> Ask:
    return _take if silent or not sys.stdin.isatty() else _ask


def _ask(question: str, default: str, usable: Callable[[str], str]) -> str:
    while True:
        try:
            said = input(f"{question} [{default}] " if default else f"{question} ").strip() or default
        except EOFError:
            raise BadSettings("No answer, so nothing was written. `--yes` takes the answers in brackets.") from None
        try:
            return usable(said)
        except ValueError as problem:
            print(f"  {problem}")


def _take(question: str, default: str, usable: Callable[[str], str]) -> str:
    try:
        return usable(default)
    except ValueError as problem:
        raise BadSettings(f"{question} {problem}") from None

"""Asks questions on the terminal, each with a default answer; without a terminal the default is taken."""

import sys
from collections.abc import Callable

from bot.errors import BadSettings

AskUser = Callable[[str, str, Callable[[str], str]], str]
"""Takes the question, the default answer and a parser that raises ValueError with the reason for a wrong answer."""


def choose_ask(*, use_defaults: bool) -> AskUser:
    return _use_default if use_defaults or not sys.stdin.isatty() else _ask


def _ask(question: str, default: str, parse: Callable[[str], str]) -> str:
    while True:
        try:
            answer = input(f"{question} [{default}] " if default else f"{question} ").strip() or default
        except EOFError:
            raise BadSettings("No answer was given, so nothing was written. `--yes` accepts the defaults.") from None
        try:
            return parse(answer)
        except ValueError as problem:
            print(f"  {problem}")


def _use_default(question: str, default: str, parse: Callable[[str], str]) -> str:
    try:
        return parse(default)
    except ValueError as problem:
        raise BadSettings(f"{question} {problem}") from None

"""Asks questions on the terminal, each with a default answer; without a terminal the default is taken.

Rule: a command asks at most five questions. Those that it asks first are the most important ones.
"""

import sys
from collections.abc import Callable
from getpass import getpass

from bot.errors import BadSettings

Parse = Callable[[str], str]
"""Raises ValueError with the reason for a wrong answer."""
_MOST = 5
_UNANSWERED = "No answer was given, so nothing was written. `--yes` accepts the defaults."


class Questions:
    def __init__(self, *, use_defaults: bool) -> None:
        self.left = 0 if use_defaults or not sys.stdin.isatty() else _MOST
        """Questions that may still be asked."""

    def __call__(self, question: str, default: str, parse: Parse) -> str:
        if not self.left:
            return _use_default(question, default, parse)
        self.left -= 1
        return _repeat(lambda: input(f"{question} [{default}] " if default else f"{question} ") or default, parse)

    def agrees(self, question: str) -> bool:
        """Returns True if nobody can be asked: ask only for what the default may be."""
        return self(f"{question} [Y/n]", "", _parse_yes) == "y"

    def secret(self, question: str, parse: Parse) -> str:
        """Shows nothing of the answer. Returns an empty string if nobody can be asked."""
        if not self.left:
            return ""
        self.left -= 1
        return _repeat(lambda: getpass(f"{question} "), parse)


def _repeat(ask: Callable[[], str], parse: Parse) -> str:
    while True:
        try:
            answer = ask().strip()
        except EOFError:
            raise BadSettings(_UNANSWERED) from None
        try:
            return parse(answer)
        except ValueError as problem:
            print(f"  {problem}")


def _use_default(question: str, default: str, parse: Parse) -> str:
    try:
        return parse(default)
    except ValueError as problem:
        raise BadSettings(f"{question} {problem}") from None


def _parse_yes(answer: str) -> str:
    if answer.lower() not in {"", "y", "yes", "n", "no"}:
        raise ValueError("Answer y or n.")
    return answer.lower()[:1] or "y"

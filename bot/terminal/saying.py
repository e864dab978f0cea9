"""Puts words on the terminal. Rule: whatever a terminal would obey, or nobody would see, stays out of it."""

from bot.domain.letters import visible


def say(text: str, *, flush: bool = False) -> None:
    print(visible(text), flush=flush)

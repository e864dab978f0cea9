"""Reads TOML that nobody has checked, in a time that grows with its length alone. Pure."""

import re
import tomllib
from typing import Any

_MOST_DOTS = 100
_ENDS_A_KEY = re.compile(r"[=,{\[\n]")


def parse_toml(text: str) -> dict[str, Any]:
    """Raises ValueError, also for a key of very many parts, which takes the time of their square to read."""
    if any(piece.count(".") > _MOST_DOTS for piece in _ENDS_A_KEY.split(text)):
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem

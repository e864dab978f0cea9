"""Reads from a refusal of the model's service that a limit of ours is reached, and when that is over. Pure.

Rule: only what a program does not sit out by itself counts. That the service is busy is no limit.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_TOO_MANY = 429
_LONG_SECONDS = 60.0


def limit_in(status: int, headers: Mapping[str, str]) -> float | None:
    """Seconds since the epoch; 0: it does not say when. None: there is no such limit."""
    if status != _TOO_MANY:
        return None
    wait = _number(headers.get("retry-after", ""))
    sent = _date(headers.get("date", ""))
    later = sent + wait if sent and wait else 0.0  # by the clock of whoever said so
    if headers.get("anthropic-ratelimit-unified-status") == "rejected":
        return _number(headers.get("anthropic-ratelimit-unified-reset", "")) or later
    return later if wait >= _LONG_SECONDS else None


def _number(text: str) -> float:
    """0: it is none, or none that can be used."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) and number > 0 else 0.0


def _date(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0

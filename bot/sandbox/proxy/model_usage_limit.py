"""Usage limit: reads from an answer of the model's service that our usage limit is reached, and when it is reset. Pure.

Rule: a wait that the agent's program sits out by itself is no limit; nor is a busy service.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_TOO_MANY_REQUESTS = 429
_MIN_LIMIT_SECONDS = 60.0


def parse_usage_limit(status: int, headers: Mapping[str, str]) -> float | None:
    """Returns the reset time in seconds since the epoch; 0 if unknown; None if no limit is reached."""
    if status != _TOO_MANY_REQUESTS:
        return None
    retry_after = _number(headers.get("retry-after", ""))
    sent = _date(headers.get("date", ""))
    reset_at = sent + retry_after if sent and retry_after else 0.0  # time of the service's clock
    if headers.get("anthropic-ratelimit-unified-status") == "rejected":
        return _number(headers.get("anthropic-ratelimit-unified-reset", "")) or reset_at
    return reset_at if retry_after >= _MIN_LIMIT_SECONDS else None


def _number(text: str) -> float:
    """Returns 0 if it is no usable number."""
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

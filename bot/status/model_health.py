"""Model health: judges whether the model answers agents, from counts of its HTTP answers.

Rule: an answer that refuses a malformed request is no failure, so that no agent can make the model look unwell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot.engine.circuit_breaker import clock_time

SILENT_SECONDS = 900.0
"""After this long without any answer a failure no longer counts."""

_GOOD_BELOW, _THEIR_FAULT = 400, 500
_REFUSED = frozenset({401, 402, 403, 429})


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    counted: Mapping[int, int] = field(default_factory=dict)
    """Number of answers by HTTP status; 0 stands for no answer."""
    fails: bool = False
    failure: str = ""
    """The last failure, in words."""
    at: float = 0.0
    """Time of the last answer."""


def add_answers(before: ModelAnswers, counted: Mapping[int, int], now: float) -> ModelAnswers:
    new = {status for status, times in counted.items() if times > before.counted.get(status, 0)}
    failures, is_good = sorted(filter(_is_failure, new)), any(_is_good(status) for status in new)
    if not new:
        return replace(before, fails=before.fails and 0 <= now - before.at < SILENT_SECONDS)
    failure = f"{_words(failures[-1])} shortly before {clock_time(now, now)}" if failures else before.failure
    fails = not is_good and (before.fails or bool(failures))
    return ModelAnswers(dict(counted), fails, failure, now)


def model_findings(answers: ModelAnswers) -> Mapping[str, tuple[bool, str]]:
    """Empty until an agent got an answer."""
    if not answers.counted:
        return {}
    last = f"the last failure: {answers.failure}" if answers.failure else ""
    if answers.fails:
        return {"proxy": (False, f"the model does not answer agents; {last}")}
    return {"proxy": (True, "; ".join(part for part in ("the model answers agents", last) if part))}


def _is_good(status: int) -> bool:
    return 0 < status < _GOOD_BELOW


def _is_failure(status: int) -> bool:
    return not status or status >= _THEIR_FAULT or status in _REFUSED


def _words(status: int) -> str:
    return f"HTTP {status}" if status else "no answer"

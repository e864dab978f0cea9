"""Classifies how a turn failed, from the result, the last error and stderr of the agent's program."""

from typing import TYPE_CHECKING

from bot.domain.turn import Failure
from bot.system.disk import says_full_disk

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

_KEY_REFUSED = frozenset({401, 402, 403})
_TOO_MANY = 429
_BUSY = frozenset({408, 409, _TOO_MANY})
_SERVER_ERROR = 500
_SESSION_GONE = "No conversation found"
_MAX_DETAIL = 2_000


def failure_in(result: "ResultMessage | None", error: str, broken: str, stderr: str) -> tuple[Failure, str]:
    """Returns the class and the detail. The program's own message comes first: how it ended comes after it anyway."""
    if result is not None and not result.is_error:
        return Failure.NONE, ""
    message = _message(result)
    detail = "\n".join(part for part in (message or broken or "the agent ended without a result", stderr) if part)
    return _classify(result, error, detail), detail[-_MAX_DETAIL:]


def is_limit(failure: Failure, result: "ResultMessage | None", *, service_reported: bool) -> bool:
    """Returns True if the model refused because of a usage limit, so that only a long pause helps.

    `service_reported`: the service has sent an event about the limit. The program retries by itself and ends with "too
    many requests" only after a long wait, or before one.
    """
    if failure is not Failure.MODEL or result is None:
        return False
    return result.api_error_status == _TOO_MANY or (service_reported and result.api_error_status is None)


def is_session_gone(detail: str) -> bool:
    return _SESSION_GONE in detail


def _message(result: "ResultMessage | None") -> str:
    if result is None:
        return ""
    return "; ".join(result.errors or ()) or result.result or result.subtype


def _classify(result: "ResultMessage | None", error: str, detail: str) -> Failure:
    if says_full_disk(detail):
        return Failure.DISK
    if result is None:
        return Failure.AGENT
    if result.subtype == "error_max_budget_usd":
        return Failure.BUDGET
    if result.subtype != "success":
        return Failure.AGENT
    return _classify_status(result.api_error_status, error)


def _classify_status(status: int | None, error: str) -> Failure:
    """Uses the status if there is one: an answer that never came has none, and only the error is known."""
    if status is None:
        status = {"authentication_failed": 401, "billing_error": 403, "invalid_request": 400}.get(error, 503)
    if status in _KEY_REFUSED:
        return Failure.KEY
    return Failure.MODEL if status in _BUSY or status >= _SERVER_ERROR else Failure.AGENT

"""Tells from what a turn left behind whether it failed, and how, in our own words."""

import re
from typing import TYPE_CHECKING

from bot.domain.turn import Failure

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

_REFUSED = frozenset({401, 402, 403})
_TOO_MANY = 429
_BUSY = frozenset({408, 409, _TOO_MANY})
_THEIR_FAULT = 500
_DISK = re.compile(r"ENOSPC|No space left on device")
_GONE = "No conversation found"
_DETAIL = 2_000


def failure_in(result: "ResultMessage | None", error: str, broken: str, stderr: str) -> tuple[Failure, str]:
    """The class and the detail. What the program said itself comes first: how it ended comes after it anyway."""
    if result is not None and not result.is_error:
        return Failure.NONE, ""
    said = _said(result)
    detail = "\n".join(part for part in (said or broken or "the agent ended without a result", stderr) if part)
    return _class_of(result, error, detail), detail[-_DETAIL:]


def is_limit(failure: Failure, result: "ResultMessage | None", *, told: bool) -> bool:
    """Of those refusals that a pause may help against: is it one that a short one does not?

    `told`: the service has said that there is a limit. The program tries again by itself as long as that makes sense:
    it does not end with "too many" unless there have been for long, or it would have to wait for long.
    """
    if failure is not Failure.MODEL or result is None:
        return False
    return result.api_error_status == _TOO_MANY or (told and result.api_error_status is None)


def session_is_gone(detail: str) -> bool:
    return _GONE in detail


def _said(result: "ResultMessage | None") -> str:
    if result is None:
        return ""
    return "; ".join(result.errors or ()) or result.result or result.subtype


def _class_of(result: "ResultMessage | None", error: str, detail: str) -> Failure:
    if _DISK.search(detail):
        return Failure.DISK
    if result is None:
        return Failure.AGENT
    if result.subtype == "error_max_budget_usd":
        return Failure.BUDGET
    if result.subtype != "success":
        return Failure.AGENT
    return _class_of_answer(result.api_error_status, error)


def _class_of_answer(status: int | None, error: str) -> Failure:
    """By the status when there was one: an answer that never came has none, and the error is all we know."""
    if status is None:
        status = {"authentication_failed": 401, "billing_error": 403, "invalid_request": 400}.get(error, 503)
    if status in _REFUSED:
        return Failure.KEY
    return Failure.MODEL if status in _BUSY or status >= _THEIR_FAULT else Failure.AGENT

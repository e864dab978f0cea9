"""What Linear may answer to each of our writes, and what then becomes of it.

Codes and types are those of Linear's documentation and of threads of other clients, which are named beside them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.refusals.outcome import Outcome
from tests.refusals.outcome import Outcome as Is

SHOWING = ("comment", "edit", "answer", "label", "new label", "react", "move", "link", "note")
OPERATIONS = (*SHOWING, "copy")
"""A second comment with the same words is removed, which shows nothing."""


@dataclass(frozen=True)
class Answer:
    """A fault of the stand-in, and what becomes of the operations."""

    becomes: Mapping[str, Outcome]
    """Keyed by operation; operations that are not named are not tried."""
    fault: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    """Words that people read about it, if they read any."""
    times: int = 1
    """A comment whose id was refused is tried with another one first."""


def _errors(message: str, *, code: str, kind: str, status: int = 200, **extensions: object) -> dict[str, Any]:
    error = {"message": message, "extensions": {"code": code, "type": kind, **extensions}}
    return {"status": status, "body": json.dumps({"errors": [error], "data": None}).encode()}


def _data(payload: object) -> dict[str, Any]:
    """Whatever was asked for, the stand-in answers it under the name of a mutation."""
    return {"status": 200, "body": json.dumps({"data": payload}).encode()}


def _all(outcome: Outcome) -> dict[str, Outcome]:
    return dict.fromkeys(OPERATIONS, outcome)


def _noted() -> dict[str, Outcome]:
    return {**_all(Is.NOTED), "copy": Is.DONE}


ANSWERS: dict[str, Answer] = {
    # Passing
    "401": Answer(
        _all(Is.PARKED),
        _errors("Authentication required", code="AUTHENTICATION_ERROR", kind="authentication error", status=401),
        "rejects the key",
    ),
    "200 unauthenticated": Answer(
        _all(Is.PARKED),
        _errors("Authentication required", code="AUTHENTICATION_ERROR", kind="authentication error"),
        "rejects the key",
    ),
    # vanillagreencom/kendex#1018: a limit comes with HTTP 400
    "400 limit": Answer(
        _all(Is.LIMITED),
        _errors("Rate limit exceeded", code="RATELIMITED", kind="ratelimited", status=400, statusCode=429),
    ),
    "200 limit": Answer(_all(Is.LIMITED), _errors("Rate limit exceeded", code="RATELIMITED", kind="ratelimited")),
    "429 of a proxy": Answer(_all(Is.LIMITED), {"status": 429, "body": b"Too Many Requests"}),
    "408": Answer(_all(Is.LATER), {"status": 408, "body": b""}),
    "404 of a proxy": Answer(_all(Is.LATER), {"status": 404, "body": b"<html>not here</html>"}),
    "500": Answer(
        _all(Is.LATER),
        _errors("Internal server error", code="INTERNAL_SERVER_ERROR", kind="internal error", status=500),
    ),
    "200 internal error": Answer(
        _all(Is.LATER), _errors("Internal server error", code="INTERNAL_SERVER_ERROR", kind="internal error")
    ),
    "200 lock timeout": Answer(_all(Is.LATER), _errors("Lock timeout", code="LOCK_TIMEOUT", kind="lock timeout")),
    "502 in HTML": Answer(_all(Is.LATER), {"status": 502, "body": b"<html>Bad gateway</html>"}),
    "503": Answer(_all(Is.LATER), {"status": 503, "body": b""}),
    "dropped before the effect": Answer(_all(Is.LATER), {"cut": True}),
    # Lying
    "dropped after the effect": Answer(_all(Is.LATER), {"cut": True, "done": True}),
    "500 after the effect": Answer(_all(Is.LATER), {"done": True, "status": 500, "body": b""}),
    "broken off": Answer(_all(Is.LATER), {"half": True}),
    "200 in HTML": Answer(_all(Is.LATER), {"status": 200, "body": b"<html>Sign in to the proxy</html>"}),
    "200 null": Answer(_all(Is.LATER), {"status": 200, "body": b"null"}),
    "200 list": Answer(_all(Is.LATER), {"status": 200, "body": b"[1]"}),
    "200 without data": Answer(_all(Is.LATER), _data(None)),
    "200 without a payload": Answer(_all(Is.LATER), _data({})),
    "200 with a null payload": Answer(_all(Is.LATER), _data({"mutation": None})),
    "200 with a list as payload": Answer(_all(Is.LATER), _data({"mutation": [5]})),
    "302": Answer(_all(Is.LATER), {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}),
    "success without the thing": Answer(
        {"comment": Is.LATER, "edit": Is.LATER, "answer": Is.LATER, "new label": Is.LATER},
        _data({"mutation": {"success": True}}),
    ),
    # Permanent
    "200 success false": Answer(_noted(), _data({"mutation": {"success": False}}), "no success", times=9),
    "403": Answer(_noted(), _errors("Forbidden", code="FORBIDDEN", kind="forbidden", status=403), "no permission"),
    "200 forbidden": Answer(_noted(), _errors("Forbidden", code="FORBIDDEN", kind="forbidden"), "no permission"),
    "entity not found": Answer(
        {**_noted(), "react": Is.DONE},
        _errors("Entity not found: Issue", code="INPUT_ERROR", kind="invalid input", userError=True),
        "not found",
        times=9,
    ),
    "user error": Answer(
        _noted(),
        _errors("User error", code="USER_ERROR", kind="user error", userPresentableMessage="The issue is archived."),
        "The issue is archived",
        times=9,
    ),
    "invalid input": Answer(
        _noted(),
        _errors("Argument Validation Error", code="INVALID_INPUT", kind="invalid input", status=400),
        "Argument Validation Error",
        times=9,
    ),
    "usage limit": Answer(
        _noted(),
        _errors("Usage limit exceeded", code="USAGE_LIMIT_EXCEEDED", kind="usage limit exceeded"),
        "Usage limit exceeded",
        times=9,
    ),
    "feature not accessible": Answer(
        _noted(),
        _errors("Feature not accessible", code="FEATURE_NOT_ACCESSIBLE", kind="feature not accessible"),
        "no permission",
    ),
    "schema changed": Answer(
        _noted(),
        _errors("Cannot query field", code="GRAPHQL_VALIDATION_FAILED", kind="graphql error", status=400),
        "Cannot query field",
        times=9,
    ),
}

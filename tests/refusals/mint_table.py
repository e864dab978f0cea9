"""What GitHub may answer when an App asks for a token, and what then becomes of the write that needs it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.refusals.outcome import Outcome
from tests.refusals.outcome import Outcome as Is

MINT, FIND = "POST /app/installations/*/access_tokens", "GET /repos/*/installation"
NEEDING = ("comment", "push")
"""What shows a run, and what is the work itself."""


@dataclass(frozen=True)
class MintAnswer:
    comment: Outcome
    push: Outcome
    fault: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    """Words that people read about it, if they read any."""


def _answer(status: int, body: object, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "body": json.dumps(body).encode(), "headers": named}


def _later(fault: Mapping[str, Any]) -> MintAnswer:
    return MintAnswer(Is.LATER, Is.LATER, fault)


def _refused(fault: Mapping[str, Any], says: str) -> MintAnswer:
    return MintAnswer(Is.NOTED, Is.ASKED, fault, says)


_FUTURE = "2099-01-01T00:00:00Z"

ANSWERS: dict[str, MintAnswer] = {
    # Passing
    "429": MintAnswer(Is.LIMITED, Is.LIMITED, _answer(429, {"message": "Too many requests"}, retry_after="60")),
    "403 secondary limit": MintAnswer(
        Is.LIMITED, Is.LIMITED, _answer(403, {"message": "You have exceeded a secondary rate limit."})
    ),
    "500": _later(_answer(500, {"message": "Server Error"})),
    "502 in HTML": _later({"status": 502, "body": b"<html>Unicorn!</html>"}),
    "dropped before the effect": _later({"cut": True}),
    # Lying
    "dropped after the effect": _later({"cut": True, "done": True}),
    "500 after the effect": _later({"done": True, **_answer(500, {"message": "Server Error"})}),
    "broken off": _later({"half": True}),
    "200 in HTML": _later({"status": 200, "body": b"<html>Sign in to the proxy</html>"}),
    "200 null": _later(_answer(200, None)),
    "200 list": _later(_answer(200, [1])),
    "200 of another shape": _later(_answer(200, {"surprise": []})),
    "200 without the end": _later(_answer(201, {"token": "ghs_1"})),
    "200 with a number as token": _later(_answer(201, {"token": 5, "expires_at": _FUTURE})),
    "200 with another end": _later(_answer(201, {"token": "ghs_1", "expires_at": 5})),
    "304": _later({"status": 304, "body": b""}),
    # Permanent. The JWT is made again once: this machine's clock may be wrong
    "401 once": MintAnswer(
        Is.DONE, Is.DONE, _answer(401, {"message": "'Expiration time' claim ('exp') is too far in the future"})
    ),
    "401": MintAnswer(
        Is.PARKED, Is.PARKED, {"times": 2, **_answer(401, {"message": "A JSON web token could not be decoded"})},
        "rejects the",
    ),
    "403 suspended": _refused(_answer(403, {"message": "This installation has been suspended"}), "suspended"),
    "404": _refused(_answer(404, {"message": "Not Found"}), "issued no token"),
    "422": _refused(
        {"times": 2, **_answer(422, {"message": "The permissions requested are not granted to this installation."})},
        "not granted to this installation",
    ),
}  # fmt: skip

"""What GitHub may answer to each of our writes, and what then becomes of it.

Messages are those of GitHub's documentation and of threads of other clients, which are named beside them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.refusals.outcome import Outcome
from tests.refusals.outcome import Outcome as Is

SHOWING = ("comment", "edit", "label", "new label", "unlabel", "react", "react inline", "answer", "reply")
"""Operations that show a run."""
BEING = ("open", "describe")
TIDYING = ("remove", "copy")
"""A merged branch, and a second comment with the same words, are removed."""
REST = (*SHOWING, *BEING, *TIDYING)


@dataclass(frozen=True)
class Answer:
    """A fault of the stand-in, and what becomes of the operations."""

    becomes: Mapping[str, Outcome]
    """Keyed by operation; operations that are not named are not tried."""
    fault: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    """Words that people read about it, if they read any."""


def _refusal(status: int, message: str, *errors: object, **headers: str) -> dict[str, Any]:
    body = {"message": message, **({"errors": list(errors)} if errors else {})}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "body": json.dumps(body).encode(), "headers": named}


def _all(outcome: Outcome) -> dict[str, Outcome]:
    return dict.fromkeys(REST, outcome)


def _refused(**others: Outcome) -> dict[str, Outcome]:
    """What shows is noted, and what is the work is asked about."""
    becomes = {**dict.fromkeys((*SHOWING, "remove"), Is.NOTED), **dict.fromkeys(BEING, Is.ASKED)}
    return {**becomes, "copy": Is.DONE, **others}


def _only(*operations: str, becomes: Outcome) -> dict[str, Outcome]:
    return dict.fromkeys(operations, becomes)


_INVALID = "Validation Failed"
_PULL = {"resource": "PullRequest"}
_HEAD_UNSEEN = (
    "Head sha can't be blank",
    "Base sha can't be blank",
    "No commits between main and x",
    "Head ref must be a branch",
)

_NEVER_MIND = {"new label": Is.DONE}
"""Whether a label exists shows when it is added, which creates it as well."""
_GONE = {
    "edit": Is.NOTED,
    "unlabel": Is.NOTED,
    "react": Is.DONE,
    "react inline": Is.DONE,
    "reply": Is.DONE,
    "remove": Is.DONE,
    "copy": Is.DONE,
}
"""Nothing is left to react to; a reply whose thread is gone goes to the conversation; a removed branch is removed."""

ANSWERS: dict[str, Answer] = {
    # Passing
    "401": Answer(_all(Is.PARKED), _refusal(401, "Bad credentials"), "rejects the token"),
    "403 primary limit": Answer(
        _all(Is.LIMITED), _refusal(403, "API rate limit exceeded for user ID 1.", x_ratelimit_remaining="0")
    ),
    "403 secondary limit": Answer(
        _all(Is.LIMITED), _refusal(403, "You have exceeded a secondary rate limit. Please wait a few minutes.")
    ),
    "422 too quickly": Answer(
        _all(Is.LIMITED), _refusal(422, _INVALID, {**_PULL, "code": "custom", "message": "was submitted too quickly"})
    ),
    "429": Answer(_all(Is.LIMITED), _refusal(429, "Too many requests", retry_after="60")),
    "408": Answer(_all(Is.LATER), _refusal(408, "Request timeout")),
    "500": Answer(_all(Is.LATER), _refusal(500, "Server Error")),
    "502 in HTML": Answer(_all(Is.LATER), {"status": 502, "body": b"<html>Unicorn!</html>"}),
    "503": Answer(_all(Is.LATER), _refusal(503, "No server is currently available to service your request.")),
    "504": Answer(_all(Is.LATER), _refusal(504, "We couldn't respond to your request in time.")),
    "dropped before the effect": Answer(_all(Is.LATER), {"cut": True}),
    # cli/cli#2691: right after a push the branch is not seen yet
    "422 head unseen": Answer(
        {"open": Is.LATER},
        _refusal(422, _INVALID, *({"code": "custom", "message": one} for one in _HEAD_UNSEEN)),
        "does not see the branch",
    ),
    # Lying
    "dropped after the effect": Answer(_all(Is.LATER), {"cut": True, "done": True}),
    "500 after the effect": Answer(_all(Is.LATER), {"done": True, **_refusal(500, "Server Error")}),
    "broken off": Answer({**_all(Is.LATER), **dict.fromkeys(TIDYING, Is.DONE)}, {"half": True}),
    "200 in HTML": Answer(_all(Is.LATER), {"status": 200, "body": b"<html>Sign in to the proxy</html>"}),
    "200 null": Answer(_all(Is.LATER), {"status": 200, "body": b"null"}),
    "200 of another shape": Answer({**_all(Is.LATER), **_NEVER_MIND}, {"status": 200, "body": b'{"surprise": []}'}),
    "200 list": Answer(_all(Is.LATER), {"status": 200, "body": b"[1]"}),
    "304": Answer(_all(Is.LATER), {"status": 304, "body": b""}),
    "302 to another host": Answer(
        _refused(), {"status": 302, "headers": {"Location": "http://127.0.0.1:1/login"}}, "redirects to"
    ),
    # Permanent
    # peter-evans/create-or-update-comment#188
    "403": Answer(_refused(), _refusal(403, "Resource not accessible by integration"), "has no permission"),
    # peter-evans/create-pull-request#1175
    "403 pull requests not permitted": Answer(
        _only("open", becomes=Is.ASKED),
        _refusal(403, "GitHub Actions is not permitted to create or approve pull requests."),
        "not permitted to create",
    ),
    "403 locked": Answer(
        _only("comment", "react", "answer", becomes=Is.NOTED),
        _refusal(403, "Unable to create comment because issue is locked."),
        "is locked",
    ),
    "403 archived": Answer(_all(Is.PARKED), _refusal(403, "Repository was archived so is read-only."), "is archived"),
    # GitHub says the same to a token that may only read as of a thing that is gone
    "404": Answer(_refused(**_GONE), _refusal(404, "Not Found"), "Not Found"),
    "410": Answer(_only("comment", "label", becomes=Is.NOTED), _refusal(410, "This issue was deleted"), "was deleted"),
    "451": Answer(_refused(**_GONE), _refusal(451, "Repository access blocked"), "access blocked"),
    "422": Answer(
        _refused(**_NEVER_MIND),
        _refusal(422, _INVALID, {"code": "unprocessable", "field": "data", "message": "Spammed."}),
        "Spammed",
    ),
    # Mergifyio/mergify#3757
    "422 no such branch": Answer({"remove": Is.DONE}, _refusal(422, "Reference does not exist")),
    # tenstorrent/tt-inference-server#4841
    "422 branch is locked": Answer({"remove": Is.NOTED}, _refusal(422, "Branch is locked"), "Branch is locked"),
    "422 body too long": Answer(
        {
            **_only("comment", "edit", "answer", "reply", becomes=Is.NOTED),
            **_only("open", "describe", becomes=Is.ASKED),
        },
        _refusal(422, _INVALID, {"code": "custom", "message": "body is too long (maximum is 65536 characters)"}),
        "too long",
    ),
    # SWE-agent/SWE-agent#179
    "422 no drafts": Answer(
        _only("open", becomes=Is.DONE), _refusal(422, "Draft pull requests are not supported in this repository.")
    ),
    "422 base is gone": Answer(
        _only("open", becomes=Is.ASKED),
        _refusal(422, _INVALID, {**_PULL, "field": "base", "code": "invalid"}),
        "base branch `main` does not exist",
    ),
    # realyze/pr-train#37
    "422 no commits": Answer(
        _only("open", becomes=Is.ASKED),
        _refusal(422, _INVALID, {**_PULL, "code": "custom", "message": "No commits between main and treehand/x"}),
        "has no commits beyond main",
    ),
    "409": Answer(_refused(), _refusal(409, "Conflict"), "Conflict"),
}

BATCHED = ("label", "unlabel", "react", "react inline")
"""Operations that go as GraphQL mutations; servers without GraphQL get them as REST."""
MUTATED = (*BATCHED, "react review")
"""REST has no reactions to reviews."""


def _mutation(*, data: object = None, **error: object) -> dict[str, Any]:
    return {"status": 200, "body": json.dumps({"data": data, "errors": [{"path": ["m0"], **error}]}).encode()}


def _batched(outcome: Outcome) -> dict[str, Outcome]:
    return dict.fromkeys(MUTATED, outcome)


def _same(answer: str, outcome: Outcome) -> Answer:
    return replace(ANSWERS[answer], becomes=_batched(outcome))


MUTATIONS: dict[str, Answer] = {
    # Passing
    "401": Answer(_batched(Is.PARKED), _refusal(401, "Bad credentials"), "rejects the token"),
    "403 secondary limit": _same("403 secondary limit", Is.LIMITED),
    "429": _same("429", Is.LIMITED),
    "200 limited": Answer(_batched(Is.LIMITED), _mutation(type="RATE_LIMITED", message="API rate limit exceeded")),
    "500": _same("500", Is.LATER),
    "502 in HTML": _same("502 in HTML", Is.LATER),
    "dropped before the effect": _same("dropped before the effect", Is.LATER),
    "200 busy": Answer(
        _batched(Is.LATER), _mutation(message="Something went wrong while executing your query. Please include `1`.")
    ),
    # Lying
    "dropped after the effect": _same("dropped after the effect", Is.LATER),
    "500 after the effect": _same("500 after the effect", Is.LATER),
    "broken off": Answer(_batched(Is.LATER), {"half": True}),
    "200 in HTML": Answer(_batched(Is.LATER), {"status": 200, "body": b"<html>Sign in to the proxy</html>"}),
    # Refused: REST is tried at once, which carries it out, or says why not
    "200 null": Answer(_batched(Is.DONE), {"status": 200, "body": b"null"}),
    "200 of another shape": Answer(_batched(Is.DONE), {"status": 200, "body": b'{"data": {"surprise": []}}'}),
    "200 forbidden": Answer(
        _batched(Is.DONE), _mutation(data={"m0": None}, type="FORBIDDEN", message="Resource not accessible")
    ),
    "200 not found": Answer(_batched(Is.DONE), _mutation(data={"m0": None}, type="NOT_FOUND", message="No node")),
    "404": Answer(_batched(Is.DONE), _refusal(404, "Not Found")),
    "403": Answer(_batched(Is.DONE), _refusal(403, "Resource not accessible by integration")),
}
"""What GitHub may answer to a request of mutations."""

"""Stand-in GitHub that records its history and can kill a daemon at a chosen moment of a request.

A request has three moments: it arrived (`before`), it had its effect but no response (`effect`), the
response was sent (`answer`). A kill at the first two loses the response as well.
"""

import fnmatch
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.chaos.history import History
from tests.fakes.github.as_json import node_id
from tests.fakes.github.faults import Fault, Faults
from tests.fakes.github.model import Token
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import ServedGitHub, served

WHENS = ("before", "effect", "answer")
KINDS = {
    "look": "GET /repos/*/issues*",
    "comment": "POST /repos/*/issues/*/comments",
    "reply": "POST /repos/*/pulls/*/comments/*/replies",
    "edit": "PATCH /repos/*/issues/comments/*",
    "label": "POST /repos/*/issues/*/labels",
    "unlabel": "DELETE /repos/*/issues/*/labels/*",
    "reaction": "POST /repos/*/comments/*/reactions",
    "fetch": "POST /*/git-upload-pack",
    "push": "POST /*/git-receive-pack",
    "pull request": "POST /repos/*/pulls",
    "description": "PATCH /repos/*/pulls/*",
    "branch": "DELETE /repos/*/git/refs/*",
}
"""Requests by what people would call them. Every writing request of the story is here."""
MUTATIONS = {
    b"addLabelsToLabelable": "label",
    b"removeLabelsFromLabelable": "unlabel",
    b"addReaction": "reaction",
}
"""Mutations by the same words. One that adds a label and removes another is a `label`."""
CLAIM = "claim"
"""A push as well, of nothing but the ref that daemons agree by."""
_CLAIM_REF = b" refs/treehand/claim"


def kind_of(method: str, path: str, body: bytes = b"") -> str:
    if path == "/graphql":
        return next((kind for name, kind in MUTATIONS.items() if name in body), "")
    asked = f"{method} {path}"
    kind = next((kind for kind, pattern in KINDS.items() if fnmatch.fnmatchcase(asked, pattern)), "")
    return CLAIM if kind == "push" and _CLAIM_REF in body else kind


@dataclass
class Moment:
    kind: str
    when: str
    strike: Callable[[], bool]
    """False: nobody was there to be struck, and the moment is still to come."""


@dataclass
class Storm(Faults):
    """Faults drawn from a seed, for requests of every kind; none once it is over."""

    random: Random = field(default_factory=Random)
    dropped: float = 0.0
    """Share of writing requests that take effect and lose their answer."""
    broken: float = 0.0
    """Share of requests answered with 5xx, half of them after the effect."""
    limited: float = 0.0
    """Share of requests refused by a secondary limit, with the seconds to wait."""
    lying: float = 0.0
    """Share of requests with an answer of another shape, one that breaks off, or one that comes late."""
    over: bool = False

    def next_for(self, method: str, path: str) -> Fault | None:
        if scripted := super().next_for(method, path):
            return scripted
        if self.over or not path.startswith(("/repos/", "/mutation/")):
            return None
        drawn = self.random.random()
        writing = method != "GET"
        if writing and drawn < self.dropped:
            return Fault("*", done=True, cut=True)
        drawn -= self.dropped if writing else 0.0
        if 0 <= drawn < self.broken:
            return Fault("*", status=self.random.choice((500, 502, 503)), done=self.random.random() < 0.5)
        if 0 <= drawn - self.broken < self.limited:
            return _limit(self.random.choice((1, 2)))
        drawn -= self.broken + self.limited
        return self._lie() if 0 <= drawn < self.lying else None

    def _lie(self) -> Fault:
        body = self.random.choice((b"{}", b"[]", b"null", b"<html>Sign in</html>", b'{"data": null}'))
        lies = Fault("*", status=200, body=body), Fault("*", half=True), Fault("*", delay=self.random.uniform(0.1, 1.0))
        return self.random.choice(lies)


def _limit(seconds: int) -> Fault:
    fault = Fault("*", status=403, headers={"retry-after": str(seconds)})
    fault.body = b'{"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}'
    return fault


class Chronicle(ServedGitHub):
    def __init__(self, world: GitHubWorld, history: History, storm: Storm) -> None:
        super().__init__(world, validate=False, faults=storm)
        self.log = history
        self.storm = storm
        self.moments: list[Moment] = []
        self.resting = False
        """No moment comes now."""
        self._number = 0
        self.written = 0
        """Number of writes that had an effect."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._number += 1
        number, came = self._number, self.log.clock()
        body, receive = await _heard(receive)
        kind = kind_of(scope["method"], scope["path"], body)
        moment = self._moment_of(kind)
        told = False

        async def tell(message: Any) -> None:
            nonlocal told
            if moment and moment.when == "effect":
                return
            await send(message)
            told = told or (message["type"] == "http.response.body" and not message.get("more_body"))

        if moment and moment.when == "before":
            self.log.note("request", came=came, kind=kind, method=scope["method"], path=scope["path"], told=False)
            self._strike(moment)
            return
        await super().__call__(scope, receive, tell)
        if moment and moment.when == "effect":
            self._strike(moment)
        self._write_down(scope, kind=kind, number=number, came=came, told=told)
        if moment and moment.when == "answer":
            self._strike(moment)

    def _strike(self, moment: Moment) -> None:
        if not moment.strike():
            self.moments.append(moment)

    def _moment_of(self, kind: str) -> Moment | None:
        for moment in list(self.moments):
            if kind and moment.kind == kind and not self.resting:
                self.moments.remove(moment)
                return moment
        return None

    def _note(self, http: Request, reply: Response, token: Token | None, *, points: int, body: Any = None) -> None:
        super()._note(http, reply, token, points=points, body=body)
        http.scope["noted"] = (self.history[-1], reply)

    def _write_down(self, scope: Any, *, kind: str, number: int, came: float, told: bool) -> None:
        call, reply = scope.get("noted", (None, None))
        if call is None:
            return
        writing = call.method != "GET" and call.status < 400 and kind
        made = _made(reply) if writing else {}
        self.written += bool(writing)
        labelled = self._labelled(call.body) if writing and call.path == "/graphql" else []
        waits = reply.headers.get("retry-after", "") if call.status >= 400 else ""
        self.log.note(
            "request", number=number, came=came, kind=kind, method=call.method, path=call.path, status=call.status,
            told=told, by=call.by, points=call.points, retry_after=waits, sent=call.body if kind else None, made=made,
            labelled=labelled,
        )  # fmt: skip

    def _labelled(self, body: Any) -> list[dict[str, Any]]:
        """Returns the changes of labels in a request with mutations, in words."""
        homes = self.world.repositories.values()
        labels = {node_id("LA", one.id): one.name for home in homes for one in home.labels.values()}
        issues = {node_id("I", one.id): number for home in homes for number, one in home.issues.items()}
        return [
            {
                "issue": issues.get(one["labelableId"], 0),
                "labels": [labels.get(key, "") for key in one["labelIds"]],
                "adds": f"${name}: AddLabels" in body["query"],
            }
            for name, one in body["variables"].items()
            if "labelableId" in one
        ]


async def _heard(receive: Any) -> tuple[bytes, Any]:
    """Returns the request's body and a function that replays it."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())

    async def again() -> Any:
        return messages.pop(0) if messages else await receive()

    return b"".join(one.get("body", b"") for one in messages), again


def _made(reply: Response) -> dict[str, Any]:
    """Returns the fields of the response that the checker reads."""
    try:
        data = json.loads(bytes(reply.body))
    except (ValueError, AttributeError):
        return {}
    if not isinstance(data, dict):
        return {}
    head = data.get("head")
    return {"id": data.get("id"), "number": data.get("number"), "head": head and head["ref"]}


@contextmanager
def chronicled(world: GitHubWorld, history: History, storm: Storm) -> Iterator[Chronicle]:
    with served(world, github=Chronicle(world, history, storm)) as github:
        assert isinstance(github, Chronicle)
        yield github

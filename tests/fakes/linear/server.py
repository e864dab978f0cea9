"""HTTP server of the stand-in on loopback; records every request."""

import json
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response

from tests.fakes.linear import execute
from tests.fakes.linear.errors import Refusal
from tests.fakes.linear.execute import Asked, refused
from tests.fakes.linear.faults import Fault, Faults
from tests.fakes.linear.field_registry import Ask
from tests.fakes.linear.limits import Limits
from tests.fakes.linear.model import User
from tests.fakes.linear.schema import schema
from tests.fakes.linear.traffic import Answer, Call
from tests.fakes.linear.webhooks import delivery
from tests.fakes.linear.world import LinearWorld
from tests.fakes.loopback import cut, listening


@dataclass
class ServedLinear:
    world: LinearWorld
    faults: Faults = field(default_factory=Faults)
    history: list[Call] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Violations of Linear's schema by either side, and features that the stand-in lacks."""
    stranger_status: int = 401
    """Answer to a request without a valid token."""
    url: str = ""
    """URL of the only endpoint."""

    def __post_init__(self) -> None:
        self.limits = Limits(self.world.clock)

    def token_for(self, user: User | str, *, oauth: bool = False, scopes: tuple[str, ...] = ("read", "write")) -> str:
        return self.world.token_for(user, oauth=oauth, scopes=scopes)

    def calls(self, name: str = "") -> list[Call]:
        """Returns the calls of an operation, or with this root field; all of them without a name."""
        return [one for one in self.history if not name or name in {one.operation, *one.fields}]

    def webhook(
        self,
        kind: str = "Issue",
        action: str = "update",
        *,
        secret: str,
        at: float | None = None,
        updated_from: Mapping[str, Any] | None = None,
        **data: Any,
    ) -> tuple[bytes, dict[str, str]]:
        """Returns the raw body and the headers of one delivery."""
        return delivery(self.world, kind, action, data, secret=secret, at=at, updated_from=updated_from)

    # One request.

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        http = Request(scope, receive)
        asked = execute.read(_parsed(await http.body()))
        header = http.headers.get("authorization", "")
        call = self._announced(asked, header)
        fault = self.faults.next_for(call)
        if fault and fault.before:
            fault.before()
        if fault and not fault.done:
            await anyio.sleep(fault.delay)
        response = self._response(http, asked, call, header, fault)
        if fault and fault.done:
            await anyio.sleep(fault.delay)
        if fault and fault.cut:
            cut(scope["client"])
            return
        await response(scope, receive, send)

    def _announced(self, asked: Asked, header: str) -> Call:
        known = self.world.tokens.get(header.removeprefix("Bearer "))
        return Call(
            asked.document, asked.name, asked.fields, asked.variables, asked.effects,
            known.user.name if known else "", self.world.now,
        )  # fmt: skip

    def _response(self, http: Request, asked: Asked, call: Call, header: str, fault: Fault | None) -> Response:
        if fault and not fault.done and (fault.cut or fault.status):
            self.history.append(replace(call, status=fault.status))
            return self._scripted(fault)
        with self.world.lock:
            answer = self._answer_or_break(http, asked, header, fault)
        self.history.append(replace(call, status=answer.status, complexity=answer.complexity, errors=answer.codes))
        if fault and fault.status:
            return self._scripted(fault)
        body = json.dumps(answer.body, ensure_ascii=False).encode()
        return Response(body[: len(body) // 2] if fault and fault.half else body, answer.status, answer.headers)

    def _scripted(self, fault: Fault) -> Response:
        return Response(fault.body, fault.status or 500, {**self._common(), **fault.headers})

    def _common(self) -> dict[str, str]:
        now = datetime.fromtimestamp(int(self.world.now), UTC)
        return {"Date": format_datetime(now, usegmt=True), "Content-Type": "application/json; charset=utf-8"}

    def _answer_or_break(self, http: Request, asked: Asked, header: str, fault: Fault | None) -> Answer:
        try:
            answer = self._answer(http, asked, header)
            if fault and fault.amended:
                fault.amended(answer)
        except Exception:  # noqa: BLE001 - told at the end of the test, whatever it was
            self.violations.append(f"{asked.name}: the stand-in broke: {traceback.format_exc()}")
            answer = Answer(500, {"errors": [{"message": "The stand-in broke."}]}, 0, self._common())
        return answer

    def _answer(self, http: Request, asked: Asked, header: str) -> Answer:
        if (http.method, http.url.path) != ("POST", "/graphql"):
            return Answer(404, {"errors": [{"message": f"No {http.method} {http.url.path} here."}]}, 0, self._common())
        token, points = "", execute.points(asked)
        try:
            found = execute.token_of(self.world, header)
            token = found.text
            answer = self._within_limits(token, points) or self._carried_out(Ask(self.world, found, self.limits), asked)
        except Refusal as refusal:
            answer = refused(refusal, self.stranger_status)
        answer.complexity = points
        answer.headers = self._common() | self.limits.headers(token, points)
        return answer

    def _within_limits(self, token: str, points: int) -> Answer | None:
        refusal = self.limits.refusal(token, points)
        if refusal:
            return refused(refusal)
        self.limits.spend(token, requests=1, complexity=points)
        return None

    def _carried_out(self, ask: Ask, asked: Asked) -> Answer:
        if asked.wrong:
            self.violations += [f"{asked.name}: {one}" for one in asked.wrong]
            return execute.invalid(asked.wrong, syntax=asked.parsed is None)
        answer, wrong = execute.carried_out(ask, asked)
        self.violations += wrong
        return answer


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


@contextmanager
def served(world: LinearWorld, linear: ServedLinear | None = None) -> Iterator[ServedLinear]:
    """Serves on a free port of this machine, in its own thread."""
    linear = linear or ServedLinear(world)
    schema()
    with listening(linear) as address:
        linear.url = f"{address}/graphql"
        yield linear

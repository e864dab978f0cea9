"""Injects faults between a client and Linear."""

import fnmatch
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.linear.errors import Refusal, forbidden, rate_limited, unauthenticated
from tests.fakes.linear.traffic import Answer, Call

Matcher = str | Callable[[Call], bool]
"""A pattern for the operation's name or for what it asks of the root (`commentCreate`), or a function of the call."""

ALWAYS = -1
"""Value of `times` for every such request."""


@dataclass
class Fault:
    matches: Matcher = "*"
    times: int = 1
    status: int = 0
    """0: the true answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"errors": [{"message": "Scripted."}]}'
    done: bool = False
    """True if the request takes effect all the same."""
    cut: bool = False
    """The connection ends instead of an answer."""
    half: bool = False
    """The answer breaks off in the middle, as if it ended there."""
    delay: float = 0.0
    """Before the answer; or, if it is not `done`, before the request is looked at."""
    before: Callable[[], object] | None = None
    """Called right before the request is executed: another actor is faster."""
    amended: Callable[[Answer], None] | None = None
    """Changes the true answer."""

    def is_for(self, call: Call) -> bool:
        if callable(self.matches):
            return self.matches(call)
        return any(fnmatch.fnmatchcase(name, self.matches) for name in (call.operation, *call.fields))


@dataclass
class Faults:
    script: list[Fault] = field(default_factory=list)

    def add(self, matches: Matcher = "*", **how: Any) -> Fault:
        fault = Fault(matches, **how)
        self.script.append(fault)
        return fault

    def drop(self, matches: Matcher = "*", *, times: int = 1) -> Fault:
        """Performs the request, then cuts the connection."""
        return self.add(matches, times=times, done=True, cut=True)

    def drop_before(self, matches: Matcher = "*", *, times: int = 1) -> Fault:
        """Cuts the connection without performing the request."""
        return self.add(matches, times=times, cut=True)

    def status(
        self, status: int, matches: Matcher = "*", *, done: bool = False, times: int = 1, **headers: str
    ) -> Fault:
        """Responds with the status, after the effect if `done`; `_` in header names means `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.add(matches, times=times, status=status, done=done, headers=named)

    def truncate(self, matches: Matcher = "*", *, times: int = 1) -> Fault:
        """Sends half the response as if it were complete."""
        return self.add(matches, times=times, half=True)

    def hang(self, seconds: float, matches: Matcher = "*", *, done: bool = True, times: int = 1) -> Fault:
        """Performs the request at once and responds late; without `done`, the request itself waits."""
        return self.add(matches, times=times, delay=seconds, done=done)

    def too_many(self, matches: Matcher = "*", *, times: int = 1, retry_after: str | None = None) -> Fault:
        """Responds 429 like the proxy in front of Linear."""
        headers = {"Retry-After": retry_after} if retry_after else {}
        return self.add(matches, times=times, status=429, headers=headers, body=b"Too Many Requests")

    def refuse(self, refusal: Refusal, matches: Matcher = "*", *, status: int = 200, times: int = 1) -> Fault:
        body = json.dumps({"errors": [refusal.told], "data": None}).encode()
        return self.add(matches, times=times, status=status, body=body)

    def rate_limit(self, matches: Matcher = "*", *, times: int = 1) -> Fault:
        return self.refuse(rate_limited("requests", 5000), matches, status=400, times=times)

    def user_error(self, words: str, matches: Matcher = "*", *, kind: str = "user error", times: int = 1) -> Fault:
        code = "INPUT_ERROR" if kind == "invalid input" else "USER_ERROR"
        return self.refuse(Refusal(words, code=code, kind=kind), matches, times=times)

    def unauthenticated(self, matches: Matcher = "*", *, status: int = 401, times: int = 1) -> Fault:
        return self.refuse(unauthenticated(), matches, status=status, times=times)

    def forbid(self, matches: Matcher = "*", *, status: int = 403, times: int = 1) -> Fault:
        return self.refuse(forbidden("Forbidden"), matches, status=status, times=times)

    def partial(self, path: str, matches: Matcher = "*", *, times: int = 1) -> Fault:
        """Removes a part of the response (`issues.nodes.0.assignee`) and adds an error that names it."""
        return self.add(matches, times=times, amended=lambda answer: _pierce(answer, path))

    def interfere(self, deed: Callable[[], object], matches: Matcher = "*", *, times: int = 1) -> Fault:
        """Calls a function just before such a request is handled."""
        return self.add(matches, times=times, before=deed)

    def next_for(self, call: Call) -> Fault | None:
        for fault in self.script:
            if fault.times and fault.is_for(call):
                fault.times -= 1
                return fault
        return None


def _pierce(answer: Answer, path: str) -> None:
    steps: list[Any] = [int(step) if step.isdigit() else step for step in path.split(".")]
    node: Any = answer.body["data"]
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = None
    error = {"message": "Internal server error", "path": steps, "extensions": {"code": "INTERNAL_SERVER_ERROR"}}
    answer.body.setdefault("errors", []).append(error)

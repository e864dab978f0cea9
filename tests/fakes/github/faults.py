"""Injects faults between a client and GitHub."""

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Matcher = str | Callable[[str, str], bool]
"""`POST /repos/*/issues/*/comments`, or a function of method and path."""


@dataclass
class Fault:
    matches: Matcher
    times: int = 1
    status: int = 0
    """0: the true answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"message": "Scripted."}'
    done: bool = False
    """True if the request takes effect all the same."""
    cut: bool = False
    """The connection ends instead of an answer."""
    half: bool = False
    """The answer breaks off in the middle."""
    delay: float = 0.0
    before: Callable[[], object] | None = None
    """Called right before the request is executed: another actor is faster."""

    def is_for(self, method: str, path: str) -> bool:
        if callable(self.matches):
            return self.matches(method, path)
        return fnmatch.fnmatchcase(f"{method} {path}", self.matches)


@dataclass
class Faults:
    script: list[Fault] = field(default_factory=list)

    def add(self, matches: Matcher, **how: object) -> Fault:
        fault = Fault(matches, **how)  # type: ignore[arg-type]
        self.script.append(fault)
        return fault

    def answer(self, matches: Matcher, status: int, *, times: int = 1, **headers: str) -> Fault:
        """Responds with the status; `_` in header names means `-`."""
        return self.add(
            matches, times=times, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    def fail_after_effect(self, matches: Matcher, status: int = 500, *, times: int = 1) -> Fault:
        return self.add(matches, times=times, status=status, done=True)

    def drop_answers(self, matches: Matcher, *, times: int = 1) -> Fault:
        """Performs the request, then cuts the connection."""
        return self.add(matches, times=times, done=True, cut=True)

    def refuse_connections(self, matches: Matcher = "*", *, times: int = 1) -> Fault:
        return self.add(matches, times=times, cut=True)

    def secondary_limit(self, matches: Matcher = "*", *, times: int = 1, status: int = 403, **headers: str) -> Fault:
        """Responds like GitHub; `retry_after="60"` adds the time."""
        fault = self.answer(matches, status, times=times, **headers)
        fault.body = b'{"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}'
        return fault

    def interfere(self, matches: Matcher, deed: Callable[[], object], *, times: int = 1) -> Fault:
        """Calls a function just before such a request is handled."""
        return self.add(matches, times=times, before=deed)

    def next_for(self, method: str, path: str) -> Fault | None:
        for fault in self.script:
            if fault.times and fault.is_for(method, path):
                fault.times -= 1
                return fault
        return None

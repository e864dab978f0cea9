"""GitHub's own description of its API, against which every request and response is checked."""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from tests.schemas import FOLDER

Json = Any


class Exchange(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    sent: bytes
    status: int
    got: bytes
    headers: dict[str, str]


class Checker:
    """Checks exchanges against the description, and reports violations of either side."""

    def __init__(self) -> None:
        self._api, self._known_right = _api(), _known_right()

    def problems(self, one: Exchange) -> list[str]:
        """An exchange that differs from a correct one only in what has a fixed form is not checked again."""
        form = _form_of(one)
        if form in self._known_right:
            return []
        found = self._find(one)
        if not found:
            self._known_right.add(form)
        return found

    def _find(self, one: Exchange) -> list[str]:
        from openapi_core.exceptions import OpenAPIError
        from openapi_core.testing import MockRequest, MockResponse

        accept = {"Accept": "application/json"}
        request = MockRequest(
            _HOST, one.method.lower(), one.path, args=one.query, data=one.sent or None, headers=accept
        )
        kind = one.headers["content-type"].partition(";")[0]
        response = MockResponse(one.got, status_code=one.status, headers=one.headers, content_type=kind)
        found = []
        try:
            self._api.validate_request(request)
        except OpenAPIError as problem:
            found.append(f"request {one.method} {one.path}: {_told(problem)}")
        try:
            self._api.validate_response(request, response)
        except OpenAPIError as problem:
            # Some refusals are possible everywhere on GitHub, and described nowhere.
            if one.status < 300 or type(problem).__name__ != "ResponseNotFound":
                found.append(f"answer {one.status} to {one.method} {one.path}: {_told(problem)}")
        return found


_HOST = "http://github.invalid"
_FIXED = (
    (re.compile(rb"\b20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"), b"TIME"),
    (re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])"), b"SHA"),
    (re.compile(rb"127\.0\.0\.1:[1-9]\d{3,4}\b"), b"HOST"),
)
"""Times, names of commits, and the address of the stand-in: one is as correct as another."""


def _form_of(one: Exchange) -> bytes:
    told = {"content-type", "location", "link"}  # numbers and times are in the others
    headers = sorted((name, text if name in told else "") for name, text in one.headers.items())
    form = repr((one.method, one.path, sorted(one.query.items()), one.status, headers)).encode()
    whole = b"\0".join((form, one.sent, one.got))
    for pattern, name in _FIXED:
        whole = pattern.sub(name, whole)
    return hashlib.sha256(whole).digest()


@cache
def _known_right() -> set[bytes]:
    """What all tests of this process have found correct."""
    return set()


@cache
def _api() -> Any:
    from openapi_core import Config, OpenAPI

    description = json.loads((FOLDER / "github-rest.json").read_text())
    return OpenAPI.from_dict({**description, "servers": [{"url": _HOST}]}, config=Config(spec_validator_cls=None))


def _told(problem: BaseException) -> str:
    """Returns wrong fields with their reason: the innermost errors."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    leaves = [leaf for error in getattr(problem, "schema_errors", ()) for leaf in _leaves(error)]
    return f"{type(problem).__name__}: {'; '.join(leaves[:5]) or problem}"


def _leaves(error: Json) -> Iterator[str]:
    if error.context:
        for inner in error.context:
            yield from _leaves(inner)
    else:
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message[:160]}"

"""GitHub's own descriptions of its API, against which every request and response is checked.

They are too large for this repository: they are beside it, or in the folder `TREEHAND_SCHEMAS`.
"""

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

Json = Any


def folder() -> Path | None:
    named = os.environ.get("TREEHAND_SCHEMAS")
    found = Path(named) if named else Path(__file__).parents[4] / "shared" / "data"
    return found if (found / "github-openapi.json.gz").exists() else None


@cache
def _description() -> Json:
    found = folder()
    assert found
    with gzip.open(found / "github-openapi.json.gz", "rb") as file:
        return json.load(file)


def trimmed(templates: frozenset[str]) -> Json:
    """Returns only the parts that the stand-in answers, with their references: the whole is thirteen megabytes."""
    whole = _description()
    wanted = {_same(template) for template in templates}
    paths = {path: whole["paths"][path] for path in whole["paths"] if _same(path) in wanted}
    kept: dict[str, Json] = {}
    _follow(paths, whole, kept)
    components: Json = {}
    for ref, value in kept.items():
        kind, _, name = ref.removeprefix("#/components/").partition("/")
        components.setdefault(kind, {})[name] = value
    for name in _ON_LINES & components.get("schemas", {}).keys():
        own = components["schemas"][name]["properties"]
        own |= {part: {**own[part], "nullable": True} for part in ("line", "position") if part in own}
    return _amended({"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": components})


def _amended(node: Json) -> Json:
    """Reads `nullable` beside choices as null; by the letter of OpenAPI 3.0 it would mean nothing."""
    if isinstance(node, list):
        return [_amended(one) for one in node]
    if not isinstance(node, dict):
        return node
    same = {key: _amended(value) for key, value in node.items() if key != "examples"}
    if same.get("nullable") is True:
        more = {"enum": None, "oneOf": _NULL, "anyOf": _NULL}
        same |= {key: [*same[key], null] for key, null in more.items() if isinstance(same.get(key), list)}
        if isinstance(same.get("allOf"), list):
            same["anyOf"] = [{"allOf": same.pop("allOf")}, _NULL]
    if _LIST_TOO in str(node.get("oneOf", "")):
        same["oneOf"] = [*same["oneOf"], {"type": "array", "items": {"type": "string"}}]
    return same


# A remark on an outdated line has no line: GitHub sends null, and describes a number.
_ON_LINES = {"pull-request-review-comment", "review-comment"}
_NULL = {"type": "object", "nullable": True, "enum": [None]}
# Described in prose only.
_LIST_TOO = "You can also pass an `array` of labels directly"


def _same(template: str) -> str:
    """Returns True for templates that differ only in the names of their parts."""
    return "/".join("{}" if part.startswith("{") else part for part in template.split("/"))


def _follow(node: Json, whole: Json, kept: dict[str, Json]) -> None:
    if isinstance(node, list):
        for one in node:
            _follow(one, whole, kept)
    elif isinstance(node, dict):
        ref = node.get("$ref")
        if isinstance(ref, str) and ref not in kept:
            kind, _, name = ref.removeprefix("#/components/").partition("/")
            kept[ref] = whole["components"][kind][name]
            _follow(kept[ref], whole, kept)
        for key, value in node.items():
            if key != "examples":
                _follow(value, whole, kept)


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

    def __init__(self, templates: frozenset[str]) -> None:
        self._api, self._known_right = _api(templates), _known_right(templates)

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
def _known_right(templates: frozenset[str]) -> set[bytes]:
    """What all tests of this process have found correct."""
    return set()


@cache
def _api(templates: frozenset[str]) -> Any:
    from openapi_core import Config, OpenAPI

    return OpenAPI.from_dict(
        {**trimmed(templates), "servers": [{"url": _HOST}]}, config=Config(spec_validator_cls=None)
    )


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

"""What the API's description says: OpenAPI 3.1, made of the table that the routes are made of.

https://spec.openapis.org/oas/v3.1.1.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot import __version__
from bot.domain.run import Phase
from bot.web.fields import Field, Schema, schema_of


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    name: str
    about: str
    fields: Sequence[Field] | None = None
    """None: nothing is sent along."""
    status: int = 200
    answer: str = ""
    """The name of a schema; empty: plain text."""

    @property
    def has_key(self) -> bool:
        return "{key}" in self.path


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _perhaps(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]}


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_RUN = {
    "key": {**_TEXT, "description": "what people say aloud: `shop#1`, `acme/shop#12`, `ENG-7`"},
    "project": _TEXT,
    "title": _TEXT,
    "phase": {"type": "string", "enum": [phase.value for phase in Phase]},
    "reason": {**_TEXT, "description": "why it waits, asks or ended"},
    "doing": _TEXT,
    "branch": _TEXT,
    "pull_request": _perhaps(_object(number=_WHOLE, url=_TEXT, state=_TEXT, draft=_FLAG)),
    "agent": _TEXT,
    "turns": _WHOLE,
    "cost_usd": _NUMBER,
    "tokens": _WHOLE,
    "started_at": {**_NUMBER, "description": "seconds since the epoch"},
    "updated_at": _NUMBER,
    "queue": _perhaps(_object(position=_WHOLE, eta_seconds={"type": ["number", "null"]})),
    "worktree": _TEXT,
    "verification": {"type": ["object", "null"]},
}
_SCHEMAS = {
    "Problem": _object(error={**_TEXT, "description": "what is wrong, for people"}),
    "Run": _object(**_RUN),
    "RunWithJournal": _object(**_RUN, journal={"type": "array", "items": _object(at=_NUMBER, text=_TEXT)}),
    "State": _object(
        generated_at=_NUMBER,
        counts={"type": "object", "additionalProperties": _WHOLE},
        runs={"type": "array", "items": {"$ref": "#/components/schemas/Run"}},
        spend=_object(today_usd=_NUMBER, limit_usd=_NUMBER),
        health={"type": "object", "additionalProperties": _object(ok=_FLAG, detail=_TEXT, still=_TEXT)},
    ),
    "Said": _object(said={**_TEXT, "description": "what was said there"}),
    "Filed": _object(key={**_TEXT, "description": "of the issue"}),
}
_PROBLEMS = {
    "400": "what was sent makes no sense",
    "401": "nobody we know asks",
    "403": "by a name that is not ours, or from a page of another site",
    "404": "there is no such run",
    "413": "what was sent is too long",
    "422": "it cannot be done as things are; the answer says why",
    "503": "it cannot be done now; later it may",
}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "of the issue, percent-encoded: `acme%2Fshop%2312`",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "example": "shop#1",
}
_EVENTS = {
    "get": {
        "operationId": "events",
        "summary": "server-sent events: each run as it changes, as `run`; `resync` when more was missed than is kept",
        "parameters": [
            {"name": "since", "in": "query", "required": False, "schema": _TEXT, "description": "the last id known"}
        ],
        "responses": {"200": {"description": "a stream without an end", "content": {"text/event-stream": {}}}},
    }
}


def description_of(operations: Sequence[Operation]) -> Mapping[str, Any]:
    paths: dict[str, dict[str, Any]] = {"/api/v1/events": _EVENTS}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Treehand",
            "version": __version__,
            "description": "What people do here becomes comments, labels and issues, like anybody's on the tracker.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _described(one: Operation) -> Mapping[str, Any]:
    return {
        "operationId": one.name,
        "summary": one.about,
        "responses": {str(one.status): _answer(one), **_problems(one)},
        **({"parameters": [_KEY]} if one.has_key else {}),
        **({"requestBody": _body(one.fields)} if one.fields is not None else {}),
    }


def _body(fields: Sequence[Field]) -> Mapping[str, Any]:
    needed = any(field.required for field in fields)
    return {"required": needed, "content": {"application/json": {"schema": schema_of(fields)}}}


def _answer(one: Operation) -> Mapping[str, Any]:
    if not one.answer:
        return {"description": "it will", "content": {"text/plain": {"schema": _TEXT}}}
    return {"description": one.answer, "content": {"application/json": {"schema": _ref(one.answer)}}}


def _problems(one: Operation) -> Mapping[str, Any]:
    unlikely = {"404"} if not one.has_key else set()
    unlikely |= {"400", "413", "422"} if one.fields is None else set()
    content = {"application/json": {"schema": _ref("Problem")}}
    return {code: {"description": why, "content": content} for code, why in _PROBLEMS.items() if code not in unlikely}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}

"""OpenAPI 3.1 description of the API, made from its table of operations and the models in `api_models`.

https://spec.openapis.org/oas/v3.1.1.html
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot import __version__
from bot.web.api_models import ApiProblem, RequestBody

_REF = "#/components/schemas/{model}"
_PROBLEMS = {
    "400": "the request is malformed",
    "401": "a login or a token is missing",
    "403": "the Host header is unknown, or a page of another site sent the request",
    "404": "no such run",
    "413": "the request is too long",
    "422": "the action is impossible in the present state; the answer gives the reason",
    "503": "the action is impossible now; try again later",
}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "key of the issue, percent-encoded: `acme%2Fshop%2312`",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "example": "shop#1",
}
_SINCE = {
    "name": "since",
    "in": "query",
    "required": False,
    "schema": {"type": "string"},
    "description": "id of the last event that the client has",
}
_EVENTS = {
    "get": {
        "operationId": "events",
        "summary": "server-sent events: each run as it changes, as `run`; `resync` when the client missed too many",
        "parameters": [_SINCE],
        "responses": {"200": {"description": "an endless stream", "content": {"text/event-stream": {}}}},
    }
}


@dataclass(frozen=True, slots=True)
class ApiOperation:
    method: str
    path: str
    name: str
    summary: str
    fields: type[RequestBody] | None = None
    """Model of the request's body, if it has one."""
    status: int = 200
    answer: type[BaseModel] | None = None
    """Model of the answer; without a model, the answer is plain text."""

    @property
    def has_key(self) -> bool:
        return "{key}" in self.path


def openapi_for(operations: Sequence[ApiOperation]) -> Mapping[str, Any]:
    paths: dict[str, dict[str, Any]] = {"/api/v1/events": _EVENTS}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation_as_json(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Treehand",
            "version": __version__,
            "description": "Each action becomes a comment, label or issue on the tracker, under the person's name.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _schemas(operations: Sequence[ApiOperation]) -> Mapping[str, Any]:
    models = dict.fromkeys(model for operation in operations for model in _models_of(operation))
    _, definitions = models_json_schema([*models, (ApiProblem, "serialization")], ref_template=_REF)
    schemas: Mapping[str, Any] = definitions["$defs"]
    return schemas


def _models_of(operation: ApiOperation) -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    if operation.fields:
        yield operation.fields, "validation"
    if operation.answer:
        yield operation.answer, "serialization"


def _operation_as_json(operation: ApiOperation) -> Mapping[str, Any]:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {str(operation.status): _answer(operation), **_problems(operation)},
        **({"parameters": [_KEY]} if operation.has_key else {}),
        **({"requestBody": _request_body(operation.fields)} if operation.fields else {}),
    }


def _request_body(fields: type[RequestBody]) -> Mapping[str, Any]:
    is_required = any(field.is_required() for field in fields.model_fields.values())
    return {"required": is_required, "content": {"application/json": {"schema": _ref(fields)}}}


def _answer(operation: ApiOperation) -> Mapping[str, Any]:
    if operation.answer is None:
        return {"description": "accepted", "content": {"text/plain": {"schema": {"type": "string"}}}}
    name = operation.answer.__name__
    return {"description": name, "content": {"application/json": {"schema": _ref(operation.answer)}}}


def _problems(operation: ApiOperation) -> Mapping[str, Any]:
    impossible = set() if operation.has_key else {"404"}
    impossible |= set() if operation.fields else {"400", "413", "422"}
    content = {"application/json": {"schema": _ref(ApiProblem)}}
    return {code: {"description": why, "content": content} for code, why in _PROBLEMS.items() if code not in impossible}


def _ref(model: type[BaseModel]) -> Mapping[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}

"""Executes a request: authentication, validation of the document, its cost, its response."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    execute_sync,
    parse,
    validate,
)

from tests.fakes.linear import issue_mutations, other_mutations, query_fields  # noqa: F401 - each fills its table
from tests.fakes.linear.complexity import complexity
from tests.fakes.linear.errors import Refusal, invalid_document, unauthenticated
from tests.fakes.linear.field_registry import Ask, resolve
from tests.fakes.linear.model import Token
from tests.fakes.linear.schema import schema
from tests.fakes.linear.traffic import Answer
from tests.fakes.linear.world import LinearWorld


@dataclass(frozen=True)
class Asked:
    """The body of a request, parsed as far as possible."""

    document: str
    variables: Mapping[str, Any]
    wanted: str | None = None
    """The name of the operation, if the request says which."""
    parsed: DocumentNode | None = None
    operation: OperationDefinitionNode | None = None
    wrong: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.operation.name.value if self.operation and self.operation.name else self.wanted or ""

    @property
    def effects(self) -> bool:
        return self.operation is not None and self.operation.operation is OperationType.MUTATION

    @property
    def fields(self) -> tuple[str, ...]:
        nodes = self.operation.selection_set.selections if self.operation else ()
        return tuple(node.name.value for node in nodes if isinstance(node, FieldNode))


def read(body: Any) -> Asked:
    body = body if isinstance(body, dict) else {}
    document, wanted = str(body.get("query") or ""), body.get("operationName")
    parsed, wrong = _parsed(document)
    named = [one for one in parsed.definitions if isinstance(one, OperationDefinitionNode)] if parsed else []
    chosen = [one for one in named if not wanted or (one.name and one.name.value == wanted)]
    if not wrong and len(chosen) != 1:
        wrong = ("no one operation is asked for",)
    return Asked(document, body.get("variables") or {}, wanted, parsed, chosen[0] if chosen else None, wrong)


@cache
def _parsed(document: str) -> tuple[DocumentNode | None, tuple[str, ...]]:
    try:
        parsed = parse(document)
    except GraphQLSyntaxError as problem:
        return None, (problem.message,)
    return parsed, tuple(one.message for one in validate(schema(), parsed))


def token_of(world: LinearWorld, header: str) -> Token:
    """Returns the token: keys are sent bare, OAuth tokens after `Bearer`."""
    scheme, _, text = header.partition(" ")
    token = world.tokens.get(text or scheme)
    if token is None or not token.user.active:
        raise unauthenticated()
    if token.oauth != (scheme == "Bearer"):
        raise unauthenticated("The Bearer prefix is for OAuth access tokens, and for nothing else.")
    return token


def points(asked: Asked) -> int:
    if asked.operation is None or asked.wrong:
        return 0
    return complexity(schema(), asked.parsed, asked.operation, asked.variables)


def refused(refusal: Refusal, status: int = 400, complexity: int = 0) -> Answer:
    return Answer(status, {"errors": [refusal.told]}, complexity)


def invalid(words: tuple[str, ...], *, syntax: bool) -> Answer:
    code = "GRAPHQL_PARSE_FAILED" if syntax else "GRAPHQL_VALIDATION_FAILED"
    return Answer(400, {"errors": [invalid_document(one, code).told for one in words]})


def carried_out(ask: Ask, asked: Asked) -> tuple[Answer, list[str]]:
    """Returns the response, and violations by the request or by the stand-in."""
    result = execute_sync(
        schema(), asked.parsed, context_value=ask, variable_values=dict(asked.variables),
        operation_name=asked.wanted, field_resolver=resolve,
    )  # fmt: skip
    errors = result.errors or []
    if result.data is None and errors and not any(one.path for one in errors):
        words = tuple(one.message for one in errors)
        return invalid(words, syntax=False), [f"{asked.name}: {one}" for one in words]
    body: dict[str, Any] = {"data": result.data}
    if errors:
        body["errors"] = [_told(one) for one in errors]
    return Answer(200, body), [*ask.gaps, *_own_faults(asked, errors)]


def _told(error: GraphQLError) -> dict[str, Any]:
    told = dict(error.formatted)
    told.setdefault("extensions", {"code": "INTERNAL_SERVER_ERROR", "type": "internal error"})
    return told


def _own_faults(asked: Asked, errors: list[GraphQLError]) -> list[str]:
    """Returns errors that Linear would not send: a response that does not match the schema."""
    return [
        f"{asked.name}: the answer at {one.path} does not fit: {one.message}"
        for one in errors
        if not isinstance(one.original_error, Refusal)
    ]

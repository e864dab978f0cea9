"""GraphQL API: GitHub's own schema over the world. A missing field is an error, never a null."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLResolveInfo,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    build_ast_schema,
    execute,
    parse,
    validate,
)

from tests.fakes.github.api_request import Ask
from tests.fakes.github.graphql_nodes import Nodes, Unseen
from tests.schemas import FOLDER

Json = Any


@cache
def schema() -> GraphQLSchema:
    text = (FOLDER / "github.graphql").read_text()
    return build_ast_schema(parse(text, no_location=True), assume_valid=True)


class NotKnown(Exception):
    """The schema has it, the stand-in does not."""


def _resolve(source: Json, info: GraphQLResolveInfo, **given: Json) -> Json:
    if info.field_name == "__typename":
        return source["__typename"]
    if info.field_name not in source:
        raise NotKnown(f"the stand-in does not know {info.parent_type}.{info.field_name}")
    value = source[info.field_name]
    return value(**given) if callable(value) else value


def answer(ask: Ask) -> tuple[Json, int, list[str]]:
    """Returns the response, its cost in points, and errors of the query or missing parts."""
    variables = ask.field("variables", dict) or {}
    try:
        document = parse(ask.needed("query", str))
    except GraphQLError as problem:
        return {"errors": [{"message": str(problem)}]}, 1, [str(problem)]
    if problems := validate(schema(), document):
        return {"errors": [{"message": str(one)} for one in problems]}, 1, [str(one) for one in problems]
    done = execute(schema(), document, _root(ask), variable_values=variables, field_resolver=_resolve)
    errors = list(done.errors or [])
    wrong = [str(e) for e in errors if not isinstance(e.original_error, Unseen)]
    return _put(done.data, errors), cost(document.definitions, variables), wrong


def _put(data: Json, errors: Sequence[GraphQLError]) -> Json:
    if not errors:
        return {"data": data}
    shaped = [
        {"message": e.message, "path": list(e.path or []), "type": getattr(e.original_error, "kind", "INTERNAL")}
        for e in errors
    ]
    return {"data": data, "errors": shaped}


def _root(ask: Ask) -> Json:
    nodes = Nodes(ask)
    return {
        "viewer": lambda: nodes.actor(ask.token.user if ask.token else None),
        "node": lambda **named: nodes.by_id(named["id"]),
        "nodes": lambda ids: [nodes.by_id_or_error(one) for one in ids],
        "repository": lambda owner, name, **_: nodes.repository_named(f"{owner}/{name}"),
        "rateLimit": lambda **_: nodes.rate_limit(),
        "addReaction": lambda **named: nodes.add_reaction(named["input"]["subjectId"], named["input"]["content"]),
        "addLabelsToLabelable": lambda **named: nodes.add_labels(*_labels_in(named["input"])),
        "removeLabelsFromLabelable": lambda **named: nodes.remove_labels(*_labels_in(named["input"])),
        "markPullRequestReadyForReview": lambda **named: nodes.ready(named["input"]["pullRequestId"], draft=False),
        "convertPullRequestToDraft": lambda **named: nodes.ready(named["input"]["pullRequestId"], draft=True),
    }


def _labels_in(given: Json) -> tuple[str, Sequence[str]]:
    return given["labelableId"], given["labelIds"]


def mutations_in(body: Json) -> list[str]:
    """Returns the names of the mutations in a request, without repetition; empty for a query."""
    text = body.get("query") if isinstance(body, dict) else None
    if not isinstance(text, str) or not text.lstrip().startswith("mutation"):
        return []
    try:
        document = parse(text)
    except GraphQLError:
        return []
    operation = next(one for one in document.definitions if isinstance(one, OperationDefinitionNode))
    fields = [one for one in operation.selection_set.selections if isinstance(one, FieldNode)]
    return list(dict.fromkeys(field.name.value for field in fields))


# Points: the requests needed for every connection, by GitHub's formula.


def cost(definitions: Sequence[Json], variables: Json) -> int:
    fragments = {one.name.value: one for one in definitions if isinstance(one, FragmentDefinitionNode)}
    operation = next(one for one in definitions if isinstance(one, OperationDefinitionNode))
    return max(1, round(_requests(operation.selection_set, 1, fragments, variables) / 100))


def _requests(selected: SelectionSetNode | None, times: int, fragments: Json, variables: Json) -> int:
    inner: Callable[[SelectionSetNode | None, int], int] = lambda s, n: _requests(s, n, fragments, variables)  # noqa: E731
    total = 0
    for one in selected.selections if selected else ():
        match one:
            case FieldNode():
                wanted = _wanted(one, variables)
                ids = "ids" in {argument.name.value for argument in one.arguments or ()}
                total += (times if wanted and not ids else 0) + inner(one.selection_set, times * (wanted or 1))
            case InlineFragmentNode():
                total += inner(one.selection_set, times)
            case FragmentSpreadNode():
                total += inner(fragments[one.name.value].selection_set, times)
    return total


def _wanted(field: FieldNode, variables: Json) -> int:
    """Number of nodes requested; 0 if it is no connection."""
    for argument in field.arguments or ():
        if argument.name.value in {"first", "last", "ids"}:
            value = argument.value
            given = variables.get(value.name.value, 1) if isinstance(value, VariableNode) else value
            if isinstance(given, IntValueNode):
                return int(given.value)
            return len(given) if isinstance(given, list) else given if isinstance(given, int) else 1
    return 0

"""Complexity of a query, as Linear publishes it: a property 0.1, an object 1; a connection multiplies its content by
the requested count, 50 by default. Taken literally: the connection counts as an object itself, and all of its content
is multiplied, its `pageInfo` too."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    value_from_ast_untyped,
)

_PROPERTY, _OBJECT, _USUAL = 0.1, 1.0, 50


@dataclass(frozen=True)
class _Counting:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]

    def selected(self, selection: SelectionSetNode, kind: Any) -> float:
        return sum(self._one(node, kind) for node in selection.selections)

    def _one(self, node: Any, kind: Any) -> float:
        if isinstance(node, FieldNode):
            return self._field(node, kind)
        inner = node if isinstance(node, InlineFragmentNode) else self.fragments[node.name.value]
        narrowed = self.schema.type_map[inner.type_condition.name.value] if inner.type_condition else kind
        return self.selected(inner.selection_set, narrowed)

    def _field(self, node: FieldNode, kind: Any) -> float:
        if node.selection_set is None:
            return _PROPERTY
        of = get_named_type(kind.fields[node.name.value].type)
        inside = self.selected(node.selection_set, of)
        connection = isinstance(of, GraphQLObjectType) and of.name.endswith("Connection")
        return _OBJECT + inside * (self._asked_for(node) if connection else 1)

    def _asked_for(self, node: FieldNode) -> int:
        args = {one.name.value: value_from_ast_untyped(one.value, dict(self.variables)) for one in node.arguments or ()}
        sizes = [args[name] for name in ("first", "last") if isinstance(args.get(name), int)]
        return sizes[0] if sizes else _USUAL


def complexity(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> int:
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    given = _defaults(operation) | dict(variables)
    root = schema.get_root_type(operation.operation)
    exact = _Counting(schema, fragments, given).selected(operation.selection_set, root)
    return math.ceil(round(exact, 6))


def _defaults(operation: OperationDefinitionNode) -> dict[str, Any]:
    return {
        one.variable.name.value: value_from_ast_untyped(one.default_value)
        for one in operation.variable_definitions or ()
        if one.default_value
    }

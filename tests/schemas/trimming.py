"""Keeps of GitHub's and Linear's descriptions of their APIs what the stand-ins answer, without the prose."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from graphql import (
    REMOVE,
    DefinitionNode,
    DocumentNode,
    EnumTypeDefinitionNode,
    InterfaceTypeDefinitionNode,
    NamedTypeNode,
    ScalarTypeDefinitionNode,
    TypeDefinitionNode,
    Visitor,
    parse,
    print_ast,
    specified_scalar_types,
    visit,
)

Json = Any


# OpenAPI


def trimmed_rest(whole: Json, templates: frozenset[str]) -> Json:
    """Returns the paths of these templates, and everything that they refer to."""
    wanted = {_same(template) for template in templates}
    paths = {path: whole["paths"][path] for path in whole["paths"] if _same(path) in wanted}
    kept: dict[str, Json] = {}
    _follow(paths, whole, kept)
    components: Json = {}
    for ref in sorted(kept):
        kind, _, name = ref.removeprefix("#/components/").partition("/")
        components.setdefault(kind, {})[name] = kept[ref]
    for name in _ON_LINES & components.get("schemas", {}).keys():
        own = components["schemas"][name]["properties"]
        own |= {part: {**own[part], "nullable": True} for part in ("line", "position") if part in own}
    info = {key: whole["info"][key] for key in ("title", "version", "license")}
    return {"openapi": whole["openapi"], "info": info, **_amended({"paths": paths, "components": components})}


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


def _amended(node: Json) -> Json:
    """Reads `nullable` beside choices as null; by the letter of OpenAPI 3.0 it would mean nothing."""
    if isinstance(node, list):
        return [_amended(one) for one in node]
    if not isinstance(node, dict):
        return node
    same = {key: _amended(value) for key, value in node.items() if not _is_prose(key, value)}
    if same.get("nullable") is True:
        more = {"enum": None, "oneOf": _NULL, "anyOf": _NULL}
        same |= {key: [*same[key], null] for key, null in more.items() if isinstance(same.get(key), list)}
        if isinstance(same.get("allOf"), list):
            same["anyOf"] = [{"allOf": same.pop("allOf")}, _NULL]
    if _LIST_TOO in str(node.get("oneOf", "")):
        same["oneOf"] = [*same["oneOf"], {"type": "array", "items": {"type": "string"}}]
    return same


def _is_prose(key: str, value: Json) -> bool:
    """A property may be called like a word of the description: it has a schema, which is no text and no list."""
    if key in {"examples", "externalDocs"} or key.startswith(("x-github-", "x-octokit")):
        return True
    return not isinstance(value, dict) and key in {"description", "summary", "example", "operationId", "tags"}


# A remark on an outdated line has no line: GitHub sends null, and describes a number.
_ON_LINES = {"pull-request-review-comment", "review-comment"}
_NULL = {"type": "object", "nullable": True, "enum": [None]}
# Described in prose only.
_LIST_TOO = "You can also pass an `array` of labels directly"


def _same(template: str) -> str:
    """Returns the same text for templates that differ only in the names of their parts."""
    return "/".join("{}" if part.startswith("{") else part for part in template.split("/"))


# GraphQL


def trimmed_graphql(text: str, types: str, roots: frozenset[str]) -> str:
    """Returns the queries and mutations with these names, and the types that are reached from them.

    Fields lead only to plain values and to types with a name of the pattern `types`.
    """
    document = parse(_DESCRIPTIONS.sub("", text), no_location=True)
    whole = {one.name.value: one for one in document.definitions if isinstance(one, TypeDefinitionNode)}
    plain = {name for name, one in whole.items() if isinstance(one, ScalarTypeDefinitionNode | EnumTypeDefinitionNode)}
    known = {name for name in whole if re.fullmatch(types, name)} | plain | _ROOTS
    trim = _Trim(known | specified_scalar_types.keys(), roots)
    kept = {name: visit(whole[name], trim) for name in known}
    reached = _reached(kept)
    return print_ast(DocumentNode(definitions=tuple(kept[name] for name in sorted(reached)))) + "\n"


_DESCRIPTIONS = re.compile(r'"""(?:.|\n)*?"""|^ *"[^"\n]*"$', re.MULTILINE)
_ROOTS = {"Query", "Mutation"}


class _Trim(Visitor):
    def __init__(self, known: AbstractSet[str], roots: AbstractSet[str]) -> None:
        super().__init__()
        self._known, self._roots = known, roots

    def enter_field_definition(self, node: Any, key: Any, parent: Any, path: Any, ancestors: Any) -> Any:
        is_root = ancestors[0].name.value in _ROOTS
        return None if self._leads_on(node) and (not is_root or node.name.value in self._roots) else REMOVE

    def enter_input_value_definition(self, node: Any, *_: Any) -> Any:
        return None if self._leads_on(node) else REMOVE

    def enter_named_type(self, node: NamedTypeNode, key: Any, parent: Any, *_: Any) -> Any:
        """The interfaces of a type and the types of a union are in lists."""
        return REMOVE if isinstance(parent, tuple) and node.name.value not in self._known else None

    def enter_directive(self, *_: Any) -> Any:
        return REMOVE

    def _leads_on(self, node: Any) -> bool:
        kind = node.type
        while not isinstance(kind, NamedTypeNode):
            kind = kind.type
        return kind.name.value in self._known


def _reached(kept: Mapping[str, DefinitionNode]) -> AbstractSet[str]:
    """An interface leads to the types that implement it."""
    named = {name: _names_in(one) & kept.keys() for name, one in kept.items()}
    interfaces = {name for name, one in kept.items() if isinstance(one, InterfaceTypeDefinitionNode)}
    for name, names in list(named.items()):
        for interface in names & interfaces:
            named[interface] = named[interface] | {name}
    reached, left = set(_ROOTS), [*_ROOTS]
    while left:
        new = named[left.pop()] - reached
        reached |= new
        left += new
    return reached


def _names_in(node: DefinitionNode) -> set[str]:
    found: set[str] = set()

    class Names(Visitor):
        def enter_named_type(self, named: NamedTypeNode, *_: Any) -> None:
            found.add(named.name.value)

    visit(node, Names())
    return found

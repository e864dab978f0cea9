"""The descriptions of GitHub's and Linear's APIs are those that the whole ones make, and name their origin."""

import json
import re

import pytest
from graphql import build_schema, validate_schema

from tests.schemas import FOLDER
from tests.schemas.making import make, whole_descriptions
from tests.schemas.trimming import trimmed_graphql, trimmed_rest

FILES = ("github-rest.json", "github.graphql", "linear.graphql")


def test_the_descriptions_are_those_that_the_whole_ones_make():
    whole = whole_descriptions()
    if whole is None:
        pytest.skip("the whole descriptions of the APIs are not here (TREEHAND_SCHEMAS): only their parts are tested")
    for name, text in make(whole).items():
        assert (FOLDER / name).read_text() == text, f"{name}: make schemas"


@pytest.mark.parametrize("name", FILES)
def test_each_description_is_small_and_its_origin_and_licence_are_named(name):
    assert (FOLDER / name).stat().st_size < 300_000
    page = (FOLDER / "README.md").read_text()
    assert f"`{name}`" in page
    assert "Permission is hereby granted" in page


def test_everything_that_the_rest_description_refers_to_is_in_it():
    text = (FOLDER / "github-rest.json").read_text()
    components = json.loads(text)["components"]
    named = [ref.split("/", 1) for ref in re.findall(r'"#/components/(.+?)"', text)]
    assert [place for place in named if place[1] not in components[place[0]]] == []


@pytest.mark.parametrize("name", FILES[1:])
def test_each_graphql_schema_is_valid(name):
    assert validate_schema(build_schema((FOLDER / name).read_text())) == []


def test_a_path_is_kept_with_all_that_it_refers_to_and_without_prose():
    whole = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1", "license": {"name": "MIT"}, "contact": {}},
        "paths": {
            "/a/{id}": {"get": {"summary": "A", "responses": {"200": {"$ref": "#/components/responses/one"}}}},
            "/b": {},
        },
        "components": {
            "responses": {"one": {"description": "x", "content": {"$ref": "#/components/schemas/thing"}}, "two": {}},
            "schemas": {"thing": {"properties": {"description": {"type": "string", "description": "prose"}}}},
        },
    }
    kept = trimmed_rest(whole, frozenset({"/a/{other}"}))
    assert [*kept["paths"]] == ["/a/{id}"]
    assert kept["components"]["schemas"]["thing"] == {"properties": {"description": {"type": "string"}}}
    assert "prose" not in json.dumps(kept)
    assert [*kept["components"]["responses"]] == ["one"]


def test_a_type_is_kept_with_the_fields_that_lead_to_kept_types():
    whole = '''
    """prose"""
    type Query { node(by: Order, id: ID!): Node hidden: Int }
    type Mutation { change: Other }
    interface Node { id: ID! }
    type Thing implements Node & Lost { id: ID! at: When @deprecated lost: Lost kind: Kind }
    interface Lost { id: ID! }
    type Other { id: ID! }
    input Order { by: Int }
    scalar When
    enum Kind { A B }
    '''
    kept = " ".join(trimmed_graphql(whole, "Node|Thing|Unknown", frozenset({"node", "change"})).split())
    assert "type Query { node(id: ID!): Node }" in kept
    assert "type Thing implements Node { id: ID! at: When kind: Kind }" in kept
    assert "enum Kind { A B }" in kept
    assert not {"Lost", "Other", "Order", "prose"} & {*kept.replace("(", " ").split()}

"""Every query and mutation is valid by Linear's own schema."""

import pytest
from graphql import parse, validate

from bot.services.linear import graphql_queries
from bot.services.linear.parse import _id_of, parse_step
from tests.fakes.linear.schema import schema

DOCUMENTS = {
    name: text
    for name, text in vars(graphql_queries).items()
    if isinstance(text, str) and name.isupper() and name[0] != "_"
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_valid(name):
    assert [str(problem) for problem in validate(schema(), parse(DOCUMENTS[name]))] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_operation_of_a_document_is_named_like_the_document(name):
    (operation, *_) = [one for one in parse(DOCUMENTS[name]).definitions if hasattr(one, "operation")]
    assert operation.name.value.lower() == name.lower().replace("_", "")


def test_at_least_twenty_documents_are_checked():
    assert len(DOCUMENTS) >= 20


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"issueId": "i", "issue": None}, "i"),
        ({"issueId": None, "issue": {"id": "i"}}, "i"),
        ({"issueId": None, "issue": None}, ""),
    ],
)
def test_the_issue_of_an_object_is_read_from_an_id_or_a_nested_object(told, found):
    assert _id_of(told, "issue") == found


def test_a_history_entry_with_nested_labels_and_states_is_read_like_a_flat_one():
    at, who = "2026-01-01T00:00:00.000Z", None
    bare = {"createdAt": at, "updatedAt": at, "actor": who, "fromTitle": None, "updatedDescription": None}
    ids = {"addedLabelIds": ["l"], "fromStateId": "a", "toStateId": "b"}
    things = {"addedLabels": [{"id": "l"}], "fromState": {"id": "a"}, "toState": {"id": "b"}}
    none = dict.fromkeys([*ids, *things])
    by_id, by_thing = (parse_step({**bare, **none, **told, "descriptionUpdatedBy": None}) for told in (ids, things))
    assert by_id == by_thing
    assert (by_id["added"], by_id["from_state"], by_id["to_state"]) == (["l"], "a", "b")

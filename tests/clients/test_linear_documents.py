"""Every document we send is one that Linear's own schema knows."""

import pytest
from graphql import parse, validate

from bot.clients.linear import documents
from tests.fakes.linear.schema import description, schema

DOCUMENTS = {
    name: text for name, text in vars(documents).items() if isinstance(text, str) and name.isupper() and name[0] != "_"
}


@pytest.fixture(autouse=True)
def _there():
    if description() is None:
        pytest.skip("Linear's schema is not here: put it where TREEHAND_SCHEMAS says")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_valid(name):
    assert [str(problem) for problem in validate(schema(), parse(DOCUMENTS[name]))] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_says_what_it_is_and_its_name(name):
    (operation, *_) = [one for one in parse(DOCUMENTS[name]).definitions if hasattr(one, "operation")]
    assert operation.name.value.lower() == name.lower().replace("_", "")


def test_nothing_else_is_ever_sent():
    assert len(DOCUMENTS) >= 20

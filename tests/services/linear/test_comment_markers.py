"""Comment markers are valid for one issue, and only with our secret."""

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.services.linear.comment_markers import Markers, has_marker, without_marker

MARKERS = Markers(b"secret", "https://github.com/acme/shop")
TEXT, SLUG = "Working.", "1/progress"


def marked(text=TEXT, slug=SLUG, issue="one"):
    return MARKERS.sign(text, issue=issue, slug=slug)


def test_our_comment_is_recognized_and_read_without_its_marker():
    assert MARKERS.find_slug(marked(), "one") == SLUG
    assert without_marker(marked()) == TEXT


def test_a_marker_is_valid_only_for_its_issue_slug_and_secret():
    assert MARKERS.find_slug(marked(), "other") == ""
    assert MARKERS.find_slug(marked().replace("1/progress", "2/progress"), "one") == ""
    assert Markers(b"another", "https://x").find_slug(marked(), "one") == ""
    assert Markers(b"another", "https://x", older=(b"secret",)).find_slug(marked(), "one") == SLUG


@pytest.mark.parametrize(
    "written",
    [
        lambda body: body.replace("](", "](<").removesuffix(")") + ">)",
        lambda body: f"{body}\n",
        lambda body: body.replace("\n\n", "\n"),
        lambda body: f"\n{body}  ",
    ],
)
def test_a_marker_is_recognized_in_rewritten_markdown(written):
    assert MARKERS.find_slug(written(marked()), "one") == SLUG
    assert without_marker(written(marked())).strip() == TEXT


def test_a_quoted_marker_is_ignored():
    operators = MARKERS.sign_for_operator("Ana", "go on", issue="one")
    quoting = marked(f"They said: {operators}")
    assert MARKERS.find_slug(quoting, "one") == SLUG
    assert MARKERS.find_operator(quoting, "one") == ""
    assert MARKERS.find_slug(quoting.rpartition("\n\n")[0], "one") == ""


@pytest.mark.parametrize("person", ["Ana B.", "ana/1", "Zoë (ops)", "progress", "a:b"])
def test_a_comment_for_an_operator_keeps_their_name(person):
    assert MARKERS.find_operator(MARKERS.sign_for_operator(person, "go on", issue="one"), "one") == person


def test_a_comment_id_is_a_valid_uuid_and_deterministic():
    made = MARKERS.id_for("one", SLUG)
    assert uuid.UUID(made).version == 4
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert str(uuid.UUID(made)) == made == MARKERS.id_for("one", SLUG)
    assert len({made, MARKERS.id_for("other", SLUG), MARKERS.id_for("one", "2/progress")}) == 3


def test_a_note_is_valid_only_for_its_issue_and_slug():
    kept = MARKERS.pack_note("remembered", issue="one", slug=SLUG)
    assert MARKERS.unpack_note(kept, "one") == (SLUG, "remembered")
    for forged in (
        {**kept, "treehand": "note/2/progress"}, {**kept, "note": "eA=="}, {**kept, "seal": ""}, {}, {"treehand": 5},
    ):  # fmt: skip
        assert MARKERS.unpack_note(forged, "one") == ("", "")
    assert MARKERS.unpack_note(kept, "other") == ("", "")


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=200), slug=st.text(min_size=1, max_size=20, alphabet="abc/1-é ._~%"))
def test_any_text_survives_marking_and_reading(text, slug):
    body = marked(text, slug)
    assert MARKERS.find_slug(body, "one") == slug
    assert has_marker(body)
    assert without_marker(body) == text.rstrip()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="[]()<>#:/ treehandT0af\n", max_size=300))
def test_any_text_without_our_marker_is_not_ours(text):
    assert MARKERS.find_slug(text, "one") == ""
    without_marker(text)

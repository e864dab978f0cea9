"""Comment markers are valid for one place, and only with our secret."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.services.github.comment_markers import Markers, has_marker, without_marker

OURS = Markers(b"ours", lambda: ["acme/shop"])


@settings(max_examples=40, deadline=None, database=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text(min_size=1, max_size=40), st.integers(1, 10**9)
)
def test_a_signed_comment_is_recognized_and_its_text_is_unchanged(text, slug, number):
    body = OURS.sign(text, number=number, slug=slug)
    assert OURS.find_slug(body, number) == slug
    assert has_marker(body)
    assert without_marker(body).strip() == text.replace("<!-- treehand", "<!-- Treehand").strip()


def test_a_signature_is_valid_only_for_its_place():
    body = OURS.sign("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(body, 2) == ""
    assert Markers(b"ours", lambda: ["acme/other"]).find_slug(body, 1) == ""
    assert Markers(b"another", lambda: ["acme/shop"]).find_slug(body, 1) == ""
    assert OURS.find_slug(body.replace("1/progress", "1/other"), 1) == ""


def test_a_quoted_marker_is_ignored():
    quoted = OURS.sign("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(OURS.sign(quoted, number=1, slug="1/reply"), 1) == "1/reply"
    assert OURS.find_operator(OURS.sign("words", number=1, slug="1/reply"), 1) == ""


def test_a_comment_for_an_operator_carries_their_name():
    body = OURS.sign_for_operator("Bob --> Øster", "go on", number=1)
    assert OURS.find_operator(body, 1) == "Bob --> Øster"


def test_a_long_comment_is_cut_to_githubs_limit():
    body = OURS.sign("x" * 100_000, number=1, slug="1/progress")
    assert len(body) <= 65_000
    assert OURS.find_slug(body, 1) == "1/progress"


def test_a_note_is_invisible_and_cannot_be_forged():
    body = OURS.sign("Working.", number=1, slug="1/progress", note='{"turn": 3} --> ü')
    assert OURS.find_note(body, 1) == '{"turn": 3} --> ü'
    assert OURS.find_slug(body, 1) == "1/progress"
    assert without_marker(body).strip() == "Working."
    assert "turn" not in body
    assert OURS.find_note(body, 2) == ""
    other = OURS.sign("Working.", number=1, slug="1/progress", note='{"turn": 4}')
    packed = other.split("treehand-note ")[1].split(" ")[0]
    forged = body.replace(body.split("treehand-note ")[1].split(" ")[0], packed)
    assert (OURS.find_note(forged, 1), OURS.find_slug(forged, 1)) == ("", "")
    cut_out = OURS.sign("Working.", number=1, slug="1/progress")
    assert OURS.find_note(cut_out, 1) == ""


def test_a_quoted_note_is_ignored():
    quoted = OURS.sign("Working.", number=1, slug="1/progress", note='{"turn": 3}')
    for words in (quoted, quoted.rpartition("<!--")[0]):  # a note that nothing follows would become part of our marker
        body = OURS.sign(words, number=1, slug="1/reply")
        assert (OURS.find_slug(body, 1), OURS.find_note(body, 1)) == ("1/reply", "")


def test_older_secrets_stay_valid_and_new_comments_use_the_new_one():
    both = Markers(b"new", lambda: ["acme/shop"], older=[b"older", b"ours"])
    assert both.find_slug(OURS.sign("Working.", number=1, slug="1/progress"), 1) == "1/progress"
    assert OURS.find_slug(both.sign("Working.", number=1, slug="1/progress"), 1) == ""

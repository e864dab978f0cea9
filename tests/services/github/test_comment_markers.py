"""Comment markers are valid for one place, and only with our secret."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.services.github.comment_markers import Markers, has_marker, without_marker

OURS = Markers(b"ours", lambda: ["acme/shop"])


@settings(max_examples=40, deadline=None, database=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text(min_size=1, max_size=40), st.integers(1, 10**9)
)
def test_what_was_signed_is_known_again_and_reads_as_it_was(text, slug, number):
    body = OURS.sign(text, number=number, slug=slug)
    assert OURS.find_slug(body, number) == slug
    assert has_marker(body)
    assert without_marker(body).strip() == text.replace("<!-- treehand", "<!-- Treehand").strip()


def test_a_signature_is_good_for_its_place_only():
    body = OURS.sign("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(body, 2) == ""
    assert Markers(b"ours", lambda: ["acme/other"]).find_slug(body, 1) == ""
    assert Markers(b"another", lambda: ["acme/shop"]).find_slug(body, 1) == ""
    assert OURS.find_slug(body.replace("1/progress", "1/other"), 1) == ""


def test_what_we_quote_does_not_speak_for_us():
    quoted = OURS.sign("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(OURS.sign(quoted, number=1, slug="1/reply"), 1) == "1/reply"
    assert OURS.find_operator(OURS.sign("words", number=1, slug="1/reply"), 1) == ""


def test_an_operator_is_called_by_their_own_name():
    body = OURS.sign_for_operator("Bob --> Øster", "go on", number=1)
    assert OURS.find_operator(body, 1) == "Bob --> Øster"


def test_a_long_text_is_cut_so_that_github_takes_it():
    body = OURS.sign("x" * 100_000, number=1, slug="1/progress")
    assert len(body) <= 65_000
    assert OURS.find_slug(body, 1) == "1/progress"


def test_a_note_goes_unseen_and_only_we_can_have_written_it():
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


def test_a_quoted_note_is_not_ours():
    quoted = OURS.sign("Working.", number=1, slug="1/progress", note='{"turn": 3}')
    for words in (quoted, quoted.rpartition("<!--")[0]):  # a note that nothing follows would become part of our marker
        body = OURS.sign(words, number=1, slug="1/reply")
        assert (OURS.find_slug(body, 1), OURS.find_note(body, 1)) == ("1/reply", "")


def test_what_an_older_secret_signed_is_ours_and_new_words_are_signed_with_the_new_one():
    both = Markers(b"new", lambda: ["acme/shop"], older=[b"older", b"ours"])
    assert both.find_slug(OURS.sign("Working.", number=1, slug="1/progress"), 1) == "1/progress"
    assert OURS.find_slug(both.sign("Working.", number=1, slug="1/progress"), 1) == ""

"""Our signature: ours for one place, and nobody else's."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.clients.github.markers import Markers, looks_marked, without_marker

OURS = Markers(b"ours", "acme/shop")


@settings(max_examples=40, deadline=None, database=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text(min_size=1, max_size=40), st.integers(1, 10**9)
)
def test_what_was_signed_is_known_again_and_reads_as_it_was(text, slug, number):
    body = OURS.signed(text, number=number, slug=slug)
    assert OURS.find_slug(body, number) == slug
    assert looks_marked(body)
    assert without_marker(body).strip() == text.replace("<!-- treehand:", "<!-- treehand ").strip()


def test_a_signature_is_good_for_its_place_only():
    body = OURS.signed("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(body, 2) == ""
    assert Markers(b"ours", "acme/other").find_slug(body, 1) == ""
    assert Markers(b"another", "acme/shop").find_slug(body, 1) == ""
    assert OURS.find_slug(body.replace("1/progress", "1/other"), 1) == ""


def test_what_we_quote_does_not_speak_for_us():
    quoted = OURS.signed("Working.", number=1, slug="1/progress")
    assert OURS.find_slug(OURS.signed(quoted, number=1, slug="1/reply"), 1) == "1/reply"
    assert OURS.find_operator(OURS.signed("words", number=1, slug="1/reply"), 1) == ""


def test_an_operator_is_called_by_their_own_name():
    body = OURS.in_the_name_of("Bob --> Øster", "go on", number=1)
    assert OURS.find_operator(body, 1) == "Bob --> Øster"


def test_a_long_text_is_cut_so_that_github_takes_it():
    body = OURS.signed("x" * 100_000, number=1, slug="1/progress")
    assert len(body) <= 65_000
    assert OURS.find_slug(body, 1) == "1/progress"

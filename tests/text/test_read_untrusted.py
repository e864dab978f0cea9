"""T3: an agent reads the visible text of people and none of the hidden text."""

import random
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.issue import Edit, Issue, Person
from bot.domain.visible_content import read_comment, read_issue
from bot.text import invisible_characters
from bot.text.read_untrusted import CUT, LONGEST_TEXT, MOST_MARKS, read, read_plain
from tests.text.hidden import ARTFUL, HIDDEN, LONG, PAGE_BITS, SEEN, UNITS, pieces
from tests.text.rendered_by_github import is_read_as_shown, made_up, shown_on_github
from tests.text.steps import steps_of

STEPS_OF_A_LONG_TEXT = 1_500_000
"""Lines of our code; a modern machine runs ten to twenty million a second."""
PAGES = MarkdownIt("commonmark", {"html": True})


@pytest.mark.parametrize("text", HIDDEN, ids=ascii)
def test_t3_hidden_text_is_left_out_and_counted(text: str):
    found = read(text)
    assert "evil" not in found.text
    assert found.hidden
    assert found.text.count("seen") == text.count("seen")


@pytest.mark.parametrize("text", SEEN, ids=ascii)
def test_t3_visible_text_is_unchanged(text: str):
    assert (read(text).text, read(text).hidden) == (text, 0)


@pytest.mark.parametrize("text", ARTFUL, ids=ascii)
def test_t3_hidden_text_in_fake_code_is_left_out(text: str):
    assert "evil" not in read(text).text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("pass\u200bword", "password"),
        ("a\u202eb\u2066c", "abc"),
        ("so\u00adft", "soft"),
        ("".join(chr(0xE0000 + ord(letter)) for letter in "do evil"), ""),
        ("x\U000e0101\U000e01efy\ufe01", "xy"),
        ("\U0001f3f4\U000e0065\U000e0076\U000e007f", "\U0001f3f4"),
        ("a\u200db \u200d👩\u200d", "ab 👩"),
        ("\x1b[31mred\x1b[0m\x1b]0;evil\x07!", "red!"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("\ue000\U00100000\ud800\ufdd0\uffff", ""),
        ("1 &#8203;&zwj;&#xE0041;2", "1 2"),
        ("soft&shy;ly &amp; 3 &lt; 4&nbsp;€ &#65;", "soft ly &amp; 3 &lt; 4&nbsp;€ &#65;"),
    ],
    ids=ascii,
)
def test_t3_invisible_characters_are_left_out(text: str, left: str):
    assert read(text).text == left


@pytest.mark.parametrize(
    "emoji", ["🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "👨‍👩‍👧‍👦", "👩🏽‍🚀", "❤️‍🔥", "🏳️‍🌈", "🏴‍☠️", "1️⃣", "☺️", "می‌خواهم", "क्‍ष"]
)
def test_t3_flags_families_and_scripts_that_need_joiners_survive(emoji: str):
    assert read(f"so {emoji} it is {emoji}") == read_plain(f"so {emoji} it is {emoji}")
    assert read(f"so {emoji} it is").text == f"so {emoji} it is"


def test_t3_invisible_characters_in_code_are_removed_and_its_comments_stay():
    found = read("```html\n<!-- a\u200b header -->\n```\n`<!-- b -->`")
    assert found.text == "```html\n<!-- a header -->\n```\n`<!-- b -->`"
    assert found.hidden == 1


def is_banned(letter: str) -> bool:
    """Excludes emoji, flags and joined scripts, which have their own tests below."""
    if letter in "\n\t":
        return False
    beyond = 0xE0000 <= ord(letter) <= 0xE0FFF or (ord(letter) & 0xFFFE) == 0xFFFE
    return beyond or unicodedata.category(letter) in {"Cc", "Cf", "Co", "Cs"}


@given(st.text(), st.characters())
def test_t3_single_banned_characters_are_removed(around: str, letter: str):
    for text in (letter, f"a{letter}b", f"{around}x{letter}x"):
        kept = read(text).text
        assert not [found for found in kept if is_banned(found) and found not in "\u200c\u200d\ufe0f"], ascii(text)
    assert not is_banned(letter) or letter not in read(f"a{letter}b").text


@settings(max_examples=150)
@example(["<<!-- x -->!-- y -->"])
@given(st.lists(pieces, max_size=30))
def test_t3_reading_is_idempotent(parts: list[str]):
    once = read("".join(parts))
    assert read(once.text).text == once.text
    assert read(once.text).hidden == 0


@settings(max_examples=100)
@given(st.lists(pieces, max_size=20))
def test_t3_titles_and_programs_lose_only_invisible_characters(parts: list[str]):
    text = "".join(parts)
    assert read_plain(text).text == invisible_characters.strip_invisible(text)
    assert invisible_characters.strip_invisible(
        invisible_characters.strip_invisible(text)
    ) == invisible_characters.strip_invisible(text)


@pytest.mark.attack("T3", "A text made to be slow to read")
@pytest.mark.parametrize("name", LONG)
def test_t3_long_text_is_read_in_bounded_steps(name: str):
    text = LONG[name]
    steps = steps_of(lambda: read.__wrapped__(text))
    assert steps < STEPS_OF_A_LONG_TEXT
    assert len(read(text).text) <= LONGEST_TEXT


@pytest.mark.attack("T3", "A text that takes much longer when it is a little longer")
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_t3_the_steps_grow_linearly_with_the_text(unit: str):
    marks = max(len([letter for letter in unit if letter in "\n<&[]`\\|="]), 1)
    length = min(MOST_MARKS // marks // 2 - 50, LONGEST_TEXT // len(unit) // 2)
    once = steps_of(lambda: read.__wrapped__(unit * length))
    twice = steps_of(lambda: read.__wrapped__(unit * length * 2))
    assert twice <= 2.2 * once + 500


def test_t3_a_text_that_is_too_long_is_cut_and_marked():
    for text in ("word " * 20_000, "a [b](c)\n" * 9_000, "`" * 70_000, "<!-- a" + "\n" * 70_000):
        once = read(text)
        assert once.text.endswith(CUT)
        assert read(once.text).text == once.text
    assert read_plain("a" * 70_000).text.endswith(CUT)
    assert len(read_plain("a" * 70_000).text) == LONGEST_TEXT


@pytest.mark.attack("T3", "So much markup that the reader gives up, and a hidden comment behind it")
def test_t3_much_markup_does_not_hide_a_comment():
    assert "evil" not in read("< " * 13_000 + "<!-- evil -->").text


class Page(HTMLParser):
    """Returns the text a browser shows, without images."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.shown = ""
        self.feed(re.sub("<!---?>", "", html))  # an empty comment for a browser; this parser looks for another end
        self.close()

    def handle_data(self, data: str) -> None:
        self.shown += data


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PAGE_BITS), max_size=14))
def test_t3_text_that_a_page_does_not_show_is_not_read(parts: list[str]):
    """Compared with a Markdown parser and an HTML parser of others."""
    text = "".join(parts)
    if "evil deed" not in Page(PAGES.render(text)).shown:
        assert "evil deed" not in read(text).text


@pytest.mark.attack("T3", "Marks of Markdown and HTML in any order, to hide words from GitHub's readers")
@pytest.mark.parametrize("seed", range(4))
def test_t3_text_that_github_does_not_show_is_not_read(seed: int):
    """`make bench` tests a hundred thousand."""
    chance = random.Random(seed)
    texts = [made_up(chance) for _ in range(1000)]
    assert [made.text for made in texts if not is_read_as_shown(made)] == []


@pytest.mark.parametrize("text", SEEN, ids=ascii)
def test_t3_github_shows_the_text_that_we_count_as_visible(text: str):
    seen = set(re.findall(r"[a-z]{3,}", shown_on_github(text)))
    assert set(re.findall(r"seen", text)) <= seen


def test_t3_every_text_of_an_issue_is_filtered():
    edit = Edit("e", Person("eve"), "\u200b", "<!-- evil -->")
    issue = Issue("shop#1", "Fix\u200b it", "Do <!-- evil --> it", frozenset(), open=True, edit=edit)
    read_one, hidden = read_issue(issue)
    assert (read_one.title, read_one.body, hidden) == ("Fix it", "Do  it", 2)
    assert read_one.edit
    assert (read_one.edit.title, read_one.edit.body) == ("", "")


def test_t3_every_text_of_a_review_is_filtered_and_its_code_is_read_as_code():
    remark = Remark("a\u200b.html", 1, "why <!-- evil -->?", hunk="+<!-- seen\u200b -->")
    said = Comment("c1", CommentPlace.PULL_REQUEST, Person("ana"), "<p hidden>evil</p>ok", 1.0, (remark,))
    read_one, hidden = read_comment(said)
    assert (read_one.text, read_one.remarks[0].text, hidden) == ("ok", "why ?", 2)
    assert read_one.remarks[0].hunk == "+<!-- seen -->"
    assert read_one.remarks[0].path == "a.html"

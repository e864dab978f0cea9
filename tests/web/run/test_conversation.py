"""Conversation: blocks in order, and Markdown that only ever becomes text."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.transcript import TranscriptLine, TranscriptPage
from bot.domain.turn import Event, EventKind, Todo
from bot.text.invisible_characters import strip_invisible
from bot.web.markdown import LONGEST, LONGEST_MARKED, to_html
from bot.web.run.conversation import blocks_of, turn_number

HARMLESS = {
    "blockquote",
    "p",
    "ul",
    "ol",
    "li",
    "pre",
    "code",
    "strong",
    "em",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}


class Reading(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in HARMLESS
        assert not attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


WORDS = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</code></pre>", "[a](javascript:alert(1))"]
SIGNS = [
    "> ",
    "![](http://x)",
    "&lt;",
    "<!--",
    "]]>",
    "{{ 7*7 }}",
    "```",
    "~~~~",
    "`",
    "**",
    "|",
    "| a | b |\n|---|---|\n",
    "- ",
    "1. ",
    "# ",
    "\n",
    "\n\n",
]
HOSTILE = st.lists(st.one_of(st.sampled_from(WORDS + SIGNS), st.text(max_size=6)), max_size=30).map("".join)


def letters(text: str) -> str:
    return re.sub(r"[\s#*`~+.)0-9_-]", "", text)


@settings(max_examples=300, deadline=None)
@given(HOSTILE)
@example("```\n</code></pre><script>alert(1)</script>\n```")
@example("`<b>` **<i>**")
@example("<b> `x`")
def test_all_markdown_becomes_text_in_harmless_elements(text):
    read = Reading(str(to_html(text))).words
    for word in WORDS:
        assert letters(read).count(letters(word)) == letters(strip_invisible(text)).count(letters(word))
    rest = iter(letters(strip_invisible(text)))
    assert all(letter in rest for letter in letters(read))  # in this order, and nothing but


def flat(text: str) -> str:
    """Removes the line ends between two blocks."""
    return re.sub(r"(?<=>)\n(?=<|$)", "", str(to_html(text)))


def test_simple_markdown_is_rendered():
    text = "# Plan\n_First `xy`_ **bold** and `a < b`.\n\n- one\n- two\n  more\n\n1. x\n\n```py\nif a < b:\n```\nend"
    assert flat(text) == (
        "<p><strong>Plan</strong></p><p><em>First <code>xy</code></em> <strong>bold</strong>"
        " and <code>a &lt; b</code>.</p>"
        "<ul><li>one</li><li>two\nmore</li></ul><ol><li>x</li></ol>"
        "<pre><code>if a &lt; b:\n</code></pre><p>end</p>"
    )


def test_lists_are_nested_and_a_star_is_emphasis():
    assert flat("- one\n  - *two*\n- three") == ("<ul><li>one\n<ul><li><em>two</em></li></ul></li><li>three</li></ul>")


def test_text_after_a_fence_is_shown_unless_it_names_a_language():
    assert flat("```py\nx\n```") == "<pre><code>x\n</code></pre>"
    assert flat("``` delete <all>\nx\n```") == "<pre><code>delete &lt;all&gt;\nx\n</code></pre>"


def test_a_table_is_rendered_with_all_cells():
    html = flat("Files:\n\n| File | + |\n|---|:-:|\n| `a<b` | 1 |\n| c\\|d |\n| e | 2 | <i> | |\n\nend")
    assert html == (
        "<p>Files:</p><table><thead><tr><th>File</th><th>+</th></tr></thead><tbody>"
        "<tr><td><code>a&lt;b</code></td><td>1</td></tr><tr><td>c|d</td><td></td></tr>"
        "<tr><td>e</td><td>2</td><td>&lt;i&gt;</td></tr></tbody></table><p>end</p>"
    )
    for text in ("| a | b |", "| a |\n| b |", "| a | b |\n|---|"):
        assert "<table>" not in to_html(text)


def test_nested_quotes_are_rendered_up_to_a_depth():
    assert flat("> one\n> - two\n\nand `mine`") == (
        "<blockquote><p>one</p><ul><li>two</li></ul></blockquote><p>and <code>mine</code></p>"
    )
    assert flat("_see `that` and **this**_") == "<p><em>see <code>that</code> and <strong>this</strong></em></p>"
    assert to_html(">" * 5000 + " deep").count("<blockquote>") == 3


@pytest.mark.parametrize("sign", ["> ", "- ", "1. ", "- > ", "  - ", "**", "_a "])
def test_no_text_is_lost_at_any_depth(sign):
    assert "deep" in to_html(sign * 500 + "deep")
    assert "deep" in to_html("\n".join(f"{sign * depth}deep{depth}" for depth in range(60)).replace("deep59", "deep"))


@pytest.mark.parametrize(
    "part", ["*_", "- a\n", "a\n", "|a|\n|-|\n", "**a ", "> a\n", "# a\n", "a*b_c", "`a``b```", "["]
)
def test_hostile_markdown_is_rendered_quickly(part):
    began = time.monotonic()
    to_html(part * (LONGEST_MARKED // len(part)))
    to_html(part * LONGEST)
    assert time.monotonic() - began < 10


def test_very_long_text_is_cut():
    html = str(to_html("x" * (LONGEST + 7)))
    assert html.endswith("<p>… 7 more characters</p>")


def told(*events: Event, turn: str = "shop#1/1/turn-1", before: str = "") -> TranscriptPage:
    return TranscriptPage(
        lines=tuple(TranscriptLine(turn, event, place) for place, event in enumerate(events, 1)), before=before
    )


def kinds(stretch: TranscriptPage) -> list[str]:
    return [block.kind for block in blocks_of(stretch)]


def test_a_result_is_attached_to_its_tool():
    tool, other = Event(EventKind.TOOL, 1, "reads", "Read", "a"), Event(EventKind.TOOL, 2, "runs", "Bash", "b")
    blocks = blocks_of(told(tool, other, Event(EventKind.TOOL_RESULT, 3, "one", id="a")))
    assert [(block.kind, block.text, block.result) for block in blocks[1:]] == [
        ("tool", "reads", "one"), ("tool", "runs", "")
    ]  # fmt: skip


def test_a_result_without_its_tool_is_a_block_of_its_own():
    assert kinds(told(Event(EventKind.TOOL_RESULT, 3, "one", id="a"), before="shop#1/1/turn-1")) == ["result"]
    assert kinds(told(Event(EventKind.TOOL, 1, "x"), Event(EventKind.TOOL_RESULT, 3, "one"))) == [
        "turn", "tool", "result"
    ]  # fmt: skip


def test_a_turn_begins_with_its_prompt_and_later_ones_are_messages():
    prompt, more = Event(EventKind.PROMPT, 1, "the issue"), Event(EventKind.PROMPT, 2, "use a **set**")
    blocks = blocks_of(told(prompt, Event(EventKind.TEXT, 1, "ok"), more))
    assert [block.kind for block in blocks] == ["turn", "prompt", "answer", "message"]
    assert "<strong>set</strong>" in blocks[-1].html
    assert kinds(told(more, before="shop#1/1/turn-1")) == ["message"]


def test_each_turn_has_a_heading_and_an_end():
    one = told(Event(EventKind.TEXT, 1, "a"), Event(EventKind.RESULT, 2, "success", session_cost_usd=0.5))
    two = told(Event(EventKind.TEXT, 3, "b"), turn="shop#1/1/turn-2")
    blocks = blocks_of(TranscriptPage(lines=one.lines + two.lines))
    assert [(block.kind, block.turn) for block in blocks] == [
        ("turn", 1), ("answer", 1), ("end", 1), ("turn", 2), ("answer", 2)
    ]  # fmt: skip
    assert (blocks[2].text, blocks[2].cost_usd) == ("ended", 0.5)


def test_every_event_of_the_conversation_is_shown():
    todos = (Todo("x", done=False),)
    for kind in EventKind:
        silent = kind in {EventKind.SESSION, EventKind.USAGE, EventKind.STEP, EventKind.WAITING}
        assert len(kinds(told(Event(kind, 1, "x", todos=todos), before="shop#1/1/turn-1"))) == (not silent)


def test_the_output_of_a_tool_is_cut():
    blocks = blocks_of(told(Event(EventKind.TOOL_RESULT, 1, "x" * 3000, id="a")))
    assert blocks[-1].text.endswith("… 1,000 more characters")


def test_the_number_of_a_turn_is_the_end_of_its_id():
    assert [turn_number(turn) for turn in ("shop#1/1/turn-12", "ENG-7/1/turn-3", "strange")] == [12, 3, 0]


WIDE = "|".join("a" * 500) + "\n" + "|".join("-" * 500) + "\n" + "|\n" * 8000
SMALL = ("|".join("a" * 39) + "\n" + "|".join("-" * 39) + "\n" + "|\n" * 70 + "\n") * 60


@pytest.mark.attack("T16", "An agent writes tables of one sign for each row, which become tens of thousands of fields")
@pytest.mark.parametrize("text", [WIDE, SMALL, f"> {WIDE}", f"- {WIDE}"], ids=["wide", "small", "quoted", "listed"])
def test_t16_a_few_signs_do_not_become_tens_of_thousands_of_cells(text):
    html = to_html(text[:LONGEST_MARKED])
    assert html.count("<td>") <= 3000
    assert Reading(html).words.count("a") == text[:LONGEST_MARKED].count("a")


def test_a_long_table_is_a_table():
    rows = "".join(f"| {number} | b | c |\n" for number in range(900))
    html = to_html(f"# One\n\n| x | y | z |\n|---|:-:|---|\n{rows}\n\nend")
    assert (html.count("<table>"), html.count("<td>")) == (1, 2700)

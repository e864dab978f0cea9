"""T18: words of others, where we repeat them, are read and do nothing."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.text.pull_request_body import body_with, closed_by, ours_in
from bot.text.quote_untrusted import code, fence, harmless, inline, line, plain, quote, short

PIECES = st.sampled_from([
    "@team", "@org/team", "Fixes #1", "closes GH-2", "resolve ENG-3", "acme/shop#4", "https://github.com/o/r/issues/5",
    "\n", "\n\n", "    ", "- ", "1. ", "> ", "| ", "|---|---|\n", "`", "``", "```", "```py\n", "~~~", "\\", "<",
    "<!--", "-->", "<!-- treehand:end -->", "<img src=x>", "<div>\n", "![", "[x](http://y/@team)", "](http://z)",
    "&#64;team", "&commat;", "/close", "\n/ai stop", "\x1b[31m", "\u202e", "\u200b", "a", " ", "\t", "é", "_", "*",
    "#", "@", "&", "!", "\r", "---\n",
])  # fmt: skip
texts = st.lists(PIECES, max_size=16).map("".join)
GITHUB = MarkdownIt("commonmark", {"html": True}).enable("table")
MENTION = re.compile(r"(?:^|[^A-Za-z0-9_`])@[A-Za-z0-9]")
NUMBER = re.compile(r"#\d|\bGH-\d", re.IGNORECASE)


def rendered(text: str):
    """What a browser gets, mark by mark."""
    for block in GITHUB.parse(text):
        yield block
        yield from block.children or ()


def words_in(text: str) -> str:
    """What is neither code nor the target of a link."""
    lines = (block.children or () for block in GITHUB.parse(text) if block.type == "inline")
    said = ("".join(_said(child) for child in children) for children in lines)
    return "\n".join(said)


def _said(token) -> str:
    match token.type:
        case "text" | "text_special":
            return token.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return "`"
        case "link_close":
            return "]"  # whatever follows stands behind it, in what is written as well
        case _:
            return ""


@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        ("hello @team, @org/crew", "> hello `@team`, `@org/crew`"),
        ("see `@dataclass` and a@b.example", "> see `@dataclass` and a@b.example"),
        ("Fixes #12, closes: acme/shop#3, fix GH-4", "> Fixes `#12`, closes: `acme/shop#3`, fix `GH-4`"),
        ("Resolves ENG-7", "> Resolves `ENG-7`"),
        ("fix https://github.com/o/r/issues/1", "> fix `https://github.com/o/r/issues/1`"),
        ("ask https://linear.app/acme/profiles/ana", "> ask `https://linear.app/acme/profiles/ana`"),
        ("see https://linear.app/acme/issue/ENG-7/x", "> see `https://linear.app/acme/issue/ENG-7/x`"),
        ("/close\n/ai stop now", "> `/close`\n> `/ai` stop now"),
        ("<img src=x> a < b <!-- treehand:end -->", "> &lt;img src=x> a < b &lt;!-- treehand:end -->"),
        ("![](https://x/?secret)", "> &#33;[](https://x/?secret)"),
        ("&#64;team &commat;team", "> `&#64;`team `&commat;`team"),
        ("\\@team \\#1", "> `@team` `#1`"),
        ("x`a`@team", "> x`a` `@team`"),
        ("a\x1b[31mb\x1b]0;c\x07\u202ed", "> abd"),
        ("```py\n@x\n```\nafter @team", "> ```py\n> @x\n> ```\n> after `@team`"),
        ("1. do\n   ````\n   ```\n   @x\n   ````", "> 1. do\n> `````\n> ```\n> @x\n> `````".replace("`````", "````")),
        ("```\nnever closed @team", "> ```\n> never closed @team\n> ```"),
        ("`a\n- b` @team `c", "> &#96;a\n> - b` @team `c"),
        ("one\rtwo\u2028three", "> one\n> two\n> three"),
        ("", ""),
    ],
    ids=ascii,
)
def test_t18_a_quotation_reads_the_same_and_does_nothing(words: str, quoted: str):
    assert quote(words) == quoted


@settings(max_examples=150)
@given(texts)
def test_t18_nothing_leaves_the_quotation(words: str):
    quoted = quote(words)
    assert all(part.startswith(">") for part in quoted.splitlines())
    blocks = GITHUB.parse(f"before\n\n{quoted}\n\nafter")
    assert [block.content for block in blocks if block.level == 1 and block.type == "inline"] == ["before", "after"]
    assert closed_by(quoted) == ()
    assert ours_in(body_with(quoted)).replace(" ", ":") == quoted.replace(" ", ":")  # but for a marker of ours in code


@settings(max_examples=150)
@given(texts)
def test_t18_quoted_words_notify_nobody_close_nothing_load_nothing_and_hide_nothing(words: str):
    quoted = quote(words)
    assert not {one.type for one in rendered(quoted)} & {"html_block", "html_inline", "image"}
    assert not MENTION.search(words_in(quoted)), words_in(quoted)
    assert not NUMBER.search(words_in(quoted)), words_in(quoted)
    assert not re.search(r"(?m)^\s*/(?:close|ai)(?![\w/.-])", words_in(quoted))
    assert all(letter.isprintable() or letter in "\n\t" for letter in quoted)


@settings(max_examples=100)
@given(texts)
def test_t18_on_one_line_as_well_and_twice_is_once(words: str):
    told = line(words)
    assert "\n" not in told
    assert not {one.type for one in rendered(f"Now: {told}")} & {"html_block", "html_inline", "image"}
    assert not MENTION.search(words_in(f"Now: {told}"))


@settings(max_examples=100)
@given(texts)
def test_t18_nothing_inside_ends_a_fence_of_ours(words: str):
    fences = [block for block in GITHUB.parse(f"{fence(words)}\n\nafter") if block.type == "fence"]
    assert len(fences) == 1
    assert GITHUB.parse(f"{fence(words)}\n\nafter")[-2].content == "after"


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("Fix #12: crash for @team", "Fix 12: crash for team"),
        ("fixes: https://github.com/o/r/issues/1", "fixes: github.com/o/r/issues/1"),
        ("closes ENG-7, fixes acme/shop#3, resolve GH-2", "closes ENG 7, fixes acme/shop 3, resolve GH 2"),
        ("[skip ci] [CI Skip] ***NO_CI*** x", "(skip ci) (CI Skip) (NO_CI) x"),
        ("Mail a@b.example about 2-3 things, see #4", "Mail a@b.example about 2-3 things, see #4"),
        ("two\nlines\u202e", "two lines"),
    ],
)
def test_t18_titles_and_subjects_stay_plain(title: str, left: str):
    assert plain(title) == left


def test_t18_names_stay_between_our_ticks():
    assert inline("lint`</b>\n@all") == "lint/b @all"
    assert short("`@all` #1") == "all #1"
    assert code("a`b|c\n\x1b[0m") == "`a'b¦c`"
    assert harmless("a\n\nb") == "a\n\nb"

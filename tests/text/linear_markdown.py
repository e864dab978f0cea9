"""Reads Markdown as Linear does, with another parser than GitHub's, and names elements that have an effect there.

Linear turns names of issues, people's addresses and any address into links and mentions, wherever they stand in text.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.text.quote_untrusted import code_span, neutralize, neutralize_line, quote, short_label

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_LIVE_TOKENS = frozenset({"image", "link_open", "html_inline", "html_block", "table_open", "hr", "heading_open"})
_LANGUAGES_DRAWN = frozenset({"mermaid", "math", "latex"})
_IN_WORDS = {
    "mention": re.compile(r"(?:^|[^A-Za-z0-9_])@[\w\[]"),
    "issue": re.compile(r"(?:^|[^A-Za-z0-9])[A-Z][A-Z0-9]{0,9}-[0-9]", re.IGNORECASE),
    "address": re.compile(
        r"://|[a-z]{2,}://?|(?:^|[^a-z0-9])www\.|[a-z0-9-]{2,}\.[a-z]{2,}(?![a-z.])|[\w.]@\w|mailto:\w", re.IGNORECASE
    ),
    "emoji": re.compile(r":[A-Za-z0-9_+-]+:"),
    "placeholder": re.compile(r"\{[{%]|\[\["),
    "hidden text": re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"),
}
_COLLAPSED = re.compile(r"(?m)^[ >]*(?:\+{3}|>{3}|:{3})")
"""Begins a section that readers do not see until they open it."""


def live_in_linear(markdown: str) -> list[str]:
    """Returns every element that Linear would act on."""
    tokens = _PARSER.parse(markdown)
    return [*_live(tokens), *(["collapsed section"] if _COLLAPSED.search(_without_code(markdown, tokens)) else [])]


def _live(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in _LIVE_TOKENS:
            yield token.tag or token.type
        if token.type == "fence" and token.info.strip().lower() in _LANGUAGES_DRAWN:
            yield f"drawn {token.info}"
        if token.type == "text":
            yield from (what for what, pattern in _IN_WORDS.items() if pattern.search(token.content))
        yield from _live(token.children or ())


def _without_code(markdown: str, tokens: Sequence[Token]) -> str:
    lines = markdown.split("\n")
    for token in tokens:
        if token.type in {"fence", "code_block"} and token.map:
            lines[slice(*token.map)] = [""] * (token.map[1] - token.map[0])
    return "\n".join(lines)


def breaches_in_linear(words: str) -> list[str]:
    """Returns the elements with an effect in any form in which we repeat the text."""
    line = neutralize_line(words)
    forms = {
        "quoted": quote(words),
        "neutralized": neutralize(words),
        "on a line": f"Now: {line}",
        "in a list": f"- {line}",
        "as a name": f"{short_label(words)} has no permission to steer this run, so Treehand ignored the command.",
        "as code": f"`a` {code_span(words)} `b`",
    }
    return [f"{what} {form}" for form, told in forms.items() for what in live_in_linear(told)]

"""Renders Markdown with GitHub's own parser, and names elements that have an effect."""

import re
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

from bot.text.pull_request_section import closed_issues
from bot.text.quote_untrusted import code_span, neutralize, neutralize_line, plain_line, quote, short_label

_EXTENSIONS = ["table", "autolink", "strikethrough", "tasklist"]
_OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_LIBERAL_HTML_TAG
_OPTIONS |= Options.CMARK_OPT_GITHUB_PRE_LANG
_HARMLESS = frozenset({"p", "blockquote", "ul", "ol", "li", "em", "strong", "code", "pre", "br"})
_SHOWN = frozenset({"code", "pre"})
_VOID = frozenset({"br", "img", "hr", "input", "link", "meta"})

_IN_WORDS = {
    "mention": re.compile(r"(?:^|[^A-Za-z0-9_])@[A-Za-z0-9]"),
    "issue": re.compile(r"#[0-9]|(?:^|[^A-Za-z0-9])(?:GH|[A-Z][A-Z0-9]{0,9})-[0-9]", re.IGNORECASE),
    "commit": re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,40}(?![0-9A-Za-z])", re.IGNORECASE),
    "address": re.compile(r"://|(?:^|[^A-Za-z0-9])www\.|[A-Za-z0-9]@[A-Za-z0-9]", re.IGNORECASE),
    "emoji": re.compile(r":[A-Za-z0-9_+-]+:"),
    "formula": re.compile(r"\$"),
    "alert": re.compile(r"\[!\w+\]"),
    "task": re.compile(r"\[[ xX]\]"),
    "command": re.compile(r"(?m)^\s*/[A-Za-z]"),
    "hidden text": re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"),
}
_RAW = {
    "closing word": re.compile(
        r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|complet(?:e[sd]?|ing)|implement(?:s|ed|ing)?)"
        r":?\s+(?:[\w./-]*#[0-9]|[A-Z][A-Z0-9]*-[0-9]|https?://\S*/[0-9])",
        re.IGNORECASE,
    ),
    "skipped check": re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|\*{3}NO_CI", re.IGNORECASE),
    "marker of ours": re.compile("<!-- treehand"),
}
_IN_TITLES = {what: _IN_WORDS[what] for what in ("mention", "issue", "hidden text")}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.live: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _HARMLESS:
            self.live.append(f"<{tag}>")
        if tag == "pre" and attrs and (language := dict(attrs).get("lang")) in {"mermaid", "math", "geojson", "stl"}:
            self.live.append(f"drawn {language}")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_comment(self, data: str) -> None:
        self.live.append("comment")

    def handle_data(self, data: str) -> None:
        if not _SHOWN & set(self._open):
            self.live += [what for what, pattern in _IN_WORDS.items() if pattern.search(data)]


def live_elements(markdown: str) -> list[str]:
    """Returns every element that a reader's browser, GitHub or another service would act on."""
    page = _Page()
    page.feed(cmarkgfm.markdown_to_html_with_extensions(_encodable(markdown), options=_OPTIONS, extensions=_EXTENSIONS))
    page.close()
    raw = [what for what, pattern in _RAW.items() if pattern.search(markdown)]
    return [*page.live, *raw, *(f"closes {key}" for key in closed_issues(markdown))]


def _encodable(markdown: str) -> str:
    return markdown.encode(errors="replace").decode()


def breaches_of(words: str) -> list[str]:
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
    found = [f"{what} {form}" for form, told in forms.items() for what in live_elements(told)]
    outside = [one for one in forms["quoted"].split("\n") if one and not one.startswith(">")]
    title = plain_line(words)
    named = [what for what, pattern in {**_RAW, **_IN_TITLES}.items() if pattern.search(title)]
    return [*found, *(f"{one!r} outside" for one in outside), *(f"{what} in a title" for what in named)]

"""Renders Markdown of agents and people on a terminal. Imports rich: for terminals only.

Rule: the parser is that of the dashboard, so links, images and HTML stay text, and no word gets lost.
"""

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownContext, MarkdownElement
from rich.padding import Padding
from rich.text import Text

from bot.web.markdown import LONGEST_MARKED, code_of, inline_tokens_of, tokens_of

_WIDEST = 100
_STYLES = {"strong": "bold", "em": "italic", "code_inline": "cyan"}


def render_markdown(text: str, width: int) -> Padding:
    """Indents everything, so that no text looks like a line of Treehand."""
    shown = _Markdown(text) if len(text) <= LONGEST_MARKED else Text(text)
    return Padding(shown, (0, max(width - _WIDEST, 0), 0, 2))


def render_line(text: str) -> Text:
    """Renders bold, italic and code of a line."""
    line, style = Text(), [""]
    for token in inline_tokens_of(text):
        if token.nesting > 0:
            style.append(_STYLES.get(token.type.removesuffix("_open"), style[-1]))
        elif token.nesting < 0:
            style.pop()
        else:
            line.append(token.content or " ", _STYLES.get(token.type, style[-1]))
    return line


class _Heading(Heading):
    """Bold, without the frames of the library."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _Code(MarkdownElement):
    def __init__(self, code: str) -> None:
        self._code = code

    @classmethod
    def create(cls, markdown: Markdown, token: object) -> "_Code":  # noqa: ARG003
        return cls(code_of(token))  # type: ignore[arg-type]

    def on_text(self, context: MarkdownContext, text: object) -> None:
        """Ignores the text: `create` has read it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(self._code.rstrip("\n"), "cyan"), (0, 0, 0, 2))


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _Heading, "fence": _Code, "code_block": _Code}

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = list(tokens_of(text))

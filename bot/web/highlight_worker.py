"""Syntax highlighting worker: a process that colours code with Pygments, so a hostile file blocks only this process.

Rule: it imports nothing of ours. Each input line is JSON with a file's name and text; each output line is JSON with the
colours: for every line of the text, pairs of a length and a colour. A text that takes too long ends the process.
"""

import json
import resource
import signal
import sys
from collections.abc import Iterator

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Keyword, Literal, Name, Number, String, Token
from pygments.util import ClassNotFound

_SECONDS = 3
_BYTES = 1_500_000_000
_COLOURS = {
    Comment: "c", Keyword: "k", String: "s", Number: "n", Literal: "n", Name.Function: "f", Name.Class: "f",
    Name.Builtin: "b", Name.Decorator: "d", Name.Tag: "k", Name.Attribute: "b", Name.Namespace: "f", Keyword.Type: "b",
    Name.Constant: "n", Name.Variable: "b", Name.Exception: "f",
}  # fmt: skip
"""A token type that is missing here takes the colour of its nearest parent."""

_Colour = tuple[int, str]


def highlight(name: str, text: str) -> list[list[_Colour]] | None:
    """Returns None if Pygments has no lexer for the file."""
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        return None
    lines: list[list[_Colour]] = [[]]
    for colour, value in _tokens(lexer, text):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((len(part), colour))
    return lines


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Yields every character unchanged; the lexer's `get_tokens` would change line ends."""
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        while kind not in _COLOURS and kind is not Token:
            kind = kind.parent  # noqa: PLW2901 - up the tree
        yield _COLOURS.get(kind, ""), value


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    for line in sys.stdin:
        request = json.loads(line)
        signal.alarm(_SECONDS)
        answer = highlight(request["name"], request["text"])
        signal.alarm(0)
        sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Colours code, as a program of its own: whatever a file makes of the lexer, only this process waits, and not for long.

Rule: imports nothing of ours, is given names and texts on its input, a line of JSON each, and answers with a line each:
for every line of the text how many letters have which colour. A text that takes too long ends it.
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
"""The one of the nearest parent counts."""

_Run = tuple[int, str]


def paint(name: str, text: str) -> list[list[_Run]] | None:
    """None: nobody knows this kind of file."""
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        return None
    lines: list[list[_Run]] = [[]]
    for colour, value in _tokens(lexer, text):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((len(part), colour))
    return lines


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Every letter of the text, as it is: the lexer's own entrance would change line ends."""
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        while kind not in _COLOURS and kind is not Token:
            kind = kind.parent  # noqa: PLW2901 - up the tree
        yield _COLOURS.get(kind, ""), value


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    for line in sys.stdin:
        asked = json.loads(line)
        signal.alarm(_SECONDS)
        answer = paint(asked["name"], asked["text"])
        signal.alarm(0)
        sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

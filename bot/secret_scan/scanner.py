"""Finds secrets in what is about to leave: those the host knows, however they are spelled, and what looks like one.

Rule: says which secret, and in which line; never its value.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

from bot.secret_scan import named_secrets as assignments
from bot.secret_scan import token_patterns as patterns
from bot.secret_scan.encodings import contiguous, spellings, squeezed, views_of
from bot.secret_scan.grams import Grams
from bot.secret_scan.unpack import layers_of

LEAST = 8
"""Letters of a secret: what is shorter stands in any text."""
_LEAST_PIECE = 16
_LEAST_LINE = 16
_MOST_LEARNED = 64
"""What is minted lives for an hour."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    kind: str
    """What it looks like: `GitHub token`, `password`, ..."""
    line: int
    """Of those that were looked at, from 1."""


class Secrets:
    """What the host knows, by name. It may `learn` more while it runs: whoever holds it finds that too from then on."""

    def __init__(self, known: Mapping[str, str] = MappingProxyType({})) -> None:
        self._known = [(name, value) for name, value in known.items() if len(value) >= LEAST]
        self._learned: list[tuple[str, str]] = []
        self._index()

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in (*self._known, *self._learned)))

    def learn(self, name: str, value: str) -> None:
        """One more, that was made while running. Of those the oldest are forgotten in time."""
        if len(value) < LEAST or (name, value) in (*self._known, *self._learned):
            return
        self._learned.append((name, value))
        if len(self._learned) > 2 * _MOST_LEARNED:
            self._learned = self._learned[-_MOST_LEARNED:]
            self._index()
        else:
            self._add(name, value)

    def keep(self, name: str, value: str) -> None:
        """One more, that is never forgotten."""
        if len(value) >= LEAST and (name, value) not in self._known:
            self._known.append((name, value))
            self._add(name, value)

    def find(self, text: str) -> tuple[str, ...]:
        """The names of those that are in it, in any of the usual encodings."""
        return self.find_in(text.encode(errors="ignore"))

    def find_in(self, content: bytes) -> tuple[str, ...]:
        """The same in a file, also in UTF-16, and in what is packed inside it."""
        if not (self._known or self._learned) or len(content) < LEAST:
            return ()
        found: set[str] = set()
        for layer in layers_of(content):
            for view in views_of(layer):
                found |= self._seen_in(view)
        return tuple(name for name in self.names if name in found)

    def given_away(self, text: str) -> tuple[str, ...]:
        """What a text holds that is to stay here: by name, or what it looks like."""
        return self.find(text) or tuple(dict.fromkeys(one.kind for one in suspicious(text.splitlines())))

    def redact(self, text: str) -> str:
        """Without those that stand in it as one piece, plain or encoded."""
        likely = self._whole.likely_in(squeezed(text.encode(errors="ignore")))
        for spelling, name in sorted(likely, key=_longest):
            if spelling in text:
                text = text.replace(spelling, f"[redacted: {name}]")
        return text

    def _seen_in(self, view: bytes) -> set[str]:
        return {name for piece, name in self._pieces.likely_in(view) if piece in view}

    def _index(self) -> None:
        self._pieces: Grams[tuple[bytes, str]] = Grams()
        self._whole: Grams[tuple[str, str]] = Grams()
        for name, value in (*self._known, *self._learned):
            self._add(name, value)

    def _add(self, name: str, value: str) -> None:
        lines = _random_lines(value)
        for one in lines or (value,):
            self._expect_whole(name, one)
            for spelling in spellings(one):
                self._expect(name, spelling, in_parts=not lines)

    def _expect(self, name: str, spelling: bytes, *, in_parts: bool) -> None:
        for piece in _pieces(spelling) if in_parts else (spelling,):
            if len(piece) >= LEAST:
                self._pieces.add(piece, (piece, name))

    def _expect_whole(self, name: str, value: str) -> None:
        for spelling in contiguous(value):
            if len(spelling) >= LEAST:
                self._whole.add(squeezed(spelling.encode()), (spelling, name))


def suspicious(lines: Iterable[str]) -> tuple[Suspicion, ...]:
    """What looks like a secret, in lines that are new: by its maker's pattern, or by the name it is given."""
    text, ends = _joined(lines)
    found = {(bisect_right(ends, at) + 1, kind) for kind, at in (*patterns.find_all(text), *assignments.find_all(text))}
    return tuple(Suspicion(kind, line) for line, kind in sorted(found))


def _joined(lines: Iterable[str]) -> tuple[str, list[int]]:
    """One text, and where each line ends in it."""
    flat = [line.rstrip("\r\n") for line in lines]
    return "\n".join(flat), list(accumulate(len(line) + 1 for line in flat))


def _random_lines(value: str) -> tuple[str, ...]:
    """Those of a private key that are the key; its first and last are the same in all."""
    lines = [line.strip() for line in value.splitlines()] if "\n" in value.strip() else []
    return tuple(
        line for line in lines if len(line) >= _LEAST_LINE and " " not in line and not line.startswith("-----")
    )


def _pieces(spelling: bytes) -> Iterator[bytes]:
    """Half of a secret is one too: parts that overlap so that some whole one is in any longer part of it."""
    size = max(_LEAST_PIECE, len(spelling) // 2)
    for start in range(0, max(len(spelling) - size, 0) + 1, max(size // 4, 1)):
        yield spelling[start : start + size]
    yield spelling[-size:]


def _longest(replacement: tuple[str, str]) -> int:
    return -len(replacement[0])

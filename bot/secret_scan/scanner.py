"""Secret scanner: finds known secrets in any encoding, and values that look like secrets, in outgoing text and files.

Rule: reports the name and the line of a secret, never its value.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Generic, Self, TypeVar

from bot.secret_scan import named_secrets, token_patterns
from bot.secret_scan.encodings import literal_encodings, normalize, normalized_encodings, normalized_readings
from bot.secret_scan.unpack import UnpackBudget, Unpacking

NOT_SEARCHED = "the search for secrets was not completed: too many packed parts"
SHORTEST_SECRET = 8
"""Characters; a shorter value appears in any text by chance."""
_SHORTEST_PIECE = 16
_SHORTEST_LINE = 16
_LEARNED_LIMIT = 64
"""Tokens of a GitHub App are valid for an hour, so old ones can be forgotten."""


_WORD_BYTES = 8
_Meaning = TypeVar("_Meaning")


@dataclass(frozen=True, slots=True)
class SecretFinding:
    kind: str
    """`GitHub token`, `password`, ..."""
    line: int
    """Line number, from 1."""


@dataclass(frozen=True, slots=True)
class SecretSearch:
    """Names of the secrets found in a file."""

    names: tuple[str, ...] = ()
    is_complete: bool = True
    """False if it has more packed parts than are unpacked."""

    @property
    def problem(self) -> str:
        """Why the file may not leave, in words; empty if it may."""
        return f"contains {', '.join(self.names)}" if self.names else "" if self.is_complete else NOT_SEARCHED


class Secrets:
    """Secrets the host knows, by name. `learn` adds more while the daemon runs."""

    def __init__(self, known: Mapping[str, str] = MappingProxyType({})) -> None:
        self._known = [(name, value) for name, value in known.items() if len(value) >= SHORTEST_SECRET]
        self._learned: list[tuple[str, str]] = []
        self._index()

    @classmethod
    def of(cls, values: Iterable[tuple[str, str]]) -> Self:
        """Makes the same secrets of their `values`."""
        made = cls()
        made._known = list(values)
        made._index()
        return made

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in (*self._known, *self._learned)))

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """Names with their values, to make the same secrets in another process."""
        return (*self._known, *self._learned)

    def learn(self, name: str, value: str) -> None:
        """Adds a secret created at run time; the oldest of these are forgotten."""
        if len(value) < SHORTEST_SECRET or (name, value) in (*self._known, *self._learned):
            return
        self._learned.append((name, value))
        if len(self._learned) > 2 * _LEARNED_LIMIT:
            self._learned = self._learned[-_LEARNED_LIMIT:]
            self._index()
        else:
            self._add(name, value)

    def keep(self, name: str, value: str) -> None:
        """Adds a secret that is never forgotten."""
        if len(value) >= SHORTEST_SECRET and (name, value) not in self._known:
            self._known.append((name, value))
            self._add(name, value)

    def find(self, text: str) -> tuple[str, ...]:
        """Returns the names of the secrets in it, in any of the usual encodings."""
        return self.find_in(text.encode(errors="ignore"))

    def find_in(self, content: bytes) -> tuple[str, ...]:
        """Does the same for a file, including UTF-16 and compressed parts."""
        return self.search(content, UnpackBudget()).names

    def search(self, content: bytes, budget: UnpackBudget) -> SecretSearch:
        """Searches one of several files that share a budget."""
        if not (self._known or self._learned) or len(content) < SHORTEST_SECRET:
            return SecretSearch()
        found: set[str] = set()
        unpacking = Unpacking(content, budget)
        for layer in unpacking.layers():
            for view in normalized_readings(layer):
                found |= self._seen_in(view)
        return SecretSearch(tuple(name for name in self.names if name in found), unpacking.is_complete)

    def find_any(self, text: str) -> tuple[str, ...]:
        """Returns the names of known secrets in it, or else the kinds of values that look like secrets."""
        return self.find(text) or tuple(dict.fromkeys(one.kind for one in find_suspicious(text.splitlines())))

    def redact(self, text: str) -> str:
        """Replaces each secret that appears unbroken, plain or encoded."""
        likely = self._whole.likely_in(normalize(text.encode(errors="ignore")))
        for spelling, name in sorted(likely, key=_longest):
            if spelling in text:
                text = text.replace(spelling, f"[redacted: {name}]")
        return text

    def _seen_in(self, view: bytes) -> set[str]:
        return {name for piece, name in self._pieces.likely_in(view) if piece in view}

    def _index(self) -> None:
        self._pieces: TextIndex[tuple[bytes, str]] = TextIndex()
        self._whole: TextIndex[tuple[str, str]] = TextIndex()
        for name, value in (*self._known, *self._learned):
            self._add(name, value)

    def _add(self, name: str, value: str) -> None:
        lines = _random_lines(value)
        for one in lines or (value,):
            self._expect_whole(name, one)
            for spelling in normalized_encodings(one):
                self._expect(name, spelling, in_parts=not lines)

    def _expect(self, name: str, spelling: bytes, *, in_parts: bool) -> None:
        for piece in _pieces(spelling) if in_parts else (spelling,):
            if len(piece) >= SHORTEST_SECRET:
                self._pieces.add(piece, (piece, name))

    def _expect_whole(self, name: str, value: str) -> None:
        for spelling in literal_encodings(value):
            if len(spelling) >= SHORTEST_SECRET:
                self._whole.add(normalize(spelling.encode()), (spelling, name))


def find_suspicious(lines: Iterable[str]) -> tuple[SecretFinding, ...]:
    """Finds values that look like secrets, by their token pattern or by their name."""
    text, ends = _joined(lines)
    found = {
        (bisect_right(ends, at) + 1, kind)
        for kind, at in (*token_patterns.find_tokens(text), *named_secrets.find_named_secrets(text))
    }
    return tuple(SecretFinding(kind, line) for line, kind in sorted(found))


def _joined(lines: Iterable[str]) -> tuple[str, list[int]]:
    """Returns one text and the position of each line end."""
    flat = [line.rstrip("\r\n") for line in lines]
    return "\n".join(flat), list(accumulate(len(line) + 1 for line in flat))


def _random_lines(value: str) -> tuple[str, ...]:
    """Returns the lines of a private key without its header and footer, which all keys share."""
    lines = [line.strip() for line in value.splitlines()] if "\n" in value.strip() else []
    return tuple(
        line for line in lines if len(line) >= _SHORTEST_LINE and " " not in line and not line.startswith("-----")
    )


def _pieces(spelling: bytes) -> Iterator[bytes]:
    """Yields overlapping parts, so that half of a secret is found as well."""
    size = max(_SHORTEST_PIECE, len(spelling) // 2)
    for start in range(0, max(len(spelling) - size, 0) + 1, max(size // 4, 1)):
        yield spelling[start : start + size]
    yield spelling[-size:]


def _longest(replacement: tuple[str, str]) -> int:
    return -len(replacement[0])


class TextIndex(Generic[_Meaning]):
    """Tells quickly which of very many pieces may occur in a text, by comparing machine words.

    Rule: a piece of 15 bytes or more holds one aligned word of any text it occurs in.
    """

    def __init__(self) -> None:
        self._by_word: dict[int, set[_Meaning]] = {}
        self._always: set[_Meaning] = set()
        """Meanings of the pieces that are too short for the index."""

    def add(self, piece: bytes, meaning: _Meaning) -> None:
        if len(piece) < 2 * _WORD_BYTES - 1:
            self._always.add(meaning)
        for at in range(len(piece) - _WORD_BYTES + 1):
            word = int.from_bytes(piece[at : at + _WORD_BYTES], sys.byteorder)
            self._by_word.setdefault(word, set()).add(meaning)

    def likely_in(self, text: bytes) -> AbstractSet[_Meaning]:
        words = memoryview(text[: len(text) // _WORD_BYTES * _WORD_BYTES]).cast("Q")
        known = self._by_word.keys()
        if known.isdisjoint(words):
            return self._always
        return self._always.union(*(self._by_word[word] for word in known & set(words)))

"""Tells quickly which of very many pieces may stand in a text, by comparing it a machine word at a time.

Rule: a piece of 15 bytes or more holds one whole word of any text it stands in, wherever the words begin.
"""

import sys
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

_WORD = 8
_Meaning = TypeVar("_Meaning")


class Grams(Generic[_Meaning]):
    def __init__(self) -> None:
        self._by_word: dict[int, set[_Meaning]] = {}
        self._always: set[_Meaning] = set()
        """What pieces mean that are too short for this."""

    def add(self, piece: bytes, meaning: _Meaning) -> None:
        if len(piece) < 2 * _WORD - 1:
            self._always.add(meaning)
        for at in range(len(piece) - _WORD + 1):
            word = int.from_bytes(piece[at : at + _WORD], sys.byteorder)
            self._by_word.setdefault(word, set()).add(meaning)

    def likely_in(self, text: bytes) -> AbstractSet[_Meaning]:
        words = memoryview(text[: len(text) // _WORD * _WORD]).cast("Q")
        known = self._by_word.keys()
        if known.isdisjoint(words):
            return self._always
        return self._always.union(*(self._by_word[word] for word in known & set(words)))

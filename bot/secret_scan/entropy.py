"""Distinguishes random values from placeholders."""

import re
from collections import Counter
from math import log2

_WORDS = re.compile(
    r"example|placeholder|change_?-?me|your[-_]|[-_]here|dummy|fake|sample|redacted|xxxx|todo|insert|replace"
    r"|not[-_]?(?:a[-_]?)?real|lorem|foobar|hunter2|letmein|qwerty|secret|passw|12345|98765|abcde|deadbeef|cafebabe|00000|none|null"
    r"|undefined|\*\*\*|\.\.\.|…|[$%]\{|\{\{|\$\(|<|>|%s|test|demo|mock|default|token|canary",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_REPEATED = re.compile(r"(.)\1{5}|(.{2,6}?)\2{3}")
_LETTERS = 8
_SURE, _SHORT_WORD = 60, 4
"""A value longer than the first may contain a word up to the second by chance."""


def is_placeholder(value: str) -> bool:
    """Returns True if it contains an example word, repeats itself, or has few different characters."""
    if _REPEATED.search(value[:200]) or len(set(value)) < min(_LETTERS, len(value) * 2 / 3):
        return True
    word = _WORDS.search(value)
    return word is not None and (len(value) <= _SURE or len(word.group()) > _SHORT_WORD)


def is_uuid(value: str) -> bool:
    return bool(_UUID.fullmatch(value))


def entropy(value: str) -> float:
    """Returns bits per character, estimated from the value itself."""
    return -sum(count / len(value) * log2(count / len(value)) for count in Counter(value).values())


def is_random(value: str) -> bool:
    """Returns True if it mixes letters and digits as no readable name does."""
    has_digits, has_letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    is_base64 = ("+" in value or "/" in value) and not (value.islower() or value.isupper())
    if not has_letters or not (has_digits or is_base64):
        return False
    hexadecimal = all(letter in "0123456789abcdefABCDEF" for letter in value)
    return entropy(value) >= (3.0 if hexadecimal else min(3.5, log2(len(value)) - 0.7))

"""Finds random values assigned to a name such as secret, token, password or key.

Rule: both the name and the value must match: lock files, hashes and pictures are full of random values.
"""

import re
from collections.abc import Iterator

from bot.secret_scan.entropy import entropy, is_placeholder, is_random, is_uuid

_KEYS = ("api", "access", "auth", "private", "signing", "encryption", "master")
_NAMES = (
    *("secret", "token", "passwd", "password", "passphrase", "passcode", "pwd"),
    *("credential", "authorization", "bearer"),
    *(f"{kind}{joint}key" for kind in _KEYS for joint in ("", "_", "-")),
)
_ASSIGNED = re.compile(
    r"([A-Za-z0-9_.-]{0,30})"
    r"(?:['\"`]?\]?[ \t]{0,8}(?::=|=>|={1,3}|:)[ \t]{0,8}(?:bearer |basic |token )?|[ \t]{1,4})"
    r"(?:[bfru]{0,2}(['\"`])([^'\"`\s]{12,300})\2|([^'\"`\s,;(){}\[\]<>&|#=]{12,300}={0,2})(?=[\s,;&#<'\"`]|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""The assignment that follows such a name."""
_CODE = re.compile(r"^[\w$]+(?:\.[\w$]+)+$|^[/~.]|://|[(){}\[\]<>\\|]|^\$")
"""A member of something, a path, an address, a call."""
_PUBLIC_NAME = re.compile(
    r"hash|digest|fingerprint|public|checksum|sha\d|integrity|_id|[a-z]Id$|_len|length|name|url|uri|type", re.IGNORECASE
)
_CAMEL_CASE_WORD, _READABLE_SHARE = re.compile(r"[A-Z]?[a-z]{2,}"), 0.7
_SHORT_PART = 3
_PASSWORD_CLASSES, _PASSWORD_BITS = 3, 2.9
_SHORTEST_KEY = 16


def find_named_secrets(text: str) -> Iterator[tuple[str, int]]:
    """Yields the kind of each secret and its position in the text."""
    lower = text.replace("\u0130", "i").lower()  # lower-casing lengthens only this letter
    for name in _NAMES:
        at = lower.find(name)
        while at >= 0:
            end = at + len(name)
            if _is_secret_assignment(name, _ASSIGNED.match(text, end)):
                yield f"{_label(name)} by its name", at
            at = lower.find(name, end)


def _is_secret_assignment(name: str, match: re.Match[str] | None) -> bool:
    if match is None:
        return False
    rest, _, quoted, bare = match.groups()
    return not _PUBLIC_NAME.search(rest) and _is_secret(name, quoted or bare)


def _label(name: str) -> str:
    return "password" if name.startswith(("pass", "pwd")) else name.replace("_", " ").replace("-", " ")


def _is_secret(name: str, value: str) -> bool:
    if is_uuid(value) or _CODE.search(value) or not (_is_password(name, value) or _is_key(value)):
        return False
    return not is_placeholder(value)  # last, because it is the slowest check


def _is_password(name: str, value: str) -> bool:
    return _label(name) == "password" and _classes(value) >= _PASSWORD_CLASSES and entropy(value) >= _PASSWORD_BITS


def _is_key(value: str) -> bool:
    return len(value) >= _SHORTEST_KEY and is_random(value) and not _is_words(value)


def _classes(value: str) -> int:
    kinds = (str.islower, str.isupper, str.isdigit, lambda letter: not letter.isalnum())
    return sum(any(kind(letter) for letter in value) for kind in kinds)


def _is_words(value: str) -> bool:
    """Returns True if it consists of readable words, such as `my-app-v2-settings`."""
    parts = re.split(r"[-_.:/ ]", value)
    return all(len(part) <= _SHORT_PART or _is_word(part) for part in parts)


def _is_word(part: str) -> bool:
    if part.isalpha() and (part.islower() or part.isupper()):
        return True
    spoken = sum(len(word) for word in _CAMEL_CASE_WORD.findall(part))
    return part.isalnum() and not part.islower() and spoken >= _READABLE_SHARE * len(part)

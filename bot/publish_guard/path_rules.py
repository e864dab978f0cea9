"""What file systems make of a path: spellings of one and the same file, and names some cannot hold. Pure."""

import re
import unicodedata
from functools import lru_cache

from bot.text.visible import is_unseen

LONGEST_NAME = 255
"""Bytes; more no file system holds."""

_ENDS = ". "
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)", re.IGNORECASE)
# eight letters, a dot, three letters: what Windows calls a file besides its own name
_SHORT = re.compile(r"(?=[^.]{3,8}(?:\.|$))[^.~]+~\d+(?:\.[^.]{0,3})?")
_NOT_IN_NAMES = frozenset('<>:"|?*\\')
_LINES = frozenset({"Zl", "Zp"})
_PLAIN = re.compile(r"(?=[^.]{5,100}+\.)[A-Za-z_][\w-]*+(?:\.[\w-]++)*+", re.ASCII)
"""Most names; no device is called so."""


@lru_cache(maxsize=100_000)
def canonical(path: str) -> str:
    """Paths that some file system takes for the same file have the same."""
    return "/".join(part for part in map(_canonical_name, path.replace("\\", "/").split("/")) if part)


def _canonical_name(name: str) -> str:
    if name in {".", ".."}:
        return name
    if not name.isascii():
        # folding first: some capital letters fold into ones that are still to be composed
        folded = unicodedata.normalize("NFKC", name).casefold()
        seen = "".join(letter for letter in folded if not is_unseen(letter) or _is_byte(letter))
        name = unicodedata.normalize("NFKC", seen)
    return name.casefold().partition(":")[0].rstrip(_ENDS)


def find_fault(name: str) -> str:
    """Why a file had better not be called so; empty: nothing speaks against it."""
    if len(name) < LONGEST_NAME and _PLAIN.fullmatch(name):
        return ""
    checks = (
        (any(map(_is_byte, name)), "not UTF-8"),
        (any(unicodedata.category(letter) == "Cc" for letter in name), "has a control character in it"),
        (any(map(_is_hidden, name)), "has a hidden character in it"),
        (len(name.encode(errors="surrogateescape")) > LONGEST_NAME, f"longer than {LONGEST_NAME} bytes"),
        (name != name.rstrip(_ENDS), "ends in a dot or a space, which Windows leaves away"),
        (bool(_NOT_IN_NAMES & set(name)), "has a character in it that Windows does not allow"),
        (_RESERVED.fullmatch(name.partition(".")[0].rstrip()), "stands for a device on Windows"),
        (_SHORT.fullmatch(name), "may be another file's short name on Windows"),
    )
    return next((why for is_so, why in checks if is_so), "")


def _is_hidden(letter: str) -> bool:
    return not _is_byte(letter) and (is_unseen(letter) or unicodedata.category(letter) in _LINES)


def _is_byte(letter: str) -> bool:
    """It stands for a byte that is no text."""
    return "\udc80" <= letter <= "\udcff"

"""Path rules of file systems: canonical spelling of a path, and names that some cannot store. Pure."""

import re
import unicodedata
from functools import lru_cache

from bot.text.invisible_characters import is_invisible

MAX_NAME_BYTES = 255
"""Longest file name in bytes."""

_ENDS = ". "
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)", re.IGNORECASE)
# Windows' short names: eight letters, a dot, three letters
_SHORT = re.compile(r"(?=[^.]{3,8}(?:\.|$))[^.~]+~\d+(?:\.[^.]{0,3})?")
_NOT_IN_NAMES = frozenset('<>:"|?*\\')
_LINES = frozenset({"Zl", "Zp"})
_PLAIN = re.compile(r"(?=[^.]{5,100}\.)[A-Za-z_][\w-]*(?:\.[\w-]+)*", re.ASCII)
"""Most names match this and need no further check."""


@lru_cache(maxsize=100_000)
def canonical(path: str) -> str:
    """Returns the same spelling for paths that some file system treats as one file."""
    return "/".join(part for part in map(_canonical_name, path.replace("\\", "/").split("/")) if part)


def _canonical_name(name: str) -> str:
    if name in {".", ".."}:
        return name
    if not name.isascii():
        # fold first: some capital letters fold into letters that still have to be composed
        folded = unicodedata.normalize("NFKC", name).casefold()
        seen = "".join(letter for letter in folded if not is_invisible(letter) or _is_byte(letter))
        name = unicodedata.normalize("NFKC", seen)
    return name.casefold().partition(":")[0].rstrip(_ENDS)


def find_fault(name: str) -> str:
    """Returns why a file name is refused; empty if it is fine."""
    if len(name) < MAX_NAME_BYTES and _PLAIN.fullmatch(name):
        return ""
    checks = (
        (any(map(_is_byte, name)), "not UTF-8"),
        (any(unicodedata.category(letter) == "Cc" for letter in name), "contains a control character"),
        (any(map(_is_hidden, name)), "contains a hidden character"),
        (len(name.encode(errors="surrogateescape")) > MAX_NAME_BYTES, f"longer than {MAX_NAME_BYTES} bytes"),
        (name != name.rstrip(_ENDS), "ends in a dot or a space, which Windows drops"),
        (bool(_NOT_IN_NAMES & set(name)), "contains a character that Windows does not allow"),
        (_RESERVED.fullmatch(name.partition(".")[0].rstrip()), "names a device on Windows"),
        (_SHORT.fullmatch(name), "may be another file's short name on Windows"),
    )
    return next((why for is_so, why in checks if is_so), "")


def _is_hidden(letter: str) -> bool:
    return not _is_byte(letter) and (is_invisible(letter) or unicodedata.category(letter) in _LINES)


def _is_byte(letter: str) -> bool:
    """A surrogate that stands for an undecodable byte."""
    return "\udc80" <= letter <= "\udcff"

"""Reads JSON with comments and with commas before closing brackets, as dev containers have it. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

_LONGEST_TEXT = 128 * 1024
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*|[,\]}]|\s+|[^"/,\]}\s]+|.', re.DOTALL)


def parse_jsonc(text: str) -> Mapping[str, Any]:
    """Returns an empty table if the text is anything else."""
    if len(text) > _LONGEST_TEXT:
        return {}
    try:
        found = json.loads(_without_comments(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _without_comments(text: str) -> str:
    kept: list[str] = []
    comma = -1
    """Place of the last comma, while nothing follows it."""
    at = 0
    while found := _PIECE.match(text, at):
        piece, at = found[0], found.end()
        if piece == '"':
            return ""  # a text without an end; each further quote would be searched to the end as well
        if piece == "/*":
            end = text.find("*/", at)
            at = end + 2 if end >= 0 else len(text)
            continue
        if piece.startswith("//") or piece.isspace():
            continue
        if piece in "]}" and comma >= 0:
            kept[comma] = ""
        comma = len(kept) if piece == "," else -1
        kept.append(piece)
    return "".join(kept)

"""Where in a diff a remark points to."""

import re

from bot.errors import NeedsHuman

CONTEXT = 8
"""Lines of the diff that go with a remark, up to the one it is about."""

_START = re.compile(r"@@ -\S+ \+(\d+)")


def hunk_at(diff: str, path: str, line: int) -> str:
    """The lines of the diff that lead up to a line of the new file; nothing when that line was not touched."""
    for hunk in _hunks(diff, path):
        shown: list[str] = []
        match = _START.match(hunk[0])
        number = int(match[1]) - 1 if match else 0
        for text in hunk[1:]:
            shown.append(text)
            number += not text.startswith(("-", "\\"))
            if number == line and not text.startswith("-"):
                return "\n".join([hunk[0], *shown[-CONTEXT:]])
    return ""


def _hunks(diff: str, path: str) -> list[list[str]]:
    files = re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]
    mine = next((part for part in files if f"\n+++ b/{path}\n" in part or f"\n--- a/{path}\n" in part), None)
    if mine is None:
        raise NeedsHuman(f"{path} is not changed in this pull request.")
    hunks: list[list[str]] = []
    for text in mine.splitlines():
        if _START.match(text):
            hunks.append([])
        if hunks:
            hunks[-1].append(text)
    return hunks

"""Finds and changes single keys in the text of a settings file, and leaves everything else as people wrote it. Pure.

It does not parse TOML itself: it asks which beginnings of the text are complete. So it works by the rules of the parser
that reads the file, and a change that the parser reads in another way is never returned.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MAX_LINES = 2000
"""Each line is parsed with all lines before it."""
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class StatementLines:
    """Lines of one statement, counted from 0; `end` is behind its last line."""

    start: int
    end: int


def find_statement(text: str, place: Sequence[str | int]) -> StatementLines | None:
    """Returns the lines that first define a key, or the header of a table."""
    lines = text.splitlines(keepends=True)[:_MAX_LINES]
    start = 0
    for end in range(1, len(lines) + 1):
        try:
            read = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _has(read, place):
            return StatementLines(start, end)
        start = end
    return None


def line_number(text: str, place: Sequence[str | int]) -> int:
    """Line of a key, or of the innermost table around it; 0 if there is none."""
    for length in range(len(place), 0, -1):
        if found := find_statement(text, place[:length]):
            return found.start + 1
    return 0


def add_to_list(text: str, table: str, key: str, words: Sequence[str]) -> str | None:
    """Adds words to a list in a table. The list or the table may be missing. Returns None if it finds no way."""
    raw = tomllib.loads(text)
    known = raw.get(table, {}).get(key, [])
    new = [word for word in dict.fromkeys(words) if word not in known]
    if not new:
        return text
    wanted = {**raw, table: {**raw.get(table, {}), key: [*known, *new]}}
    for changed in _attempts(text, table, key, new):
        if _means(changed, wanted, table, key):
            return changed
    return None


def add_table(text: str, lines: Sequence[str]) -> str:
    """Appends the lines of a table, with its header."""
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return "".join((text, gap, *(f"{line}\n" for line in lines)))


def remove_table(text: str, table: str, number: int) -> str | None:
    """Removes one table of a list of tables, such as `[[projects]]`. Returns None if it finds no way."""
    found, raw = find_statement(text, (table, number)), tomllib.loads(text)
    if found is None:
        return None
    wanted = {**raw, table: [one for place, one in enumerate(raw[table]) if place != number]}
    lines = text.splitlines(keepends=True)
    for end in range(found.end, len(lines) + 1):
        rest = "".join((*lines[: found.start], *lines[end:]))
        if _reads_as(rest, {key: value for key, value in wanted.items() if key != table or value}):
            return rest
    return None


def _reads_as(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _attempts(text: str, table: str, key: str, new: Sequence[str]) -> Iterator[str]:
    lines, quoted = text.splitlines(keepends=True), [json.dumps(word) for word in new]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    if found := find_statement(text, (table, key)):
        yield from _longer_lists(lines, found, quoted)
        return
    line = f"{key} = [{', '.join(quoted)}]\n"
    if header := find_statement(text, (table,)):
        yield "".join((*lines[: header.end], line, *lines[header.end :]))
        yield "".join((*lines[: header.end], f"{table}.{line}", *lines[header.end :]))
        return
    yield "".join((*lines, *(["\n"] if lines else []), f"[{table}]\n", line))


def _longer_lists(lines: Sequence[str], found: StatementLines, quoted: Sequence[str]) -> Iterator[str]:
    before, after = "".join(lines[: found.start]), "".join(lines[found.end :])
    statement = "".join(lines[found.start : found.end])
    words = ", ".join(quoted)
    if found.end - found.start > 1:
        own = [f"{_INDENT}{word},\n" for word in quoted]
        yield "".join((before, *lines[found.start : found.end - 1], *own, lines[found.end - 1], after))
    for place in _places(statement, "]"):
        head = statement[:place].rstrip()
        comma = "" if head.endswith(("[", ",")) else ","
        space = " " if not head.endswith("[") else ""
        yield f"{before}{head}{comma}{space}{words}{statement[place:]}{after}"
    for place in _places(statement, "["):
        yield f"{before}{statement[: place + 1]}{words}, {statement[place + 1 :].lstrip(' ')}{after}"


def _places(text: str, letter: str) -> Iterator[int]:
    """Yields the places of a letter, the last one first."""
    place = text.rfind(letter)
    while place >= 0:
        yield place
        place = text.rfind(letter, 0, place)


def _means(text: str, wanted: Mapping[str, Any], table: str, key: str) -> bool:
    """True if the text is read as wanted; the order of the list is free."""
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    lists = [read.get(table, {}).get(key, []), wanted[table][key]]
    if sorted(map(str, lists[0])) != sorted(map(str, lists[1])):
        return False
    return {**read, table: {**read[table], key: []}} == {**wanted, table: {**wanted[table], key: []}}


def _has(read: Any, place: Sequence[str | int]) -> bool:
    for part in place:
        known = range(len(read)) if isinstance(read, list) else read if isinstance(read, dict) else ()
        if part not in known:
            return False
        read = read[part]
    return True

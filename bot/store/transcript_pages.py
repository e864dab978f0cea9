"""Reads transcripts page by page, backwards from the end or forwards as they grow.

Rule: positions are byte offsets after a line end, so they stay valid. Unreadable lines are skipped.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bot.domain.transcript import TranscriptLine, TranscriptPage
from bot.domain.turn import Event, EventKind, Todo

PAGE_BYTES = 96 * 1024
_LONGEST_LINE = 4 * 1024 * 1024


def page_before(path: Path, place: int | None = None, *, most: int = PAGE_BYTES) -> TranscriptPage:
    """The whole lines that end there; None: at the end."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            end = _line_end(file, size if place is None else min(place, size))
            begin = max(end - most, 0)
            while begin and (data := _cut(file, begin, end)) == b"" and end - begin < _LONGEST_LINE:
                begin = max(begin - most, 0)
            data = _cut(file, begin, end)
            return _page(file, end - len(data), data)
    except FileNotFoundError:
        return TranscriptPage()


def page_after(path: Path, place: int, *, most: int = PAGE_BYTES) -> TranscriptPage:
    """The whole lines that begin there, as far as they go. A place that is no line's end is the one before it."""
    try:
        with path.open("rb") as file:
            begin = _line_end(file, min(place, file.seek(0, os.SEEK_END)))
            file.seek(begin)
            data = file.read(most)
            while b"\n" not in data and len(data) < _LONGEST_LINE and (more := file.read(most)):
                data += more
            return _page(file, begin, data[: data.rfind(b"\n") + 1])
    except FileNotFoundError:
        return TranscriptPage(place, place)


def lines_of_kind(path: Path, kind: EventKind) -> TranscriptPage:
    """All lines of one kind: nothing else is understood, so that it costs little."""
    sign = f'"kind": "{kind}"'.encode()
    try:
        with path.open("rb") as file:
            found = tuple(one for line in file if sign in line for one in _lines(line, 0) if one.event.kind is kind)
    except FileNotFoundError:
        return TranscriptPage()
    return TranscriptPage(lines=found)


def _page(file: BinaryIO, begin: int, data: bytes) -> TranscriptPage:
    before = ""
    if begin:
        start = _line_end(file, begin - 1)
        file.seek(start)
        before = next((line.turn for line in _lines(file.read(begin - start), start)), "")
    return TranscriptPage(begin, begin + len(data), tuple(_lines(data, begin)), before)


def _line_end(file: BinaryIO, place: int) -> int:
    """The last one that is not after this place."""
    while place > 0:
        start = max(place - 4096, 0)
        file.seek(start)
        found = file.read(place - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        place = start
    return 0


def _cut(file: BinaryIO, begin: int, end: int) -> bytes:
    """Without the line that it begins in the middle of."""
    file.seek(max(begin - 1, 0))
    data = file.read(end - max(begin - 1, 0))
    return data[data.find(b"\n") + 1 or len(data) :] if begin else data


def _lines(data: bytes, place: int) -> Iterator[TranscriptLine]:
    for line in data.splitlines(keepends=True):
        place += len(line)
        try:
            record = json.loads(line)
            yield TranscriptLine(str(record["turn"]), _event(record), place)
        except (ValueError, KeyError, TypeError):
            continue


def _event(record: dict[str, object]) -> Event:
    todos = record.get("todos")
    listed = todos if isinstance(todos, list) else []
    return Event(
        EventKind(str(record["kind"])),
        float(str(record.get("at", 0.0))),
        str(record.get("text", "")),
        str(record.get("tool", "")),
        str(record.get("id", "")),
        tuple(Todo(str(one["text"]), done=bool(one["done"]), active=bool(one["active"])) for one in listed),
        int(str(record.get("tokens", 0))),
        float(str(record.get("session_cost_usd", 0.0))),
    )

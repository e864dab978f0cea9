"""Reads transcripts piece by piece, from the end backwards or as they grow: nobody has to hold a whole one.

Rule: places are byte offsets after a line end, so they mean the same tomorrow. What cannot be read is left out.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bot.domain.transcript import Spoken, Stretch
from bot.domain.turn import Event, EventKind, Todo

STRETCH_BYTES = 96 * 1024
_LONGEST_LINE = 4 * 1024 * 1024


def stretch_before(path: Path, place: int | None = None, *, most: int = STRETCH_BYTES) -> Stretch:
    """The whole lines that end there; None: at the end."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            end = _line_end(file, size if place is None else min(place, size))
            begin = max(end - most, 0)
            while begin and (data := _cut(file, begin, end)) == b"" and end - begin < _LONGEST_LINE:
                begin = max(begin - most, 0)
            data = _cut(file, begin, end)
            return _stretch(file, end - len(data), data)
    except FileNotFoundError:
        return Stretch()


def stretch_after(path: Path, place: int, *, most: int = STRETCH_BYTES) -> Stretch:
    """The whole lines that begin there, as far as they go. A place that is no line's end is the one before it."""
    try:
        with path.open("rb") as file:
            begin = _line_end(file, min(place, file.seek(0, os.SEEK_END)))
            file.seek(begin)
            data = file.read(most)
            while b"\n" not in data and len(data) < _LONGEST_LINE and (more := file.read(most)):
                data += more
            return _stretch(file, begin, data[: data.rfind(b"\n") + 1])
    except FileNotFoundError:
        return Stretch(place, place)


def stretch_of(path: Path, kind: EventKind) -> Stretch:
    """All lines of one kind: nothing else is understood, so that it costs little."""
    sign = f'"kind": "{kind}"'.encode()
    try:
        with path.open("rb") as file:
            found = tuple(one for line in file if sign in line for one in _lines(line, 0) if one.event.kind is kind)
    except FileNotFoundError:
        return Stretch()
    return Stretch(lines=found)


def _stretch(file: BinaryIO, begin: int, data: bytes) -> Stretch:
    before = ""
    if begin:
        start = _line_end(file, begin - 1)
        file.seek(start)
        before = next((line.turn for line in _lines(file.read(begin - start), start)), "")
    return Stretch(begin, begin + len(data), tuple(_lines(data, begin)), before)


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


def _lines(data: bytes, place: int) -> Iterator[Spoken]:
    for line in data.splitlines(keepends=True):
        place += len(line)
        try:
            told = json.loads(line)
            yield Spoken(str(told["turn"]), _event(told), place)
        except (ValueError, KeyError, TypeError):
            continue


def _event(told: dict[str, object]) -> Event:
    todos = told.get("todos")
    listed = todos if isinstance(todos, list) else []
    return Event(
        EventKind(str(told["kind"])),
        float(str(told.get("at", 0.0))),
        str(told.get("text", "")),
        str(told.get("tool", "")),
        str(told.get("id", "")),
        tuple(Todo(str(one["text"]), done=bool(one["done"]), active=bool(one["active"])) for one in listed),
        int(str(told.get("tokens", 0))),
        float(str(told.get("session_cost_usd", 0.0))),
    )

"""One page of a file's diff: reads the patch, cuts the rows of this page and colours them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bot.domain.diff_view import FileDiff, FileVersion
from bot.domain.run import Run
from bot.status.interface import RunDetailsReader
from bot.web.highlight import LARGEST, Highlighter
from bot.web.run.diff_rows import ColouredText, DiffLine, DiffPiece, DiffRow, pieces_of, side_by_side, unified

ROWS = 300
"""Rows of one page."""
_SPLIT = "split"


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A line on one side of the diff."""

    line: DiffLine
    pieces: Sequence[DiffPiece]

    @property
    def kind(self) -> str:
        return {"+": "add", "-": "del"}.get(self.line.sign, "same")


@dataclass(frozen=True, slots=True)
class DiffPage:
    rows: Sequence[tuple[str | None, DiffSide | None, DiffSide | None]]
    """A hunk's heading, or the old and the new line; a unified view uses only the first side."""
    next: int
    """First row of the next page; 0 on the last page."""


async def diff_page_of(
    details: RunDetailsReader, highlighter: Highlighter, run: Run, file: FileDiff, *, view: str, begin: int = 0
) -> DiffPage:
    patch = await details.patch(run, file)
    rows = await asyncio.to_thread(_rows, patch, view, begin)
    shown = rows[:ROWS]
    old = await _colours(details, highlighter, run, file.before) if any(map(_has_old, shown)) else ()
    new = await _colours(details, highlighter, run, file.after) if any(map(_has_new, shown)) else ()
    sides = [(row.heading, _side(row.left, old, new), _side(row.right, old, new)) for row in shown]
    return DiffPage(sides, begin + ROWS if len(rows) > ROWS else 0)


def _rows(patch: bytes, view: str, begin: int) -> list[DiffRow]:
    """One row more than a page if there is a next page."""
    rows = side_by_side(patch) if view == _SPLIT else unified(patch)
    return list(islice(rows, begin, begin + ROWS + 1))


def _has_old(row: DiffRow) -> bool:
    return row.left is not None and row.left.sign == "-"


def _has_new(row: DiffRow) -> bool:
    return any(line is not None and line.sign != "-" for line in (row.left, row.right))


async def _colours(
    details: RunDetailsReader, highlighter: Highlighter, run: Run, version: FileVersion | None
) -> Sequence[ColouredText]:
    if version is None or not version.has_content or version.kind == "link":
        return ()
    content = await details.content(run, version)
    if len(content) > LARGEST:
        return ()
    return await highlighter.highlight(version.path, content.decode(errors="replace"), sha=version.sha)


def _side(line: DiffLine | None, old: Sequence[ColouredText], new: Sequence[ColouredText]) -> DiffSide | None:
    """An unchanged line takes the colours of the new file."""
    if line is None:
        return None
    colours, number = (old, line.old) if line.sign == "-" else (new, line.new)
    assert number is not None
    return DiffSide(line, pieces_of(line, colours[number - 1] if number <= len(colours) else ()))

"""The rows of one file's difference, as many as a page takes at once, in colours."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bot.domain.diff_view import SeenFile, Version
from bot.domain.run import Run
from bot.status.closeup import Closeup
from bot.web.highlight import LARGEST, Painting
from bot.web.run.diff import Line, Piece, Row, Runs, pieces, side_by_side, unified

ROWS = 300
"""On a page at once; the next are a step away."""
_SPLIT = "split"

_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "go.sum"}
    | {"Pipfile.lock", "Cargo.lock", "composer.lock", "Gemfile.lock", "flake.lock", "requirements.lock"}
)
_MADE = (".min.js", ".min.css", ".map", ".snap", ".pb.go", "_pb2.py", ".g.dart", ".svg")
_FOLDERS = ("dist", "vendor", "node_modules", "__snapshots__", "generated")


@dataclass(frozen=True, slots=True)
class Cell:
    """One line, on one side."""

    line: Line
    pieces: Sequence[Piece]

    @property
    def kind(self) -> str:
        return {"+": "add", "-": "del"}.get(self.line.sign, "same")


@dataclass(frozen=True, slots=True)
class Shown:
    rows: Sequence[tuple[str | None, Cell | None, Cell | None]]
    """A hunk's heading, or what stood there and what stands there; in a unified view only the first."""
    next: int
    """Where the next rows begin; 0: there are none."""


async def rows_of(
    closeup: Closeup, painting: Painting, run: Run, file: SeenFile, *, view: str, begin: int = 0
) -> Shown:
    patch = await closeup.patch(run, file)
    rows = await asyncio.to_thread(_rows, patch, view, begin)
    part = rows[:ROWS]
    old = await _painted(closeup, painting, run, file.before) if any(map(_has_old, part)) else ()
    new = await _painted(closeup, painting, run, file.now) if any(map(_has_new, part)) else ()
    cells = [(row.heading, _cell(row.left, old, new), _cell(row.right, old, new)) for row in part]
    return Shown(cells, begin + ROWS if len(rows) > ROWS else 0)


def _rows(patch: bytes, view: str, begin: int) -> list[Row]:
    """With one more, if there is one."""
    rows = side_by_side(patch) if view == _SPLIT else unified(patch)
    return list(islice(rows, begin, begin + ROWS + 1))


def _has_old(row: Row) -> bool:
    return row.left is not None and row.left.sign == "-"


def _has_new(row: Row) -> bool:
    return any(line is not None and line.sign != "-" for line in (row.left, row.right))


async def _painted(closeup: Closeup, painting: Painting, run: Run, version: Version | None) -> Sequence[Runs]:
    if version is None or not version.has_content or version.kind == "link":
        return ()
    content = await closeup.content(run, version)
    if len(content) > LARGEST:
        return ()
    return await painting.paint(version.path, content.decode(errors="replace"), sha=version.sha)


def _cell(line: Line | None, old: Sequence[Runs], new: Sequence[Runs]) -> Cell | None:
    """What stayed is coloured as it is now."""
    if line is None:
        return None
    painted, number = (old, line.old) if line.sign == "-" else (new, line.new)
    assert number is not None
    return Cell(line, pieces(line, painted[number - 1] if number <= len(painted) else ()))


def is_dull(path: str) -> bool:
    """Nobody reads it line by line: made by a program, out of what people do read."""
    name = path.rpartition("/")[2]
    return name in _LOCKS or name.endswith(_MADE) or any(f"/{folder}/" in f"/{path}" for folder in _FOLDERS)

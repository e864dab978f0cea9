"""What agents left for people to see, by run and turn: evidence/RUN/TURN/NAME, each name as one word.

Rule: nothing here is ever a name that somebody else chose: files are found by listing what we wrote.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from bot.domain.evidence import TEXT, Piece, media_type_of

_HEAD = 16


@dataclass(frozen=True, slots=True)
class Evidence:
    folder: Path

    def keep(self, run_id: str, turn: str, name: str, content: bytes) -> Piece:
        """What is there already, from whichever turn, is not kept twice."""
        if known := self.find(run_id, name, content):
            return known
        piece = Piece(name, len(content), media_type_of(content), turn)
        path = self.path(run_id, piece)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(".new")
        fresh.write_bytes(content)
        fresh.replace(path)
        return piece

    def find(self, run_id: str, name: str, content: bytes) -> Piece | None:
        """The newest of that name, if it is the same."""
        known = next((one for one in self.of(run_id) if one.name == name), None)
        is_same = known and known.size == len(content) and self.path(run_id, known).read_bytes() == content
        return known if is_same else None

    def of(self, run_id: str) -> Sequence[Piece]:
        """The newest of each name, in the order of turns and names."""
        newest = {piece.name: piece for piece in self._all(run_id)}
        return sorted(newest.values(), key=lambda piece: (_number_of(piece.turn), piece.name))

    def open(self, run_id: str, name: str) -> tuple[bytes, str] | None:
        """The content, and a media type that a browser only shows. None: there is no such thing."""
        piece = next((one for one in self.of(run_id) if one.name == name), None)
        return (self.path(run_id, piece).read_bytes(), piece.media_type) if piece else None

    def path(self, run_id: str, piece: Piece) -> Path:
        return self._of_run(run_id) / piece.turn / quote(piece.name, safe="")

    def size_of(self, run_id: str) -> int:
        return sum(piece.size for piece in self._all(run_id))

    def older_than(self, before: float, *, keep: Collection[str]) -> Sequence[Path]:
        """Of runs to which nothing was added since, but for these."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return ()
        kept = {self._of_run(run_id).name for run_id in keep}
        with os.scandir(self.folder) as listing:
            ours = [item for item in listing if item.is_dir(follow_symlinks=False) and item.name not in kept]
        return [Path(item.path) for item in ours if item.stat().st_mtime < before]

    def _of_run(self, run_id: str) -> Path:
        return self.folder / quote(run_id, safe="")

    def _all(self, run_id: str) -> Iterator[Piece]:
        turns = sorted(self._of_run(run_id).glob("turn-*"), key=lambda turn: _number_of(turn.name))
        for turn in turns:
            for file in sorted(turn.glob("[!.]*")):
                with file.open("rb") as stream:
                    kind = media_type_of(stream.read(_HEAD))  # a letter may be cut in half there
                yield Piece(unquote(file.name), file.stat().st_size, kind or TEXT, turn.name)


def _number_of(turn: str) -> int:
    number = turn.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0

"""Stores evidence files by run and turn: evidence/RUN/TURN/NAME, each part quoted as one name.

Rule: a name from outside is never used as a path; files are found by listing what was written.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from bot.domain.evidence import TEXT, EvidenceFile, media_type_of

_HEAD = 16


@dataclass(frozen=True, slots=True)
class EvidenceStore:
    folder: Path

    def save(self, run_id: str, turn: str, name: str, content: bytes) -> EvidenceFile:
        """Does not store the same content twice for a run."""
        if known := self.find(run_id, name, content):
            return known
        piece = EvidenceFile(name, len(content), media_type_of(content), turn)
        path = self.path(run_id, piece)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(".new")
        fresh.write_bytes(content)
        fresh.replace(path)
        return piece

    def find(self, run_id: str, name: str, content: bytes) -> EvidenceFile | None:
        """Returns the newest file of that name if its content is the same."""
        known = next((one for one in self.list_files(run_id) if one.name == name), None)
        is_same = known and known.size == len(content) and self.path(run_id, known).read_bytes() == content
        return known if is_same else None

    def list_files(self, run_id: str) -> Sequence[EvidenceFile]:
        """The newest file of each name, sorted by turn and name."""
        newest = {piece.name: piece for piece in self._all(run_id)}
        return sorted(newest.values(), key=lambda piece: (_turn_number(piece.turn), piece.name))

    def read(self, run_id: str, name: str) -> tuple[bytes, str] | None:
        """Returns the content and a media type that browsers only display; None if there is no such file."""
        piece = next((one for one in self.list_files(run_id) if one.name == name), None)
        return (self.path(run_id, piece).read_bytes(), piece.media_type) if piece else None

    def path(self, run_id: str, piece: EvidenceFile) -> Path:
        return self._of_run(run_id) / piece.turn / quote(piece.name, safe="")

    def size_of(self, run_id: str) -> int:
        return sum(piece.size for piece in self._all(run_id))

    def older_than(self, before: float, *, keep: Collection[str]) -> Sequence[Path]:
        """Folders of runs without new evidence since then, except the runs in `keep`."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return ()
        kept = {self._of_run(run_id).name for run_id in keep}
        with os.scandir(self.folder) as listing:
            ours = [item for item in listing if item.is_dir(follow_symlinks=False) and item.name not in kept]
        return [Path(item.path) for item in ours if item.stat().st_mtime < before]

    def _of_run(self, run_id: str) -> Path:
        return self.folder / quote(run_id, safe="")

    def _all(self, run_id: str) -> Iterator[EvidenceFile]:
        turns = sorted(self._of_run(run_id).glob("turn-*"), key=lambda turn: _turn_number(turn.name))
        for turn in turns:
            for file in sorted(turn.glob("[!.]*")):
                with file.open("rb") as stream:
                    kind = media_type_of(stream.read(_HEAD))  # may cut a character in half
                yield EvidenceFile(unquote(file.name), file.stat().st_size, kind or TEXT, turn.name)


def _turn_number(turn: str) -> int:
    number = turn.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0

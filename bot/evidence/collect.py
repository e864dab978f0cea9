"""Takes what an agent left for people to see out of its worktree, looks through it, and keeps it with the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.domain.evidence import FOLDER, MOST_BYTES_OF_RUN, Shown, media_type_of
from bot.evidence.read import read_evidence
from bot.evidence.store import Evidence
from bot.git.in_thread import in_thread
from bot.secret_scan.scanner import Secrets


@dataclass(frozen=True, slots=True)
class Exhibits:
    """The port."""

    evidence: Evidence
    secrets: Secrets
    most_bytes: int = MOST_BYTES_OF_RUN

    async def take(self, worktree: Path, run_id: str, turn: str) -> Shown:
        """While nothing runs in there."""
        return await in_thread(self._take, worktree, run_id, turn)

    def _take(self, worktree: Path, run_id: str, turn: str) -> Shown:
        found, left_out = read_evidence(worktree)
        room = self.most_bytes - self.evidence.size_of(run_id)
        fresh = {name: content for name, content in found.items() if not self.evidence.find(run_id, name, content)}
        objections = dict(self._objections(fresh, room))
        fine = {name: content for name, content in found.items() if name not in objections}
        pieces = [self.evidence.keep(run_id, turn, name, content) for name, content in fine.items()]
        return Shown(tuple(pieces), (*left_out, *objections.values()))

    def _objections(self, found: Mapping[str, bytes], room: int) -> Iterator[tuple[str, str]]:
        """By name, in words."""
        for name, content in found.items():
            room -= len(content)
            if names := self.secrets.find(name):
                yield name, f"{FOLDER}: a file whose name holds {', '.join(names)}"
            elif not media_type_of(content):
                yield name, f"{FOLDER}/{name}: neither a picture that I know nor plain text"
            elif names := self.secrets.find_in(content):
                yield name, f"{FOLDER}/{name}: it holds {', '.join(names)}"
            elif room < 0:
                yield name, f"{FOLDER}/{name}: this run has left {self.most_bytes / 1e6:g} MB already"

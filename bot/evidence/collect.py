"""Collects evidence files from a worktree, checks them for secrets and size, and stores them with the run.

Rule: in a child process, because an agent wrote the files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.domain.evidence import FOLDER, MOST_BYTES_OF_RUN, EvidenceResult, media_type_of
from bot.evidence.read import read_evidence
from bot.evidence.store import EvidenceStore
from bot.git.in_child import in_child
from bot.git.in_thread import in_thread
from bot.secret_scan.scanner import Secrets
from bot.secret_scan.unpack import UnpackBudget


@dataclass(frozen=True, slots=True)
class EvidenceCollector:
    store: EvidenceStore
    secrets: Secrets
    max_bytes: int = MOST_BYTES_OF_RUN

    async def collect(self, worktree: Path, run_id: str, turn: str) -> EvidenceResult:
        """Call only while nothing runs in the worktree."""
        store, secrets = str(self.store.folder), self.secrets.values
        order = EvidenceOrder(str(worktree), run_id, turn, store, secrets, self.max_bytes)
        return await in_thread(in_child, collect_evidence, order)


@dataclass(frozen=True, slots=True, repr=False)
class EvidenceOrder:
    """Says which evidence to collect, in plain values."""

    worktree: str
    run_id: str
    turn: str
    store: str
    secrets: tuple[tuple[str, str], ...]
    """Names with their values."""
    max_bytes: int


def collect_evidence(order: EvidenceOrder) -> EvidenceResult:
    store = EvidenceStore(Path(order.store))
    found, left_out = read_evidence(Path(order.worktree))
    fresh = {name: content for name, content in found.items() if not store.find(order.run_id, name, content)}
    objections = dict(_objections(fresh, Secrets.of(order.secrets), order.max_bytes - store.size_of(order.run_id)))
    fine = {name: content for name, content in found.items() if name not in objections}
    pieces = [store.save(order.run_id, order.turn, name, content) for name, content in fine.items()]
    return EvidenceResult(tuple(pieces), (*left_out, *objections.values()))


def _objections(found: Mapping[str, bytes], secrets: Secrets, most: int) -> Iterator[tuple[str, str]]:
    """Yields file names with the reason for leaving them out."""
    room, budget = most, UnpackBudget()
    for name, content in found.items():
        room -= len(content)
        if names := secrets.find(name):
            yield name, f"{FOLDER}: a file whose name contains {', '.join(names)}"
        elif not media_type_of(content):
            yield name, f"{FOLDER}/{name}: neither a known image format nor plain text"
        elif problem := secrets.search(content, budget).problem:
            yield name, f"{FOLDER}/{name}: {problem}"
        elif room < 0:
            yield name, f"{FOLDER}/{name}: {_FULL}"


_FULL = "this run has reached the limit for evidence"

"""Writes and reads transcripts: one append-only file of JSON lines per run.

Lines are gathered in memory and written a few times a second by `flush`: hundreds of agents at once must not cost a
write each. A crash can lose the last half second of a transcript, never a decision.
"""

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bot.domain.serialize import from_record
from bot.domain.turn import Event, EventKind, Todo, TurnOrder

_TAIL_BYTES = 262144


class Transcripts:
    def __init__(self, folder: Path, redact: Callable[[str], str] = str) -> None:
        self._folder, self._redact = folder, redact
        self._waiting: dict[str, list[str]] = {}
        """Lines by run id."""
        self._listeners: list[Callable[[str, str], None]] = []

    def listen(self, listener: Callable[[str, str], None]) -> None:
        """Called with the run's id and each line before it is written."""
        self._listeners.append(listener)

    def append(self, request: TurnOrder, event: Event) -> None:
        todos = tuple(replace(todo, text=self._redact(todo.text)) for todo in event.todos)
        text, tool, id_ = map(self._redact, (event.text, event.tool, event.id))
        clean = replace(event, text=text, tool=tool, id=id_, todos=todos)
        plain = {name: value for name, value in _plain(clean).items() if value}
        line = json.dumps({"turn": request.turn_id, **plain}, ensure_ascii=False)
        self._waiting.setdefault(request.run_id, []).append(line)
        for listener in self._listeners:
            listener(request.run_id, line)

    def flush(self) -> None:
        """Keeps lines that cannot be written now, and raises OSError."""
        if self._waiting:
            self._folder.mkdir(parents=True, exist_ok=True)
        for run_id in list(self._waiting):
            text = "".join(f"{line}\n" for line in self._waiting[run_id])
            _append_whole(self.path(run_id), text.encode(errors="backslashreplace"))
            del self._waiting[run_id]

    def path(self, run_id: str) -> Path:
        return self._folder / f"{quote(run_id, safe='')}.jsonl"

    def older_than(self, before: float, *, keep: Collection[str]) -> Sequence[Path]:
        """Returns transcripts that were not written since, except those of these runs."""
        if self._folder.is_symlink() or not self._folder.is_dir():
            return ()
        kept = {self.path(run_id).name for run_id in keep}
        with os.scandir(self._folder) as listing:
            ours = [item for item in listing if item.name.endswith(".jsonl") and item.is_file(follow_symlinks=False)]
        return [Path(item.path) for item in ours if item.name not in kept and item.stat().st_mtime < before]

    def read(self, run_id: str) -> Iterator[Mapping[str, Any]]:
        return self.reader(run_id).read_new()

    def reader(self, run_id: str) -> "TranscriptReader":
        return TranscriptReader(self.path(run_id))

    def last_action(self, run_id: str) -> str:
        """Returns the last action of the agent, or of the host for it."""
        return str(self._latest(run_id, EventKind.TOOL, EventKind.STEP, EventKind.WAITING).get("text", ""))

    def todos(self, run_id: str) -> tuple[Todo, ...]:
        """The agent's latest to-do list."""
        listed = self._latest(run_id, EventKind.TODOS).get("todos", [])
        return from_record(tuple[Todo, ...], listed)

    def _latest(self, run_id: str, *kinds: EventKind) -> Mapping[str, Any]:
        """The newest event of these kinds in the last part of the file."""
        try:
            seen = self.path(run_id).stat()
        except FileNotFoundError:
            return {}
        return _newest(self.path(run_id), kinds, (seen.st_ino, seen.st_size, seen.st_mtime_ns))


class TranscriptReader:
    """Reads a transcript from the beginning, and later only the lines written since."""

    def __init__(self, path: Path) -> None:
        self._path, self._inode, self._offset = path, 0, 0

    def read_new(self) -> Iterator[Mapping[str, Any]]:
        """Whole lines only: the last one may be being written. A file that was replaced is read from its start."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            seen = os.fstat(file.fileno())
            if seen.st_ino != self._inode or seen.st_size < self._offset:
                self._inode, self._offset = seen.st_ino, 0
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield _record(line)


@lru_cache(maxsize=2048)
def _newest(path: Path, kinds: tuple[EventKind, ...], _version: object) -> Mapping[str, Any]:
    """Cached by size: the file is read again only if it has grown."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL_BYTES, 0))
        lines = file.read().split(b"\n")[:-1]
    signs = [f'"kind": "{kind}"'.encode() for kind in kinds]
    found = (_record(line) for line in reversed(lines) if any(sign in line for sign in signs))
    return next((one for one in found if one.get("kind") in kinds), {})


def _record(line: bytes) -> Mapping[str, Any]:
    """Returns an empty record for a line without its beginning: a tail may begin anywhere."""
    try:
        return dict(json.loads(line.decode(errors="replace")))
    except ValueError:
        return {}


def _append_whole(path: Path, data: bytes) -> None:
    """All of it or nothing: half a line would spoil the next one."""
    with path.open("ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(before)
            raise


def _plain(event: Event) -> dict[str, object]:
    if event.todos:
        return asdict(event)
    return {
        "kind": event.kind,
        "at": event.at,
        "text": event.text,
        "tool": event.tool,
        "id": event.id,
        "tokens": event.tokens,
        "session_cost_usd": event.session_cost_usd,
    }

"""What every agent said and did, one append-only file of JSON lines per run.

Lines are gathered in memory and written a few times a second by `flush`: hundreds of agents talking at once must not
cost a write each. What a crash can lose is the last half second of talk, never a decision.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bot.domain.turn import Event, EventKind, TurnRequest

_TAIL_BYTES = 65536


class Transcripts:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[Path, list[str]] = {}

    def append(self, request: TurnRequest, event: Event) -> None:
        plain = {name: value for name, value in _plain(event).items() if value}
        line = json.dumps({"turn": request.turn_id, **plain}, ensure_ascii=False)
        self._waiting.setdefault(self.path(request.run_id), []).append(line)

    def flush(self) -> None:
        while self._waiting:
            path, lines = self._waiting.popitem()
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("".join(f"{line}\n" for line in lines))

    def path(self, run_id: str) -> Path:
        return self._folder / f"{run_id.replace('/', '-').replace('#', '-')}.jsonl"

    def read(self, run_id: str) -> Iterator[dict[str, object]]:
        """Whole lines only: the last one may be being written."""
        if not self.path(run_id).exists():
            return
        with self.path(run_id).open(encoding="utf-8", errors="replace") as file:
            yield from (json.loads(line) for line in file if line.endswith("\n"))

    def last_deed(self, run_id: str) -> str:
        """What the agent began to do last, as far as the file's end tells."""
        if not self.path(run_id).exists():
            return ""
        with self.path(run_id).open("rb") as file:
            file.seek(max(self.path(run_id).stat().st_size - _TAIL_BYTES, 0))
            lines = file.read().decode(errors="replace").splitlines()[1:]
        deeds = (line for line in reversed(lines) if f'"kind": "{EventKind.TOOL}"' in line)
        return str(json.loads(next(deeds, "{}")).get("text", ""))


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
    }

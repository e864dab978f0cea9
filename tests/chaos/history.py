"""History of a scenario: one JSON object per line, written as it happens. The checker reads only this file."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class History:
    file: Path
    clock: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock)
    count: int = 0

    def note(self, what: str, **about: Any) -> None:
        line = json.dumps({"what": what, "at": round(self.clock(), 4), **about})
        with self._lock, self.file.open("a") as file:
            file.write(f"{line}\n")
            self.count += 1


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text().splitlines():
        yield json.loads(line)

"""How commands did on bases, by what they were run on: the newest few hundred, in one file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.serialize import as_record, from_record
from bot.domain.verification import Standing, Trial

_MOST = 200


@dataclass(frozen=True, slots=True)
class Remembered:
    file: Path

    def find(self, name: str) -> Trial | None:
        return self._known().get(name)

    def keep(self, found: Mapping[str, Trial]) -> None:
        """What says nothing is not kept, and is tried again; nor is what they printed."""
        kept = {name: replace(one, output="") for name, one in found.items() if one.standing is not Standing.UNKNOWN}
        newest = dict(list({**self._known(), **kept}.items())[-_MOST:])
        fresh = self.file.with_suffix(".new")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(as_record(newest)))
        fresh.replace(self.file)

    def _known(self) -> Mapping[str, Trial]:
        try:
            return {name: from_record(Trial, one) for name, one in json.loads(self.file.read_text()).items()}
        except (OSError, ValueError, AttributeError):
            return {}

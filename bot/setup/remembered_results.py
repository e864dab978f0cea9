"""Remembers results of commands on bases, with what their test runners reported: a file each, the newest ones."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.compare_with_base import MeasuredCommand
from bot.domain.serialize import as_record, from_record
from bot.domain.verification import CheckResult

_MAX_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class RememberedResults:
    folder: Path

    def find(self, name: str) -> MeasuredCommand | None:
        try:
            return from_record(MeasuredCommand, json.loads(self._file(name).read_text()))
        except (OSError, ValueError):
            return None

    def save(self, results: Mapping[str, MeasuredCommand]) -> None:
        """Saves results without output. Unclear results are not saved, so that their commands run again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            if result.command.result is not CheckResult.UNKNOWN:
                new_file = self._file(name).with_suffix(".new")
                record = as_record(replace(result, command=replace(result.command, output="")))
                new_file.write_text(json.dumps(record))
                new_file.replace(self._file(name))
        for old in sorted(self.folder.iterdir(), key=_age, reverse=True)[_MAX_REMEMBERED:]:
            with contextlib.suppress(OSError):
                old.unlink()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0

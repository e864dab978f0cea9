"""Reads the tables of a compose file or workflow, with the tables that `<<` merges into them. Pure.

Rule: what an alias names counts again wherever it is used, so that a short file stays a small table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.setup.declared.parse_yaml import parse_yaml

_MAX_VALUES = 20_000
_MERGE = "<<"
_NULL = {"~", "null"}


def read_yaml(text: str) -> Mapping[str, Any]:
    """All scalars are strings. Returns an empty table if the file is no table, is too large or has a mistake."""
    try:
        found = _Values().of(parse_yaml(text))
    except _TooLarge:
        return {}
    return found if isinstance(found, dict) else {}


class _TooLarge(Exception):
    """It has more values than any file that people write."""


@dataclass(slots=True)
class _Values:
    left: int = _MAX_VALUES

    def of(self, value: Any) -> Any:
        """Nesting is limited by the parser."""
        self.left -= 1
        if self.left < 0:
            raise _TooLarge
        if isinstance(value, list):
            return [self.of(one) for one in value]
        if isinstance(value, dict):
            return self._table({key: self.of(content) for key, content in value.items()})
        return "" if value in _NULL else value

    def _table(self, table: dict[str, Any]) -> dict[str, Any]:
        """Keys of the table itself take precedence over those that are merged into it."""
        if _MERGE not in table:
            return table
        merged: dict[str, Any] = {}
        merging = table.pop(_MERGE)
        for one in merging if isinstance(merging, list) else [merging]:
            for key, content in (one if isinstance(one, dict) else {}).items():
                merged.setdefault(key, content)
        return {**merged, **table}

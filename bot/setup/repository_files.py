"""Reads files of one commit, by name, as text, TOML or JSON. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from bot.text.limited_toml import parse_toml


class RepositoryFiles:
    """Files of one commit. Contents are read on demand."""

    def __init__(self, names: Iterable[str], read: Callable[[str], str]) -> None:
        """`read` returns a file's text, and an empty string if there is no such file."""
        self._names = frozenset(names)
        self._read = read

    @classmethod
    def of(cls, contents: Mapping[str, str]) -> Self:
        return cls(contents, lambda name: contents.get(name, ""))

    @property
    def names(self) -> frozenset[str]:
        return self._names

    @cached_property
    def _folders(self) -> Mapping[str, frozenset[str]]:
        """File names in the top folder, and in each folder right below it."""
        found: dict[str, set[str]] = {"": set()}
        for path in self._names:
            first, _, rest = path.partition("/")
            if not rest:
                found[""].add(first)
            elif "/" not in rest:
                found.setdefault(first, set()).add(rest)
        return {folder: frozenset(names) for folder, names in found.items()}

    def text(self, path: str) -> str:
        return self._read(path) if path in self._names else ""

    def top(self) -> "FileFolder":
        return FileFolder(self, "", self._folders[""])

    def folder_of(self, path: str) -> "FileFolder":
        """The folder that a file is in."""
        folder = path.rpartition("/")[0]
        return FileFolder(self, folder, frozenset())

    def below(self) -> Iterable["FileFolder"]:
        return [FileFolder(self, name, self._folders[name]) for name in sorted(self._folders) if name]


@dataclass(frozen=True, slots=True)
class FileFolder:
    files: RepositoryFiles
    path: str
    names: frozenset[str]

    def has(self, *names: str) -> str:
        """Returns the first of these names that exists here; empty if none does."""
        return next((name for name in names if name in self.names), "")

    def at(self, name: str) -> str:
        """The path from the top folder."""
        return f"{self.path}/{name}" if self.path else name

    def has_path(self, path: str) -> bool:
        return self.at(path) in self.files.names

    def has_below(self, name: str) -> bool:
        return any(path.startswith(f"{self.at(name)}/") for path in self.files.names)

    def text(self, name: str) -> str:
        return self.files.text(self.at(name))

    def toml(self, name: str) -> Mapping[str, Any]:
        """Empty if the file is missing or invalid."""
        try:
            return parse_toml(self.text(name))
        except ValueError:
            return {}

    def json(self, name: str) -> Mapping[str, Any]:
        try:
            found = json.loads(self.text(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def nested_table(outer: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Returns an empty table if the file holds anything else at this place."""
    found: Any = outer
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def strings(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

"""What a commit holds, as far as finding out about it needs. Pure."""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self


class Files:
    """Of one commit. Contents are read when they are asked for."""

    def __init__(self, names: Iterable[str], read: Callable[[str], str]) -> None:
        """`read` gives a file's text, and of one that is not there nothing."""
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
        """The names right in the top folder, and in each one below."""
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

    def top(self) -> "Folder":
        return Folder(self, "", self._folders[""])

    def below(self) -> Iterable["Folder"]:
        return [Folder(self, name, self._folders[name]) for name in sorted(self._folders) if name]


@dataclass(frozen=True, slots=True)
class Folder:
    files: Files
    path: str
    names: frozenset[str]

    def has(self, *names: str) -> str:
        """The first of these that is here; empty: none is."""
        return next((name for name in names if name in self.names), "")

    def at(self, name: str) -> str:
        """Seen from the top."""
        return f"{self.path}/{name}" if self.path else name

    def has_below(self, name: str) -> bool:
        return any(path.startswith(f"{self.at(name)}/") for path in self.files.names)

    def text(self, name: str) -> str:
        return self.files.text(self.at(name))

    def toml(self, name: str) -> Mapping[str, Any]:
        """Nothing, where it is not there or no such thing."""
        try:
            return tomllib.loads(self.text(name))
        except tomllib.TOMLDecodeError:
            return {}

    def json(self, name: str) -> Mapping[str, Any]:
        try:
            found = json.loads(self.text(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def table(outer: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Somebody else's file may hold anything where a table is expected."""
    found: Any = outer
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def words(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

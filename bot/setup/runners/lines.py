"""Lines of a program's output, prepared for the readers of test runners. Pure.

Rule: an agent's tests may print anything. Long lines are left out, and readers look at each line a few times at most.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = re.compile(r"(\[[\w@./:-]{1,80}\]|[\w@./:-]{1,80}(?: [\w:.-]{1,40})?:)(?: |$)")
_MOST_PREFIXES = 50
_LONGEST_LINE = 600
_MOST_DIGITS = 9
_DURATION_UNITS = ("ms", "s", "m", "h")


@dataclass(frozen=True, slots=True)
class OutputLines:
    lines: Sequence[str]
    is_cut: bool = False
    """Its middle is missing, so what stands in several places cannot be added up."""

    @classmethod
    def of(cls, output: str, *, is_cut: bool = False) -> Self:
        """Without colours, and with what a progress bar wrote last."""
        raw = (line.rstrip("\r") for line in output.split("\n"))
        short = (line for line in raw if len(line) <= _LONGEST_LINE)
        lines = [_ESCAPES.sub("", line[line.rfind("\r") + 1 :]).rstrip() for line in short]
        return cls(lines, is_cut)

    def by_prefix(self) -> Mapping[str, Self]:
        """Takes apart what programs that run several scripts at once print: `packages/a test: ok 1 - adds`."""
        parts: dict[str, list[str]] = {}
        for line in self.lines:
            if found := _PREFIX.match(line):
                parts.setdefault(found[1], []).append(line[found.end() :])
        largest = sorted(parts, key=lambda prefix: len(parts[prefix]), reverse=True)[:_MOST_PREFIXES]
        return {prefix: type(self)(parts[prefix], self.is_cut) for prefix in sorted(largest)}


def to_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def numbers_by_word(text: str, separator: str = ", ") -> dict[str, int]:
    """Reads `1 failed, 2 passed`; leaves out what is no number and a word."""
    found: dict[str, int] = {}
    for part in text.split(separator):
        number, _, word = part.strip().partition(" ")
        value = to_number(number)
        if value is not None and word:
            found[word] = found.get(word, 0) + value
    return found


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def without_duration(name: str) -> str:
    """Drops an ending such as ` (3.2ms)` or ` 3ms`: it differs from run to run."""
    head, _, last = name.rpartition(" ")
    inner = last[1:-1] if last.startswith("(") and last.endswith(")") else last
    if head and _is_duration(inner):
        return head.rstrip()
    before, _, number = head.rpartition(" ")  # `(3 ms)`
    return before.rstrip() if before and last in {"ms)", "s)"} and number[:1] == "(" and number[1:].isdigit() else name


def _is_duration(text: str) -> bool:
    unit = next((unit for unit in _DURATION_UNITS if text.endswith(unit)), "")
    number = text.removesuffix(unit) if unit else ""
    return bool(number) and number.replace(".", "", 1).isdigit()

"""Version ranges: the notations in which Python, npm, Composer, Bundler and version files ask for a version. Pure.

Rule: a notation that is not understood asks for nothing. It never stops a run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

Version = tuple[int, ...]

_LONGEST_TEXT = 500
_WHOLE = 3
"""So many numbers name one version, and fewer a prefix."""
_ALTERNATIVE = re.compile(r"\|\|?")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}")
_BOUND = re.compile(
    r"(?P<sign>===|[~=!<>]=|~>|[\^~=<>])?[ \t]*[vV]?(?P<numbers>[0-9]{1,9}(?:\.(?:[0-9]{1,9}|[xX*])){0,3}|[xX*])"
    r"(?P<suffix>[-+.a-zA-Z0-9]*)[ \t,]*"
)
_HYPHEN = " - "


@dataclass(frozen=True, slots=True)
class _Bound:
    sign: str
    """`>=`, `>`, `<`, `<=` or `!=`."""
    version: Version

    def holds_for(self, version: Version) -> bool:
        if self.sign == "!=":
            return version[: len(self.version)] != self.version
        left, right = _padded(version), _padded(self.version)
        return {">=": left >= right, ">": left > right, "<": left < right, "<=": left <= right}[self.sign]


@dataclass(frozen=True, slots=True)
class VersionRange:
    alternatives: tuple[tuple[_Bound, ...], ...] = ()
    """One of them must hold, with all its bounds; none: every version is fine."""

    def contains(self, version: Version) -> bool:
        held = (all(bound.holds_for(version) for bound in bounds) for bounds in self.alternatives)
        return not self.alternatives or any(held)


def parse_version(text: str) -> Version:
    """The first number with dots in a text, such as `v20.1.0`; empty if there is none."""
    found = _NUMBER.search(text[:_LONGEST_TEXT])
    return tuple(map(int, found[0].split("."))) if found else ()


def parse_range(text: str) -> VersionRange:
    """Reads `>=3.9,<4`, `~=3.11`, `^18 || >=20.1`, `18.x`, `~> 3.2`, `18 - 20`, and a plain version as a prefix."""
    if len(text) > _LONGEST_TEXT:
        return VersionRange()
    try:
        return VersionRange(tuple(tuple(_bounds_in(part.strip())) for part in _ALTERNATIVE.split(text)))
    except ValueError:
        return VersionRange()


def _bounds_in(text: str) -> Iterator[_Bound]:
    first, hyphen, last = text.partition(_HYPHEN)
    if hyphen:
        text = f">={first.strip()} <={last.strip()}"
    at = 0
    while at < len(text):
        found = _BOUND.match(text, at)
        if not found:
            raise ValueError(text)
        at = found.end()
        yield from _bounds_of(found["sign"] or "=", found["numbers"])


def _bounds_of(sign: str, numbers: str) -> Iterator[_Bound]:
    given = tuple(int(one) for one in numbers.split(".") if one not in "xX*")
    if not given:
        return
    is_whole = len(given) >= _WHOLE
    if sign in {">=", "<", "!="}:
        yield _Bound(sign, given)
    elif sign == ">":
        yield _Bound(">", given) if is_whole else _Bound(">=", _next(given))
    elif sign == "<=":
        yield _Bound("<=", given) if is_whole else _Bound("<", _next(given))
    else:
        yield _Bound(">=", given)
        yield _Bound("<", _next(_fixed_part(sign, given)))


def _fixed_part(sign: str, given: Version) -> Version:
    """The numbers in front that may not change."""
    if sign in {"~=", "~>"}:
        return given[:-1] or given
    if sign == "~":
        return given[:2]
    if sign == "^":
        not_zero = next((place for place, number in enumerate(given) if number), len(given) - 1)
        return given[: not_zero + 1]
    return given


def _next(version: Version) -> Version:
    return (*version[:-1], version[-1] + 1)


def _padded(version: Version) -> Version:
    return (*version, 0, 0, 0, 0)[:4]

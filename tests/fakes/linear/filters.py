"""Evaluates Linear's filters."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.fakes.linear.clock import milliseconds, parse_time
from tests.fakes.linear.errors import Gap
from tests.fakes.linear.model import Lasting

Wanted = dict[str, Any]
Test = Callable[[Any, Wanted, Lasting], bool]
"""Takes the request, the wanted value and the thing."""

FILTERS: dict[str, dict[str, Test]] = {}
"""Keyed by type and field."""


def matches(ask: Any, kind: str, wanted: Wanted, thing: Lasting) -> bool:
    return all(_holds(ask, kind, key, value, thing) for key, value in wanted.items())


def _holds(ask: Any, kind: str, key: str, wanted: Any, thing: Lasting) -> bool:
    if key == "and":
        return all(matches(ask, kind, one, thing) for one in wanted)
    if key == "or":
        return any(matches(ask, kind, one, thing) for one in wanted)
    if key not in FILTERS[kind]:
        raise Gap(f"the filter {kind}.{key}")
    return FILTERS[kind][key](ask, wanted, thing)


# Filters of keys

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda is_, wanted: is_ == wanted,
    "neq": lambda is_, wanted: is_ != wanted,
    "in": lambda is_, wanted: is_ in wanted,
    "nin": lambda is_, wanted: is_ not in wanted,
    "gt": lambda is_, wanted: is_ > wanted,
    "gte": lambda is_, wanted: is_ >= wanted,
    "lt": lambda is_, wanted: is_ < wanted,
    "lte": lambda is_, wanted: is_ <= wanted,
    "contains": lambda is_, wanted: wanted in is_,
    "notContains": lambda is_, wanted: wanted not in is_,
    "startsWith": lambda is_, wanted: is_.startswith(wanted),
    "notStartsWith": lambda is_, wanted: not is_.startswith(wanted),
    "endsWith": lambda is_, wanted: is_.endswith(wanted),
    "notEndsWith": lambda is_, wanted: not is_.endswith(wanted),
}
_IGNORE_CASE = "IgnoreCase"


def compare(is_: Any, wanted: Wanted) -> bool:
    """Compares a value with all operators; null matches only `null`, as in a database."""
    return all(_fits(is_, how, what) for how, what in wanted.items())


def _fits(is_: Any, how: str, wanted: Any) -> bool:
    if how == "null":
        return (is_ is None) == wanted
    if how == "or":
        return any(compare(is_, one) for one in wanted)
    if how == "and":
        return all(compare(is_, one) for one in wanted)
    if how.endswith(_IGNORE_CASE) and how.removesuffix(_IGNORE_CASE) in _COMPARE:
        return _fits(is_ and is_.lower(), how.removesuffix(_IGNORE_CASE), wanted.lower())
    if how not in _COMPARE or wanted is None:
        raise Gap(f"the comparison {how}: {wanted}")
    return is_ is not None and _COMPARE[how](is_, wanted)


def value(read: Callable[[Any], Any]) -> Test:
    return lambda ask, wanted, thing: compare(read(thing), wanted)


def time(read: Callable[[Any], float | None]) -> Test:
    def test(ask: Any, wanted: Wanted, thing: Lasting) -> bool:
        at = read(thing)
        asked = {how: _moments(what, ask.world.now) for how, what in wanted.items()}
        return compare(None if at is None else milliseconds(at), asked)

    return test


def _moments(wanted: Any, now: float) -> Any:
    if isinstance(wanted, list):
        return [_moments(one, now) for one in wanted]
    return milliseconds(parse_time(wanted, now)) if isinstance(wanted, str) else wanted


def one(kind: str, read: Callable[[Any], Lasting | None]) -> Test:
    """Filters by a related object or its absence."""

    def test(ask: Any, wanted: Wanted, thing: Lasting) -> bool:
        other = read(thing)
        null = wanted.get("null")
        if null is not None and (other is None) != null:
            return False
        rest = {key: what for key, what in wanted.items() if key != "null"}
        return not rest or (other is not None and matches(ask, kind, rest, other))

    return test


def many(kind: str, read: Callable[[Any, Any], Iterable[Lasting]]) -> Test:
    """Filters by related objects: some by default, or every one, or their number."""
    return lambda ask, wanted, thing: _many(ask, kind, wanted, list(read(ask, thing)))


def _many(ask: Any, kind: str, wanted: Wanted, things: list[Lasting]) -> bool:
    tests: dict[str, Callable[[Any], bool]] = {
        "some": lambda asked: any(matches(ask, kind, asked, other) for other in things),
        "every": lambda asked: all(matches(ask, kind, asked, other) for other in things),
        "length": lambda asked: compare(len(things), asked),
        "null": lambda asked: (not things) == asked,
        "and": lambda asked: all(_many(ask, kind, inner, things) for inner in asked),
        "or": lambda asked: any(_many(ask, kind, inner, things) for inner in asked),
    }
    plain = {key: asked for key, asked in wanted.items() if key not in tests}
    special = all(tests[key](asked) for key, asked in wanted.items() if key in tests)
    return special and (not plain or tests["some"](plain))

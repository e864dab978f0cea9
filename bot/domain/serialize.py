"""Converts values to plain JSON records and back, for the database and for notes on issues.

Rule: a record may be older or newer than the code that reads it: missing fields keep their defaults, renamed fields
are read by their old names, unknown fields are ignored. Anything else that does not fit raises ValueError.
"""

import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from bot.domain.stored_names import with_present_names

T = TypeVar("T")

_PLAIN = (str, int, float, bool, types.NoneType)


def as_record(value: object) -> Any:
    """Returns a value for JSON. Fields with default values are left out."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        own = ((name, getattr(value, name), default) for name, default in _defaults(type(value)))
        return {name: as_record(inner) for name, inner, default in own if inner != default}
    if isinstance(value, Mapping):
        return {str(name): as_record(inner) for name, inner in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(as_record(inner) for inner in value)
    if isinstance(value, Collection) and not isinstance(value, str):
        return [as_record(inner) for inner in value]
    return value


def from_record(kind: type[T], record: object) -> T:
    return cast("T", _read(kind, record))


@cache
def _defaults(kind: type) -> Sequence[tuple[str, object]]:
    """Default of each field; MISSING, which equals nothing, if there is none."""
    return [(one.name, _default(one)) for one in fields(kind)]


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _read(kind: Any, record: object) -> object:
    if kind in _PLAIN:
        return _plain(kind, record)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(record)
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass(kind, record)
    return _container(get_origin(kind), get_args(kind), record)


def _plain(kind: type, record: object) -> object:
    if kind is float and isinstance(record, int) and not isinstance(record, bool):
        return float(record)
    if not isinstance(record, kind) or (isinstance(record, bool) and kind is not bool):
        raise ValueError(f"{record!r} is no {kind.__name__}")
    return record


def _dataclass(kind: type, record: object) -> object:
    if not isinstance(record, dict):
        raise ValueError(f"{record!r} is no record of a {kind.__name__}")  # noqa: TRY004 - a promise of this module
    hints = _hints(kind)
    known = {
        name: _read(hints[name], inner)
        for name, inner in with_present_names(kind.__name__, record).items()
        if name in hints
    }
    try:
        return kind(**known)
    except TypeError as exc:
        raise ValueError(f"a {kind.__name__} needs more than {sorted(known)}") from exc


def _container(origin: Any, inner: tuple[Any, ...], record: object) -> object:
    if origin in {Union, types.UnionType}:
        return _either(inner, record)
    if origin in {tuple, frozenset} and isinstance(record, list):
        return origin(_read(inner[0], one) for one in record)
    if isinstance(record, dict) and isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _read(inner[1], one) for name, one in record.items()}
    raise ValueError(f"{record!r} cannot be read")


def _either(kinds: tuple[Any, ...], record: object) -> object:
    for kind in kinds:
        try:
            return _read(kind, record)
        except ValueError:
            continue
    raise ValueError(f"{record!r} is none of {kinds}")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)

"""Values as plain records, and back: what is kept in a database, or written down for another life of ours.

Rule: a record may be older or newer than the code that reads it: fields it lacks keep their defaults, fields nobody
knows any more are passed over. Whatever else does not fit raises ValueError.
"""

import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = (str, int, float, bool, types.NoneType)


def as_record(value: object) -> Any:
    """For JSON. Fields that have their defaults are left out."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_record(getattr(value, one.name)) for one in fields(value) if _is_told(one, value)}
    if isinstance(value, Mapping):
        return {str(name): as_record(inner) for name, inner in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(as_record(inner) for inner in value)
    if isinstance(value, Collection) and not isinstance(value, str):
        return [as_record(inner) for inner in value]
    return value


def from_record(kind: type[T], record: object) -> T:
    return cast("T", _read(kind, record))


def _is_told(one: Field[Any], value: object) -> bool:
    own = getattr(value, one.name)
    if one.default is not MISSING:
        return bool(own != one.default)
    return one.default_factory is MISSING or bool(own != one.default_factory())


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
        raise ValueError(f"{record!r} is no record of a {kind.__name__}")
    hints = _hints(kind)
    known = {name: _read(hints[name], inner) for name, inner in record.items() if name in hints}
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

"""Linear's own description of its API."""

import re
from functools import cache
from typing import Any

from graphql import GraphQLError, GraphQLScalarType, GraphQLSchema, build_schema

from tests.fakes.linear.clock import parse_time
from tests.schemas import FOLDER

_ANSWERED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@cache
def schema() -> GraphQLSchema:
    built = build_schema((FOLDER / "linear.graphql").read_text())
    for name, (taken, given) in _SCALARS.items():
        scalar = built.type_map[name]
        assert isinstance(scalar, GraphQLScalarType)
        for attribute, coerce in zip(_COERCIONS, (taken, taken, given, given), strict=True):
            setattr(scalar, attribute, coerce)
    return built


def _take_time(value: Any) -> Any:
    try:
        parse_time(value, 0.0)
    except (TypeError, ValueError) as problem:
        raise GraphQLError(f"{value!r} is no date as ISO 8601 has it") from problem
    return value


def _give_time(value: Any) -> Any:
    if not isinstance(value, str) or not _ANSWERED.fullmatch(value):
        raise GraphQLError(f"{value!r} is no time as Linear answers it")
    return value


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise GraphQLError(f"{value!r} is no object")
    return value


# Each twice: releases of graphql-core name them differently.
_COERCIONS = ("parse_value", "coerce_input_value", "serialize", "coerce_output_value")
_SCALARS = {
    "DateTime": (_take_time, _give_time),
    "DateTimeOrDuration": (_take_time, _give_time),
    "JSONObject": (_object, _object),
}

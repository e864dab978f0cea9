"""What a JSON body may hold, said once: it is checked by this, and described by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

Schema = Mapping[str, Any]

MOST_LETTERS = 100_000
_BAD = 400


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    schema: Schema
    about: str
    required: bool = False


def text(name: str, about: str, *, required: bool = False, most: int = MOST_LETTERS) -> Field:
    least = {"minLength": 1} if required else {}
    return Field(name, {"type": "string", "maxLength": most, **least}, about, required)


def flag(name: str, about: str) -> Field:
    return Field(name, {"type": "boolean"}, about)


def texts(name: str, about: str, *, most: int) -> Field:
    return Field(name, {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": most}}, about)


def one_of(name: str, about: str, words: Sequence[str]) -> Field:
    return Field(name, {"type": "string", "enum": list(words)}, about)


def listed(name: str, about: str, fields: Sequence[Field]) -> Field:
    return Field(name, {"type": "array", "maxItems": 200, "items": schema_of(fields)}, about)


def number(name: str, about: str, *, least: int, required: bool = False) -> Field:
    return Field(name, {"type": "integer", "minimum": least, "maximum": 2**31 - 1}, about, required)


def schema_of(fields: Sequence[Field]) -> Schema:
    return {
        "type": "object",
        "properties": {field.name: {**field.schema, "description": field.about} for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def checked(body: Mapping[str, Any], fields: Sequence[Field]) -> Mapping[str, Any]:
    """The body, if it is as described; else 400, with the field and what is wrong with it."""
    problem = _object_problem(body, schema_of(fields), "")
    if problem:
        raise HTTPException(_BAD, problem)
    return body


def _problem(value: object, schema: Schema, place: str) -> str:
    match schema["type"]:
        case "string":
            return _string_problem(value, schema, place)
        case "boolean":
            return "" if isinstance(value, bool) else f"{place} must be true or false."
        case "integer":
            return _integer_problem(value, schema, place)
        case "array":
            return _array_problem(value, schema, place)
        case _:
            return _object_problem(value, schema, place)


def _string_problem(value: object, schema: Schema, place: str) -> str:
    if not isinstance(value, str):
        return f"{place} must be a text."
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} must be one of: {', '.join(schema['enum'])}."
    if len(value) < schema.get("minLength", 0):
        return f"{place} must not be empty."
    if len(value) > schema.get("maxLength", MOST_LETTERS):
        return f"{place} has {len(value)} letters; {schema['maxLength']} is the most."
    return ""


def _integer_problem(value: object, schema: Schema, place: str) -> str:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or not schema["minimum"] <= value <= schema["maximum"]:
        return f"{place} must be a whole number from {schema['minimum']} on."
    return ""


def _array_problem(value: object, schema: Schema, place: str) -> str:
    if not isinstance(value, list):
        return f"{place} must be a list."
    if len(value) > schema["maxItems"]:
        return f"{place} has {len(value)} entries; {schema['maxItems']} is the most."
    found = (_problem(one, schema["items"], f"{place}[{at}]") for at, one in enumerate(value))
    return next((problem for problem in found if problem), "")


def _object_problem(value: object, schema: Schema, place: str) -> str:
    if not isinstance(value, Mapping):
        return f"{place} must be an object."
    known, dot = schema["properties"], f"{place}." if place else ""
    if unknown := sorted(value.keys() - known.keys()):
        return f"{dot}{unknown[0]} is not known here. Known: {', '.join(known) or 'nothing'}."
    if missing := [name for name in schema["required"] if name not in value]:
        return f"{dot}{missing[0]} is missing."
    found = (_problem(one, known[name], f"{dot}{name}") for name, one in value.items())
    return next((problem for problem in found if problem), "")

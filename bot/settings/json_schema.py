"""JSON Schemas of `treehand.toml` and `.github/treehand.toml`, for editors: made from the models that read the files.

Rule: a schema says which keys there are and which types they have. Rules that need more stay with the reader.
"""

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.settings import schema
from bot.settings.schema import ProjectSettings, Settings, service_folders

Json = dict[str, Any]

_DRAFT = "http://json-schema.org/draft-07/schema#"
_MAY_BE_FALSE = ("setup", "verify", "services")
"""Lists of a project that `false` switches off. In the model, it is None, which TOML does not have."""
_REPOSITORY = {
    "setup": "Commands that prepare a worktree before an agent starts.",
    "verify": "Commands that verify the work of an agent.",
    "teardown": "Commands that run before a worktree is removed.",
    "copy": "Files or patterns that git ignores and worktrees need.",
    "protected": "Paths whose changes need approval, besides those of the operator.",
    "services": "Services that are started for each worktree.",
    "run": "Servers that people can start in a run's worktree, by name.",
}
"""Keys of a project that the repository's own file has as well."""
_INSTRUCTIONS = "Instructions for agents."


def settings_schema() -> Json:
    made = Settings.model_json_schema(by_alias=True)
    models = {"Settings": made, **made["$defs"]}
    for name, texts in _read_docstrings().items():
        for key, property_ in models.get(name, {}).get("properties", {}).items():
            if text := texts.get(_field_name(name, key)):
                property_["description"] = text
    project = models["ProjectSettings"]["properties"]
    project["tracker"]["enum"] = service_folders()
    cleaned = _without_nulls(made)
    for key in _MAY_BE_FALSE:
        listed = cleaned["$defs"]["ProjectSettings"]["properties"][key]
        listed["anyOf"] = [{"type": listed.pop("type"), "items": listed.pop("items")}, {"const": False}]
    return {"$schema": _DRAFT, **cleaned, "title": "Settings of Treehand: treehand.toml"}


def repository_schema() -> Json:
    project = _without_nulls(ProjectSettings.model_json_schema(by_alias=True))["properties"]
    properties: Json = {}
    for key, text in _REPOSITORY.items():
        values = {name: value for name, value in project[key].items() if name not in {"default", "title"}}
        for name in ("items", "additionalProperties"):
            if name in values:
                values[name] = {**values[name], "pattern": r"\S"}
        properties[key] = {"description": text, **values}
    properties["instructions"] = {"description": _INSTRUCTIONS, "type": "string"}
    title = "Settings of a repository for Treehand: .github/treehand.toml"
    return {
        "$schema": _DRAFT, "title": title, "type": "object", "additionalProperties": False, "properties": properties,
    }  # fmt: skip


def as_text(made: Json) -> str:
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _without_nulls(part: Any) -> Any:
    """TOML has no null, and editors need no titles that repeat the key."""
    if isinstance(part, list):
        return [_without_nulls(one) for one in part if one != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    found = {name: _without_nulls(value) for name, value in part.items() if not _is_noise(name, value)}
    if isinstance(found.get("anyOf"), list) and len(found["anyOf"]) == 1:
        found |= found.pop("anyOf")[0]
    return found


def _is_noise(name: str, value: object) -> bool:
    return (name == "title" and isinstance(value, str)) or (name, value) in [("format", "path"), ("default", None)]


def _read_docstrings() -> Mapping[str, Mapping[str, str]]:
    """Texts below the fields, keyed by class and field."""
    classes = [one for one in ast.parse(inspect.getsource(schema)).body if isinstance(one, ast.ClassDef)]
    return {one.name: dict(_texts_of(one)) for one in classes}


def _texts_of(made: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(made.body, made.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            yield field.target.id, " ".join(str(ast.literal_eval(below.value)).split())


def _field_name(model: str, key: str) -> str:
    fields = getattr(schema, model).model_fields
    return next((name for name, field in fields.items() if field.alias == key), key)

"""Loads the settings from the file and the environment. Rule: an unknown key is an error that names the nearest one."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from bot.errors import BadSettings
from bot.settings.schema import ProjectSettings, Section, Settings
from bot.settings.state_place import default_state_dir

PREFIX = "TREEHAND_"
SECRETS = {
    "github.token": "TREEHAND_GITHUB__TOKEN",
    "github.webhook_secret": "TREEHAND_GITHUB__WEBHOOK_SECRET",
    "github.marker_secret": "TREEHAND_GITHUB__MARKER_SECRET",
    "linear.api_key": "TREEHAND_LINEAR__API_KEY",
    "linear.oauth_token": "TREEHAND_LINEAR__OAUTH_TOKEN",
    "linear.webhook_secret": "TREEHAND_LINEAR__WEBHOOK_SECRET",
    "web.token": "TREEHAND_WEB__TOKEN",
}
"""Secrets, which the settings file must not contain, and their variables; the key `<key>_file` names a file instead."""
_NOT_SETTINGS = {
    "TREEHAND_CONFIG",
    "TREEHAND_SCHEMAS",
    "TREEHAND_TURN",
    "TREEHAND_STATE",
    "TREEHAND_LIVE_GITHUB",
    "TREEHAND_NOTIFY__URLS",
    *SECRETS.values(),
}
"""Variables that other modules read, or that agents receive."""
_FIXES = {
    "tuple_type": 'use a list, such as ["one", "another"]',
    "dict_type": 'use a table, such as {name = "value"}',
    "model_type": "use a table of settings",
    "string_type": "use a string in quotes",
    "int_type": "use a whole number",
    "int_parsing": "use a whole number",
    "int_from_float": "use a whole number",
    "float_type": "use a number",
    "float_parsing": "use a number",
    "bool_type": "use true or false",
    "bool_parsing": "use true or false",
}
"""Fixes by pydantic's name of the mistake; other mistakes are reported in pydantic's own words."""
_TABLES = ("projects.", "registries.")
"""Keys of tables that there may be several of: a variable sets all of them together."""
_PORT_VARIABLE = re.compile(r"TREEHAND_PORT_\d")
_Section = TypeVar("_Section", bound=Section)


def load(path: Path, *, required: bool = True) -> Settings:
    """Resolves relative paths from the folder of the file. Raises BadSettings."""
    text = _read(path, required=required)
    raw = _parse(text, path)
    _refuse_secrets(raw, path)
    _refuse_unknown_variables()
    try:
        settings = _load_with_environment(raw) if _environment_has_settings() else Settings(**raw)
    except ValidationError as exc:
        raise BadSettings("\n".join(_describe(error, path, text) for error in exc.errors())) from exc
    _refuse_duplicates(settings, path)
    _refuse_ambiguous_teams(settings, path)
    settings = _absolute(settings, path)
    if settings.sandbox.ca_file:
        from bot.settings.ca_file import trust_ca_file

        trust_ca_file(settings)
    return settings


def _environment_has_settings() -> bool:
    return any(name.upper().startswith(PREFIX) and name not in _NOT_SETTINGS for name in os.environ)


def _load_with_environment(raw: Mapping[str, Any]) -> Settings:
    """The environment overrides the file. Called only if needed, because of its slow import."""
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

    class SettingsWithEnvironment(BaseSettings, Settings):
        model_config = SettingsConfigDict(
            env_prefix=PREFIX,
            env_nested_delimiter="__",
            frozen=True,
            extra="forbid",
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],  # noqa: ARG003
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            hide = {name.lower() for name in _NOT_SETTINGS}
            env_settings.env_vars = {  # type: ignore[attr-defined]
                name: value
                for name, value in env_settings.env_vars.items()  # type: ignore[attr-defined]
                if name.lower() not in hide
            }
            return env_settings, init_settings

    try:
        return SettingsWithEnvironment(**raw)
    except SettingsError as exc:
        raise BadSettings(f"A {PREFIX} variable that sets a table must be JSON: {exc}.") from exc


def operator() -> str:
    """Returns the name of the person at the terminal."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "operator"


def _read(path: Path, *, required: bool) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        if required:
            raise BadSettings(
                f"There is no settings file {path}. Run `treehand init` in your repository to write one, "
                "or name another with --config or TREEHAND_CONFIG."
            ) from exc
        return ""
    except OSError as exc:
        raise BadSettings(
            f"The settings file {path} cannot be read: {exc.strerror}. Make it readable, or name another one."
        ) from exc
    except UnicodeDecodeError as exc:
        raise BadSettings(f"{path}: is not UTF-8 text. Save it as UTF-8.") from exc


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise BadSettings(f"{path}: is not valid TOML: {exc}.") from exc


def _refuse_secrets(raw: Mapping[str, Any], path: Path) -> None:
    for key, variable in SECRETS.items():
        section, _, name = key.partition(".")
        table = raw.get(section)
        if isinstance(table, Mapping) and name in table:
            raise BadSettings(
                f"{path}: {key} is a secret and must not be in this file. Set {variable} or {key}_file. "
                "If you have shared the file, replace the secret."
            )


def _describe(error: Mapping[str, Any], path: Path, text: str) -> str:
    """Names the place of a validation error, the mistake and its fix."""
    from bot.settings.toml_text import line_number

    place = [str(part) for part in error["loc"]]
    variable = _variable_for(place)
    line = 0 if variable else line_number(text, error["loc"])
    where = f"The variable {variable}" if variable else f"{path}: {f'line {line}: ' if line else ''}{'.'.join(place)}"
    if error["type"] == "extra_forbidden":
        return f"{where} is not a setting.{_suggest_table(place) or _suggest_key(place[-1], _siblings(place[:-1]))}"
    if error["type"] == "missing":
        return f"{where} is missing."
    value = "" if place[:2] == ["notify", "urls"] else f" = {error['input']!r}"
    fix = _FIXES.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return f"{where}{value}: {fix}."


def _variable_for(place: list[str]) -> str:
    """Returns the variable that a value came from, or an empty string if it came from the file."""
    names = (PREFIX + "__".join(place[:end]).upper() for end in range(len(place), 0, -1))
    return next((name for name in names if name in os.environ), "")


def _siblings(place: list[str]) -> list[str]:
    """Returns the valid keys next to an unknown one."""
    model: Any = Settings
    for part in place:
        if part.isdigit() or not hasattr(model, "model_fields"):
            continue
        model = model.model_fields[part].annotation if part in model.model_fields else model
        if get_origin(model) is tuple:
            model = get_args(model)[0]
    return [field.alias or name for name, field in model.model_fields.items()]


def _suggest_table(place: list[str]) -> str:
    """Suggests the right table for a valid key in a wrong one."""
    homes = [key.rpartition(".")[0] for key in known_keys() if key.rpartition(".")[2] == place[-1]]
    if len(homes) != 1:
        return ""
    tables = {"": "at the top of the file", "projects": "under `[[projects]]`", "registries": "under `[[registries]]`"}
    return f" It belongs {tables.get(homes[0], f'under `[{homes[0]}]`')}."


def _suggest_key(word: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean `{close[0]}`?" if close else f" Valid keys: {', '.join(known)}."


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """Yields every key with its table: `limits.working`."""
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if get_origin(annotation) is tuple:
            annotation = get_args(annotation)[0]
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from known_keys(annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{field.alias or name}"


def _refuse_unknown_variables() -> None:
    known = {
        f"{PREFIX}{key.upper().replace('.', '__')}": key for key in known_keys() if not key.startswith(_TABLES)
    } | {f"{PREFIX}PROJECTS": "projects", f"{PREFIX}REGISTRIES": "registries"}
    sections = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in sorted(os.environ):
        is_known = name in known or name in sections or name in _NOT_SETTINGS or _PORT_VARIABLE.fullmatch(name)
        if name.startswith(PREFIX) and not is_known:
            raise BadSettings(f"The variable {name} is not a setting.{_suggest_key(name, sorted(known))}")


def _refuse_duplicates(settings: Settings, path: Path) -> None:
    names = [project.name.lower() for project in settings.projects]
    for name in names:
        if names.count(name) > 1:
            raise BadSettings(f"{path}: two projects have the name {name!r}. Give each its own name.")
    hosts = [registry.host.removesuffix(":443") for registry in settings.registries]
    for host in hosts:
        if hosts.count(host) > 1:
            raise BadSettings(f"{path}: two registries have the host {host}. Remove one of them.")
    tracked = [project.repository.lower() for project in settings.projects if project.tracker == "github"]
    for repository in tracked:
        if tracked.count(repository) > 1:
            raise BadSettings(f"{path}: two projects take issues from {repository}. Remove one of them.")


def _refuse_ambiguous_teams(settings: Settings, path: Path) -> None:
    """Every issue of a team in Linear must belong to exactly one project."""
    linear = [project for project in settings.projects if project.tracker == "linear"]
    for project in linear:
        where = f"{path}: project {project.name!r}"
        others = [one for one in linear if one.team.lower() == project.team.lower() and one is not project]
        if not project.team:
            raise BadSettings(
                f"{where} takes issues from Linear and needs a `team`: the key of the team, such as `ENG`."
            )
        if project.default and any(one.default for one in others):
            raise BadSettings(f"{where} is not the only `default` of team {project.team}. Keep one of them.")
    if misplaced := next((one for one in settings.projects if one.team and one.tracker != "linear"), None):
        raise BadSettings(
            f'{path}: project {misplaced.name!r} has a `team` but not `tracker = "linear"`. Add it, or remove `team`.'
        )


def _absolute(settings: Settings, path: Path) -> Settings:
    folder = path.resolve().parent
    projects = tuple(_resolve_repository(project, folder, path) for project in settings.projects)
    is_set = "state_dir" in settings.model_fields_set
    state_dir = folder / settings.state_dir.expanduser() if is_set else default_state_dir()
    return settings.model_copy(
        update={
            "state_dir": state_dir,
            "sandbox": _with_absolute_files(settings.sandbox, folder).model_copy(
                update={"tools": tuple(folder / tool.expanduser() for tool in settings.sandbox.tools)}
            ),
            "registries": tuple(_with_absolute_files(registry, folder) for registry in settings.registries),
            "agent": _with_absolute_files(settings.agent, folder),
            "github": _with_absolute_files(settings.github, folder),
            "linear": _with_absolute_files(settings.linear, folder),
            "web": _with_absolute_files(settings.web, folder),
            "notify": _with_absolute_files(settings.notify, folder),
            "projects": projects,
        }
    )


def _with_absolute_files(section: _Section, folder: Path) -> _Section:
    files = {name: file for name in type(section).model_fields if isinstance(file := getattr(section, name), Path)}
    return section.model_copy(update={name: folder / file.expanduser() for name, file in files.items()})


def _resolve_repository(project: ProjectSettings, folder: Path, path: Path) -> ProjectSettings:
    """Makes a path absolute; keeps `owner/name`, unless such a folder exists."""
    local_path = folder / Path(project.repository).expanduser()
    on_github = project.forge == "github"
    if project.tracker == "github" and not on_github:
        raise BadSettings(
            f"{path}: project {project.name!r} takes issues from GitHub, so its repository must be `owner/name`, "
            f"not {project.repository!r}."
        )
    project = _with_absolute_files(project, folder)
    if on_github and (project.tracker == "github" or not local_path.is_dir()):
        return project
    return project.model_copy(update={"repository": str(local_path)})

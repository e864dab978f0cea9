"""From the file and the environment to settings. Strict: a key nobody knows is an error that names the nearest one."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from bot.errors import BadSettings
from bot.settings.schema import ProjectSettings, Section, Settings

DEFAULT_FILE = "treehand.toml"
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
"""What must never stand in the settings file, and the variable it comes from; `<key>_file` names a file instead."""
_NOT_SETTINGS = {
    "TREEHAND_CONFIG",
    "TREEHAND_SCHEMAS",
    "TREEHAND_TURN",
    "TREEHAND_STATE",
    "TREEHAND_LIVE_GITHUB",
    "TREEHAND_NOTIFY__URLS",
    *SECRETS.values(),
}
"""Variables of ours that are read elsewhere, or given to agents."""
_WANTED = {
    "tuple_type": 'use a list, such as ["one", "another"]',
    "dict_type": 'use a table, such as {name = "value"}',
    "model_type": "use a table of settings",
    "string_type": "use a text in quotes",
    "int_type": "use a whole number",
    "int_parsing": "use a whole number",
    "int_from_float": "use a whole number",
    "float_type": "use a number",
    "float_parsing": "use a number",
    "bool_type": "use true or false",
    "bool_parsing": "use true or false",
}
"""What to write instead, by what pydantic calls the mistake; else its own words will do."""
_OF_WORKTREES = re.compile(r"TREEHAND_PORT_\d")
_Section = TypeVar("_Section", bound=Section)


def settings_file(chosen: str = "") -> Path:
    return Path(chosen or os.environ.get("TREEHAND_CONFIG", "") or DEFAULT_FILE)


def load(path: Path, *, required: bool = True) -> Settings:
    """The settings in a file and the environment. Paths in the file are relative to it."""
    raw = _read(path, required=required)
    _refuse_secrets(raw, path)
    _refuse_unknown_variables()
    try:
        settings = _under_environment(raw) if _environment_speaks() else Settings(**raw)
    except ValidationError as exc:
        raise BadSettings("\n".join(_sentence(error, path) for error in exc.errors())) from exc
    _refuse_twins(settings, path)
    _refuse_teams(settings, path)
    return _absolute(settings, path)


def _environment_speaks() -> bool:
    return any(name.upper().startswith(PREFIX) and name not in _NOT_SETTINGS for name in os.environ)


def _under_environment(raw: Mapping[str, Any]) -> Settings:
    """What the environment says wins over the file. Reading it takes a slow import, so only who needs it pays."""
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

    class UnderEnvironment(BaseSettings, Settings):
        model_config = SettingsConfigDict(
            env_prefix=PREFIX,
            env_nested_delimiter="__",
            frozen=True,
            extra="forbid",
            nested_model_default_partial_update=True,
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
        return UnderEnvironment(**raw)
    except SettingsError as exc:
        raise BadSettings(f"A {PREFIX} variable that stands for a whole table must be JSON: {exc}.") from exc


def operator() -> str:
    """What the person at the terminal is called."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "operator"


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        if required:
            raise BadSettings(
                f"There is no settings file {path}. `treehand init` in your repository writes one; "
                "--config or TREEHAND_CONFIG names another."
            ) from exc
        return {}
    except OSError as exc:
        raise BadSettings(
            f"The settings file {path} cannot be read: {exc.strerror}. Name one that you may read."
        ) from exc
    except UnicodeDecodeError as exc:
        raise BadSettings(f"{path}: is not UTF-8 text. Save it as that.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise BadSettings(f"{path}: is not valid TOML: {exc}.") from exc


def _refuse_secrets(raw: Mapping[str, Any], path: Path) -> None:
    for key, variable in SECRETS.items():
        section, _, name = key.partition(".")
        table = raw.get(section)
        if isinstance(table, Mapping) and name in table:
            raise BadSettings(
                f"{path}: {key} is a secret and must not stand in this file. Set {variable}, or {key}_file. "
                "If the file was ever shared, make a new one."
            )


def _sentence(error: Mapping[str, Any], path: Path) -> str:
    """One validation error: where it is, what is wrong, and what to write instead."""
    place = [str(part) for part in error["loc"]]
    variable = _variable_for(place)
    where = f"The variable {variable}" if variable else f"{path}: {'.'.join(place)}"
    if error["type"] == "extra_forbidden":
        return f"{where} is not a setting.{_elsewhere(place) or _nearest(place[-1], _siblings(place[:-1]))}"
    if error["type"] == "missing":
        return f"{where} is missing."
    given = "" if place[:2] == ["notify", "urls"] else f" = {error['input']!r}"
    wanted = _WANTED.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return f"{where}{given}: {wanted}."


def _variable_for(place: list[str]) -> str:
    """The one that a value came from; empty: it stands in the file."""
    names = (PREFIX + "__".join(place[:end]).upper() for end in range(len(place), 0, -1))
    return next((name for name in names if name in os.environ), "")


def _siblings(place: list[str]) -> list[str]:
    """The keys that are known where an unknown one was found."""
    model: Any = Settings
    for part in place:
        if part.isdigit() or not hasattr(model, "model_fields"):
            continue
        model = model.model_fields[part].annotation if part in model.model_fields else model
        if get_origin(model) is tuple:
            model = get_args(model)[0]
    return [field.alias or name for name, field in model.model_fields.items()]


def _elsewhere(place: list[str]) -> str:
    """A key that is right, in the wrong table: what stands below a table's head belongs to that."""
    homes = [key.rpartition(".")[0] for key in known_keys() if key.rpartition(".")[2] == place[-1]]
    if len(homes) != 1:
        return ""
    tables = {"": "at the top of the file", "projects": "under `[[projects]]`"}
    return f" It belongs {tables.get(homes[0], f'under `[{homes[0]}]`')}."


def _nearest(word: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean `{close[0]}`?" if close else f" Known here: {', '.join(known)}."


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """Every key that can be set, dotted."""
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
        f"{PREFIX}{key.upper().replace('.', '__')}": key for key in known_keys() if not key.startswith("projects.")
    } | {f"{PREFIX}PROJECTS": "projects"}
    sections = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in sorted(os.environ):
        is_known = name in known or name in sections or name in _NOT_SETTINGS or _OF_WORKTREES.fullmatch(name)
        if name.startswith(PREFIX) and not is_known:
            raise BadSettings(f"The variable {name} is not a setting.{_nearest(name, sorted(known))}")


def _refuse_twins(settings: Settings, path: Path) -> None:
    names = [project.name.lower() for project in settings.projects]
    for name in names:
        if names.count(name) > 1:
            raise BadSettings(f"{path}: two projects are called {name!r}: give each a name of its own.")
    tracked = [project.repository.lower() for project in settings.projects if project.tracker == "github"]
    for repository in tracked:
        if tracked.count(repository) > 1:
            raise BadSettings(f"{path}: two projects have their issues in {repository}: who should take one?")


def _refuse_teams(settings: Settings, path: Path) -> None:
    """Issues of one team must be told apart."""
    there = [project for project in settings.projects if project.tracker == "linear"]
    for project in there:
        where = f"{path}: project {project.name!r}"
        mates = [one for one in there if one.team.lower() == project.team.lower() and one is not project]
        if not project.team:
            raise BadSettings(f"{where} has its issues in Linear, so its `team` must be set: the key of one, as `ENG`.")
        if project.default and any(one.default for one in mates):
            raise BadSettings(f"{where} is not the only `default` of team {project.team}: who should take an issue?")
    if stray := next((one for one in settings.projects if one.team and one.tracker != "linear"), None):
        raise BadSettings(f'{path}: project {stray.name!r} has a `team`, and no `tracker = "linear"`.')


def _absolute(settings: Settings, path: Path) -> Settings:
    folder = path.resolve().parent
    projects = tuple(_placed(project, folder, path) for project in settings.projects)
    state_dir = folder / settings.state_dir.expanduser()
    return settings.model_copy(
        update={
            "state_dir": state_dir,
            "sandbox": settings.sandbox.model_copy(
                update={"tools": tuple(folder / tool.expanduser() for tool in settings.sandbox.tools)}
            ),
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


def _placed(project: ProjectSettings, folder: Path, path: Path) -> ProjectSettings:
    """A path becomes absolute; `owner/name` stays, unless it is a folder here."""
    there = folder / Path(project.repository).expanduser()
    named = project.forge == "github"
    if project.tracker == "github" and not named:
        raise BadSettings(
            f"{path}: project {project.name!r} has its issues on GitHub, so its repository must be `owner/name`; "
            f"this is {project.repository!r}."
        )
    project = _with_absolute_files(project, folder)
    if named and (project.tracker == "github" or not there.is_dir()):
        return project
    return project.model_copy(update={"repository": str(there)})

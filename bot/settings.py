"""Everything an operator can set. Defaults live here and nowhere else; nothing else reads the environment.

Strict: a key nobody knows is an error that names the nearest one, in the file and in the environment alike.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from bot.errors import BadSettings

DEFAULT_FILE = "treehand.toml"
PREFIX = "TREEHAND_"
_NOT_SETTINGS = {"TREEHAND_CONFIG", "TREEHAND_SCHEMAS", "TREEHAND_TURN", "TREEHAND_STATE"}
"""Variables of ours that are read elsewhere, or given to agents."""

MODEL_VARIABLES = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_MODEL",
)
"""How the agent's own CLI is told where its model is and with which key."""

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Poll(Section):
    interval: float = Field(30, gt=0)
    """Seconds between two looks at a tracker that cannot tell when it changed."""


class Limits(Section):
    working: int = Field(4, ge=1)
    """Agents at once, over all projects."""
    working_per_project: int = Field(4, ge=1)
    """Agents at once on one project."""
    turn_minutes: float = Field(60, gt=0)
    """How long one turn may take in all."""
    stall_minutes: float = Field(10, gt=0)
    """How long an agent may show no progress while no tool is running."""
    failures: int = Field(3, ge=1)
    """Failed turns in a row before asking a person."""
    free_disk_gb: float = Field(5, ge=0)
    """Nothing new starts below this much free disk."""


class Budget(Section):
    per_issue_usd: float = Field(5, ge=0)
    """What one issue may cost in all; 0: no limit."""
    per_day_usd: float = Field(50, ge=0)
    """What all issues may cost in a day (UTC); 0: no limit."""


class AgentSettings(Section):
    kind: Literal["claude"] = "claude"
    """Which agent does the work."""
    model: str = ""
    """Which model it uses; empty: the agent's default."""


class Sandbox(Section):
    kind: Literal["none"] = "none"
    """What holds the agent; `none` is said in every progress comment."""


def _name(value: str) -> str:
    if not value or not all(letter.isalnum() or letter in "-_." for letter in value) or value.startswith((".", "-")):
        raise ValueError("use letters, digits, '-', '_' and '.'")
    return value


class ProjectSettings(Section):
    name: Annotated[str, AfterValidator(_name)]
    """What people call it; issues of the embedded tracker are `NAME#1`."""
    tracker: Literal["local"] = "local"
    """Where work is asked for."""
    repository: Path
    """Where code is offered: the path of your own repository."""
    base: str = ""
    """The branch to start from and merge into; empty: the repository's default."""


class Settings(Section):
    state_dir: Path = Path("~/.local/state/treehand")
    """Where database, mirrors, worktrees and transcripts live."""
    label: Annotated[str, AfterValidator(_name)] = "ai"
    """Asks for work; also the prefix of the bot's own labels and commands."""
    poll: Poll = Poll()
    limits: Limits = Limits()
    budget: Budget = Budget()
    agent: AgentSettings = AgentSettings()
    sandbox: Sandbox = Sandbox()
    projects: tuple[ProjectSettings, ...] = ()


def settings_file(chosen: str = "") -> Path:
    return Path(chosen or os.environ.get("TREEHAND_CONFIG", "") or DEFAULT_FILE)


def load(path: Path, *, required: bool = True) -> Settings:
    """The settings in a file and the environment. Paths in the file are relative to it."""
    raw = _read(path, required=required)
    _refuse_unknown_variables()
    try:
        settings = _under_environment(raw) if _environment_speaks() else Settings(**raw)
    except ValidationError as exc:
        raise BadSettings("\n".join(_sentence(error, path) for error in exc.errors())) from exc
    _refuse_twins(settings, path)
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
            return env_settings, init_settings

    try:
        return UnderEnvironment(**raw)
    except SettingsError as exc:
        raise BadSettings(f"A {PREFIX} variable that stands for a whole table must be JSON: {exc}.") from exc


def model_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in MODEL_VARIABLES if os.environ.get(name)}


def has_key() -> bool:
    """Is there any credential for the model?"""
    return any(os.environ.get(name) for name in KEY_VARIABLES)


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
        raise BadSettings(f"The settings file {path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise BadSettings(f"{path}: is not UTF-8 text.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise BadSettings(f"{path}: is not valid TOML: {exc}.") from exc


def _sentence(error: Mapping[str, Any], path: Path) -> str:
    """One validation error: where it is, what is wrong, and what to write instead."""
    place = [str(part) for part in error["loc"]]
    where = f"{path}: {'.'.join(place)}"
    if error["type"] == "extra_forbidden":
        return f"{where} is not a setting.{_nearest(place[-1], _siblings(place[:-1]))}"
    if error["type"] == "missing":
        return f"{where} is missing."
    return f"{where} = {error['input']!r}: {error['msg'].removeprefix('Value error, ')}."


def _siblings(place: list[str]) -> list[str]:
    """The keys that are known where an unknown one was found."""
    model: Any = Settings
    for part in place:
        if part.isdigit() or not hasattr(model, "model_fields"):
            continue
        model = model.model_fields[part].annotation if part in model.model_fields else model
        if get_origin(model) is tuple:
            model = get_args(model)[0]
    return list(model.model_fields)


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
            yield f"{prefix}{name}"


def _refuse_unknown_variables() -> None:
    known = {
        f"{PREFIX}{key.upper().replace('.', '__')}": key for key in known_keys() if not key.startswith("projects.")
    } | {f"{PREFIX}PROJECTS": "projects"}
    sections = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and not (name in known or name in sections or name in _NOT_SETTINGS):
            raise BadSettings(f"The variable {name} is not a setting.{_nearest(name, sorted(known))}")


def _refuse_twins(settings: Settings, path: Path) -> None:
    names = [project.name.lower() for project in settings.projects]
    for name in names:
        if names.count(name) > 1:
            raise BadSettings(f"{path}: two projects are called {name!r}: give each a name of its own.")


def _absolute(settings: Settings, path: Path) -> Settings:
    folder = path.resolve().parent
    projects = tuple(
        project.model_copy(update={"repository": folder / project.repository.expanduser()})
        for project in settings.projects
    )
    state_dir = folder / settings.state_dir.expanduser()
    return settings.model_copy(update={"state_dir": state_dir, "projects": projects})

"""The settings file that `treehand init` writes: short, commented and without secrets."""

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from bot.cli.kept_secrets import KEY_FOLDER
from bot.settings.state_place import STATES

_HEAD = """\
#:schema {schema}
# Settings of Treehand. `treehand check` tests them; `treehand docs settings` describes every key.

{state_dir}  # database, mirrors, worktrees, transcripts
{label}  # the label that asks for work

[limits]
{working}  # agents at the same time

[budget]  # 0 = no limit
per_issue_usd = 5
per_day_usd = 50
"""
_COMMENT_COLUMN = 46
_ABOUT_CI = 'when workflows run the code of agents: or "after-approval"; `treehand docs github`'


def schema_file() -> Path:
    """Editors find it without a network: the line `#:schema` names it."""
    return Path.home() / KEY_FOLDER / "treehand.schema.json"


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """A GitHub App and the files with its key and its webhook secret."""

    id: int
    key_file: Path
    webhook_secret_file: Path | None = None


@dataclass(frozen=True, slots=True)
class SettingsDraft:
    """The answers and defaults that the settings file is made from."""

    name: str
    tracker: str
    repository: str
    """`owner/name` on GitHub, or `.` for the local forge."""
    base: str = ""
    team: str = ""
    api_url: str = ""
    """API of a GitHub Enterprise server; empty for github.com."""
    app: AppCredentials | None = None
    folder: str = "."
    """Path of the repository, relative to the settings file; used with the local forge."""
    token_file: Path | None = None
    """File with the token for GitHub."""
    key_file: Path | None = None
    """File with the key of the model."""
    setup: tuple[str, ...] = ()
    """Commands that the user chose; empty: those of the repository's files."""
    verify: tuple[str, ...] = ()
    state_dir: str = str(STATES)

    @property
    def on_github(self) -> bool:
        return self.repository != "."

    def __str__(self) -> str:
        head = _HEAD.format(
            schema=schema_file().as_uri(),
            state_dir=_line("state_dir", self.state_dir).ljust(_COMMENT_COLUMN),
            label=_line("label", "ai").ljust(_COMMENT_COLUMN),
            working=_line("working", 4).ljust(_COMMENT_COLUMN),
        )
        return "\n".join([head, *self._agent(), *self._github(), *self.project_lines()]) + "\n"

    def _agent(self) -> list[str]:
        return ["[agent]", _line("key_file", str(self.key_file)), ""] if self.key_file else []

    def _github(self) -> list[str]:
        lines = [_line("api_url", self.api_url)] if self.api_url else []
        lines += [_line("token_file", str(self.token_file))] if self.token_file else []
        if self.app:
            lines += [_line("app_id", self.app.id), _line("private_key_file", str(self.app.key_file))]
            lines += [_line("webhook_secret_file", str(file))] if (file := self.app.webhook_secret_file) else []
        return ["[github]", *lines, ""] if lines else []

    def project_lines(self) -> list[str]:
        """The project's table."""
        credentials = {
            "github": "GITHUB_TOKEN, or an App: `treehand docs github`",
            "linear": "LINEAR_API_KEY: `treehand docs linear`",
            "local": "issues on this machine: `treehand issue new`",
        }
        repository = self.repository if self.on_github else self.folder
        return [
            "[[projects]]",
            _line("name", self.name),
            f"{_line('tracker', self.tracker).ljust(_COMMENT_COLUMN)}  # {credentials[self.tracker]}",
            *([_line("team", self.team)] if self.team else []),
            f"{_line('repository', repository).ljust(_COMMENT_COLUMN)}  # {_about_repository(self.repository)}",
            f"{_line('base', self.base).ljust(_COMMENT_COLUMN)}  # empty: the default branch",
            *([f"{_line('ci', 'at-once').ljust(_COMMENT_COLUMN)}  # {_ABOUT_CI}"] if self.on_github else []),
            *(_line(key, commands) for key, commands in (("setup", self.setup), ("verify", self.verify)) if commands),
        ]


def _about_repository(repository: str) -> str:
    if repository == ".":
        return "this repository; pull requests are merged into its branch"
    return "the repository for pull requests"


def _line(name: str, value: str | int | tuple[str, ...]) -> str:
    """TOML writes strings, numbers and lists of strings like JSON."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def plain_name(text: str) -> str:
    """Returns a valid name of a project."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.") or "project"


def choose_tracker(team: str, repository: str) -> str:
    """Returns the tracker of a project whose pull requests go to this repository; it is empty for this machine."""
    if team:
        return "linear"
    return "github" if repository else "local"

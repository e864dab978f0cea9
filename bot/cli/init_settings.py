"""The settings that `treehand init` writes: short, commented, and nothing in them that is secret."""

import json
from dataclasses import dataclass
from pathlib import Path

_HEAD = """\
# Treehand's settings. `treehand check` says whether all is well; docs/settings.md has every key.

{state_dir}  # database, mirrors, worktrees, transcripts
{label}  # asks for work

[limits]
{working}  # agents at once

[budget]  # 0 = no limit
per_issue_usd = 5
per_day_usd = 50
"""
_COLUMN = 46


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App that signs in with a key of its own."""

    id: int
    key_file: Path
    webhook_secret_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What was answered, or taken."""

    name: str
    tracker: str
    repository: str
    """`.`: this folder, and the embedded forge."""
    base: str = ""
    team: str = ""
    api_url: str = ""
    """Empty: GitHub itself."""
    app: App | None = None
    folder: str = "."
    """Where `repository` is this folder: that folder, from where the file is."""

    @property
    def on_github(self) -> bool:
        return self.repository != "."

    def __str__(self) -> str:
        head = _HEAD.format(
            state_dir=_line("state_dir", f"~/.local/state/treehand/{self.name}").ljust(_COLUMN),
            label=_line("label", "ai").ljust(_COLUMN),
            working=_line("working", 4).ljust(_COLUMN),
        )
        return "\n".join([head, *self._github(), *self._project()]) + "\n"

    def _github(self) -> list[str]:
        lines = [_line("api_url", self.api_url)] if self.api_url else []
        if self.app:
            lines += [_line("app_id", self.app.id), _line("private_key_file", str(self.app.key_file))]
            lines += [_line("webhook_secret_file", str(file))] if (file := self.app.webhook_secret_file) else []
        return ["[github]", *lines, ""] if lines else []

    def _project(self) -> list[str]:
        sign_in = {
            "github": "docs/github.md: GITHUB_TOKEN, or an App",
            "linear": "docs/linear.md: LINEAR_API_KEY",
            "local": "the embedded one: `treehand issue new`",
        }
        repository = self.repository if self.on_github else self.folder
        return [
            "[[projects]]",
            _line("name", self.name),
            f"{_line('tracker', self.tracker).ljust(_COLUMN)}  # {sign_in[self.tracker]}",
            *([_line("team", self.team)] if self.team else []),
            f"{_line('repository', repository).ljust(_COLUMN)}  # {_where(self.repository)}",
            f"{_line('base', self.base).ljust(_COLUMN)}  # empty: the default branch",
        ]


def _where(repository: str) -> str:
    return "this one; merges land on its branch" if repository == "." else "where pull requests are offered"


def _line(name: str, value: str | int) -> str:
    """TOML writes texts and numbers as JSON does, as far as those here go."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"

"""Every key there is, with its default and what it means. Defaults live here and nowhere else."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")


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
    ci_fixes: int = Field(2, ge=0)
    """Turns spent on one pull request's red checks before asking a person."""
    quiet_seconds: float = Field(60, ge=0)
    """How long a reviewer must have been quiet before a review is acted upon."""
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


class GitHubSettings(Section):
    api_url: str = "https://api.github.com"
    """The API of GitHub, or of a GitHub Enterprise server: `https://HOST/api/v3`."""
    token_file: Path | None = None
    """A file with a token in it, instead of `TREEHAND_GITHUB__TOKEN` or `GITHUB_TOKEN`."""
    app_id: int = Field(0, ge=0)
    """Sign in as this GitHub App instead of with a token."""
    installation_id: int = Field(0, ge=0)
    """Which installation of the App; 0: the one each repository has."""
    private_key_file: Path | None = None
    """The App's private key."""
    webhook_secret_file: Path | None = None
    """A file with the webhooks' secret, instead of `TREEHAND_GITHUB__WEBHOOK_SECRET`."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if value and not (host and port.isdigit() and int(port) < 65536):  # noqa: PLR2004 - ports end there
        raise ValueError("use HOST:PORT, or an empty one for none")
    return value


class Web(Section):
    bind: Annotated[str, AfterValidator(_address)] = "127.0.0.1:8700"
    """Where the daemon listens; empty: nowhere. Any other host than this machine's own needs a token."""
    token_file: Path | None = None
    """A file with the token that whoever comes in must show, instead of `TREEHAND_WEB__TOKEN`."""


def _name(value: str) -> str:
    if not value or not all(letter.isalnum() or letter in "-_." for letter in value) or value.startswith((".", "-")):
        raise ValueError("use letters, digits, '-', '_' and '.'")
    return value


class ProjectSettings(Section):
    name: Annotated[str, AfterValidator(_name)]
    """What people call it; issues of the embedded tracker are `NAME#1`."""
    tracker: Literal["local", "github"] = "local"
    """Where work is asked for."""
    repository: str
    """Where code is offered: `owner/name` on GitHub, or the path of your own repository for the embedded forge."""
    remote: str = ""
    """Where git fetches and pushes, when that is not the forge's own address."""
    base: str = ""
    """The branch to start from and merge into; empty: the repository's default."""
    trusted: tuple[str, ...] = ()
    """More people who may steer, besides those who may push: GitHub logins."""

    @property
    def forge(self) -> Literal["local", "github"]:
        return "github" if _OWNER_AND_NAME.fullmatch(self.repository) else "local"

    @property
    def folder(self) -> Path | None:
        """Of the person's own repository, where the embedded forge is used."""
        return Path(self.repository) if self.forge == "local" else None


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
    github: GitHubSettings = GitHubSettings()
    web: Web = Web()
    projects: tuple[ProjectSettings, ...] = ()

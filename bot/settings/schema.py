"""Every key there is, with its default and what it means. Defaults live here and nowhere else."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_PORTS_END = 65536
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
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
    changed_files: int = Field(500, ge=1)
    """Files one turn may change before a person is asked."""
    changed_mb: float = Field(20, gt=0)
    """New content one turn may add before a person is asked."""
    free_disk_gb: float = Field(5, ge=0)
    """Nothing new starts below this much free disk."""
    setup_minutes: float = Field(15, gt=0)
    """How long making a worktree ready may take."""
    verify_minutes: float = Field(15, gt=0)
    """How long verification may take on one commit."""
    verify_rounds: int = Field(2, ge=0)
    """Turns one run spends on what verification found broken; then it is offered all the same."""
    claim_seconds: float = Field(90, ge=0, le=3600)
    """After how much silence another daemon may take over a repository; 0: there is no other, and none is asked."""


class Budget(Section):
    per_issue_usd: float = Field(5, ge=0)
    """What one issue may cost in all; 0: no limit."""
    per_issue_tokens: int = Field(30_000_000, ge=0)
    """How many tokens one issue may use in all, as counted on this side; 0: no limit."""
    per_issue_turns: int = Field(100, ge=0)
    """How many turns one issue may take in all, lost and failed ones included; 0: no limit."""
    per_issue_hours: float = Field(24, ge=0)
    """How long agents may work on one issue in all; 0: no limit."""
    per_day_usd: float = Field(50, ge=0)
    """What all issues may cost in a day (UTC); 0: no limit."""


class AgentSettings(Section):
    kind: Literal["claude"] = "claude"
    """Which agent does the work."""
    model: str = ""
    """Which model it uses; empty: the agent's default."""
    key_file: Path | None = None
    """A file with the key for the model in it, instead of `ANTHROPIC_API_KEY` or `CLAUDE_CODE_OAUTH_TOKEN`."""


def _reachable(value: str) -> str:
    host, _, port = value.partition(":")
    if not _HOST.fullmatch(host) or not (port or "443").isdigit() or not 0 < int(port or 443) < _PORTS_END:
        raise ValueError("use NAME or NAME:PORT, without `https://`, `*` or a path")
    return value.lower()


class Sandbox(Section):
    kind: Literal["bwrap", "none"] = "bwrap"
    """What holds the agent: bubblewrap, or nothing; `none` is said in every progress comment."""
    hosts: tuple[Annotated[str, AfterValidator(_reachable)], ...] = ()
    """Hosts an agent may reach besides its model, each `NAME` (port 443) or `NAME:PORT`; only over TLS."""
    setup_hosts: tuple[Annotated[str, AfterValidator(_reachable)], ...] = ()
    """The same for the commands that make a worktree ready, and for those alone."""
    tools: tuple[Path, ...] = ()
    """More folders of this machine that agents may read, with the tools they need: `/opt/node`, `~/.cargo/bin`."""
    memory_gb: float = Field(6, ge=0)
    """Memory one agent and all it starts may take; 0: no limit."""
    processes: int = Field(1000, ge=0)
    """Processes and threads one agent may have at once; 0: no limit."""
    file_gb: float = Field(4, ge=0)
    """How large a file may be that an agent writes; 0: no limit."""


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
    marker_secret_file: Path | None = None
    """A file with what our comments are signed with, instead of `TREEHAND_GITHUB__MARKER_SECRET`; none: it follows
    from the token, or from the App's key."""


def _choice(value: bool | str) -> bool | str:  # noqa: FBT001 - as it stands in the file
    """A variable can only hold text."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


_Move = Annotated[bool | str, AfterValidator(_choice)]


class LinearSettings(Section):
    api_url: str = "https://api.linear.app/graphql"
    """Where Linear answers queries."""
    api_key_file: Path | None = None
    """A file with an API key in it, instead of `TREEHAND_LINEAR__API_KEY` or `LINEAR_API_KEY`."""
    oauth_token_file: Path | None = None
    """A file with an OAuth application's token, instead of `TREEHAND_LINEAR__OAUTH_TOKEN`; it goes before a key."""
    webhook_secret_file: Path | None = None
    """A file with the webhooks' secret, instead of `TREEHAND_LINEAR__WEBHOOK_SECRET`."""
    started: _Move = True
    """The state an issue is moved to when work begins: its name, or `true` for the first one of that type; `false`:
    it is not moved."""
    review: _Move = True
    """The same for when a pull request is open; `true`: the started state that has "review" in its name."""
    completed: _Move = True
    """The same for when it was merged; `true`: unless Linear's own integration does that in this team."""
    back: bool = True
    """Whether it is moved back to where it was when its run ends without a merge."""
    people: dict[str, str] = {}
    """Who is who: e-mail address or id in Linear to login on GitHub. Others are known by a verified e-mail address that
    is the same on both."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if value and not (host and port.isdigit() and int(port) < _PORTS_END):
        raise ValueError("use HOST:PORT, or an empty one for none")
    return value


def _host(value: str) -> str:
    if not re.fullmatch(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", value):
        raise ValueError("use the name of a host, such as `bot.example.com`, without `https://`")
    return value


def _header(value: str) -> str:
    if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", value):
        raise ValueError("use the name of a header, such as `X-Forwarded-User`")
    return value


def _ip(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError as exc:
        raise ValueError("use the address of a proxy, such as `10.0.0.2`") from exc


class Web(Section):
    bind: Annotated[str, AfterValidator(_address)] = "127.0.0.1:8700"
    """Where the daemon listens; empty: nowhere. Any other host than this machine's own needs a token."""
    token_file: Path | None = None
    """A file with the token that whoever comes in must show, instead of `TREEHAND_WEB__TOKEN`."""
    hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = ()
    """More names people reach it by, such as a reverse proxy's. Others are refused."""
    user_header: Annotated[str, AfterValidator(_header)] = ""
    """Where a proxy that people sign in to says who asks: `X-Forwarded-User`."""
    proxies: tuple[Annotated[str, AfterValidator(_ip)], ...] = ("127.0.0.1", "::1")
    """The addresses that such a proxy asks from; from others the header means nothing."""


class Log(Section):
    format: Literal["text", "json"] = "text"
    """How a line of the log is written: for people, or one JSON object each."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """What is too unimportant to be written is left out."""


def _hours(value: str) -> str:
    if value and not re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d", value):
        raise ValueError("use HH:MM-HH:MM, such as 22:00-07:00, or an empty one for none")
    return value


def _zone(value: str) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(value).key if value else ""
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError("use the name of a time zone this machine knows, such as `Europe/Berlin`") from exc


def _page(value: str) -> str:
    if value and not re.fullmatch(r"https?://[A-Za-z0-9._\-\[\]:]+(?:/[\w./~-]*)?", value):
        raise ValueError("use where people reach the dashboard, such as `https://bot.example.com`")
    return value.rstrip("/")


class Notify(Section):
    urls: tuple[str, ...] = ()
    """Whom to tell, as Apprise writes it: chat, e-mail, desktop. With tokens they belong in `TREEHAND_NOTIFY__URLS`."""
    urls_file: Path | None = None
    """A file with such addresses, one a line, instead."""
    on: tuple[Literal["asking", "review", "failed", "budget", "trouble"], ...] = (
        "asking",
        "review",
        "failed",
        "budget",
        "trouble",
    )
    """Of what: a run needs somebody, is in review, failed, or reached its budget; or something else is not well."""
    quiet: Annotated[str, AfterValidator(_hours)] = ""
    """Hours in which nobody is told: `22:00-07:00`; what happens then is told in one message afterwards."""
    zone: Annotated[str, AfterValidator(_zone)] = ""
    """The time zone those hours are in: `Europe/Berlin`; empty: this machine's."""
    digest_minutes: float = Field(0, ge=0, le=1440)
    """What happens within so many minutes is told in one message; 0: at once."""
    link: Annotated[str, AfterValidator(_page)] = ""
    """Where people reach the dashboard: `https://bot.example.com`; empty: messages do not lead there."""


def _name(value: str) -> str:
    if not value or not all(letter.isalnum() or letter in "-_." for letter in value) or value.startswith((".", "-")):
        raise ValueError("use letters, digits, '-', '_' and '.'")
    return value


def _pattern(value: str) -> str:
    if not value.strip("/ ") or value.startswith("!"):
        raise ValueError("use a path or a pattern, such as `deploy/**` or `*.key`")
    return value


def _commands(value: dict[str, str]) -> dict[str, str]:
    if not all(name.strip() and command.strip() for name, command in value.items()):
        raise ValueError('each needs a name and a command: `run = {web = "npm start"}`')
    return value


def _none_for_false(value: object) -> object:
    return None if value is False else value


class ProjectSettings(Section):
    name: Annotated[str, AfterValidator(_name)]
    """What people call it; issues of the embedded tracker are `NAME#1`."""
    tracker: Literal["local", "github", "linear"] = "local"
    """Where work is asked for."""
    repository: str
    """Where code is offered: `owner/name` on GitHub, or the path of your own repository for the embedded forge."""
    remote: str = ""
    """Where git fetches and pushes, when that is not the forge's own address."""
    base: str = ""
    """The branch to start from and merge into; empty: the repository's default."""
    trusted: tuple[str, ...] = ()
    """More people who may steer: GitHub logins, besides those who may push; in Linear e-mail addresses or ids, besides
    the members."""
    team: str = ""
    """The key of the team in Linear: `ENG`."""
    linear_projects: tuple[str, ...] = ()
    """Projects in Linear whose issues are for this repository, where several have theirs in one team."""
    default: bool = False
    """Takes the issues of its team that no label and no project in Linear gives to another."""
    protected: tuple[Annotated[str, AfterValidator(_pattern)], ...] = (".github/workflows/**", "CODEOWNERS")
    """Paths that are not published without a person's word, besides those that never are."""

    setup: Annotated[tuple[str, ...] | None, BeforeValidator(_none_for_false)] = ()
    """Commands that make a worktree ready; empty: those of the repository, or what is found; `false`: none."""
    verify: Annotated[tuple[str, ...] | None, BeforeValidator(_none_for_false)] = ()
    """Commands that try an agent's work; empty: those of the repository, or what is found; `false`: none."""
    teardown: tuple[str, ...] = ()
    """Commands that are run before a worktree goes."""
    run: Annotated[dict[str, str], AfterValidator(_commands)] = {}
    """Commands that you can start in a run's worktree to look at the work, each with a name."""
    copied: tuple[Annotated[str, AfterValidator(_pattern)], ...] = Field((".env",), alias="copy")
    """Files, or patterns of them, that git ignores and worktrees need: copied from your own folder."""
    copy_from: Path | None = None
    """Where from, when the repository is on GitHub; none: nothing is copied."""

    pool: int = Field(0, ge=0, le=50)
    """Worktrees made ready ahead of runs, so that the next ones begin at once."""

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
    linear: LinearSettings = LinearSettings()
    web: Web = Web()
    notify: Notify = Notify()
    log: Log = Log()
    projects: tuple[ProjectSettings, ...] = ()

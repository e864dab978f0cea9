"""Schema of the settings: every key with its default, its limits and its meaning."""

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bot.settings.state_place import STATES

_MOST_PORTS = 65536
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PollSettings(Section):
    interval: float = Field(30, gt=0)
    """Seconds between two polls of a tracker."""


class LimitSettings(Section):
    working: int = Field(4, ge=1)
    """Agents at once, over all projects."""
    working_per_project: int = Field(4, ge=1)
    """Agents at once on one project."""
    turn_minutes: float = Field(60, gt=0)
    """Longest duration of a turn."""
    stall_minutes: float = Field(10, gt=0)
    """Longest time without progress while no tool is running."""
    failures: int = Field(3, ge=1)
    """Failed turns in a row before a person is asked."""
    ci_fixes: int = Field(2, ge=0)
    """Turns spent on the failed checks of one pull request before a person is asked."""
    quiet_seconds: float = Field(60, ge=0)
    """Seconds without a new comment before a review starts a turn."""
    changed_files: int = Field(500, ge=1)
    """Most files that one turn may change before a person is asked."""
    changed_mb: float = Field(20, gt=0)
    """Most new content that one turn may add before a person is asked."""
    free_disk_gb: float = Field(5, ge=0)
    """No turn starts with less free disk space."""
    setup_minutes: float = Field(15, gt=0)
    """Longest duration of the setup of a worktree."""
    verify_minutes: float = Field(15, gt=0)
    """Longest duration of the verification of a commit."""
    verify_rounds: int = Field(2, ge=0)
    """Most turns that one run spends on failed verification; then the pull request is opened nevertheless."""
    claim_seconds: float = Field(90, ge=0, le=3600)
    """Seconds of silence after which another daemon takes over a repository; 0: there is only one daemon."""


class PriceSettings(Section):
    input: float = Field(ge=0)
    """Dollars for a million tokens of input."""
    output: float = Field(ge=0)
    """Dollars for a million tokens of output."""
    cache_read: float | None = Field(None, ge=0)
    """Dollars for a million tokens that are read from the cache; by default a tenth of `input`."""


class BudgetSettings(Section):
    per_issue_usd: float = Field(5, ge=0)
    """Most money that one issue may cost; 0: no limit."""
    per_issue_tokens: int = Field(30_000_000, ge=0)
    """Most tokens that one issue may use, as counted by the proxy; 0: no limit."""
    per_issue_turns: int = Field(100, ge=0)
    """Most turns of one issue, including lost and failed turns; 0: no limit."""
    per_issue_hours: float = Field(24, ge=0)
    """Most hours that agents may work on one issue; 0: no limit."""
    per_day_usd: float = Field(50, ge=0)
    """Most money that all issues may cost per day (UTC); 0: no limit."""
    prices: Mapping[str, PriceSettings] = {}
    """Prices by the name of the model, where they differ from the list prices that Treehand knows."""


class AgentSettings(Section):
    kind: Literal["claude"] = "claude"
    """Kind of the agent."""
    model: str = ""
    """Model of the agent; empty: the agent's default."""
    key_file: Path | None = None
    """File with the key of the model, instead of `ANTHROPIC_API_KEY` or `CLAUDE_CODE_OAUTH_TOKEN`."""


def _check_host_port(value: str) -> str:
    host, _, port = value.partition(":")
    if not _HOST.fullmatch(host) or not (port or "443").isdigit() or not 0 < int(port or 443) < _MOST_PORTS:
        raise ValueError("use NAME or NAME:PORT, without `https://`, `*` or a path")
    return value.lower()


def _check_name_port(value: str) -> str:
    value = _check_host_port(value)
    if value.partition(":")[0].rpartition(".")[2].isdigit():
        raise ValueError("use the name of the host, not its address")
    return value


class SandboxSettings(Section):
    kind: Literal["bwrap", "none"] = "bwrap"
    """Sandbox of the agent: bubblewrap or none; every progress comment mentions `none`."""
    hosts: tuple[Annotated[str, AfterValidator(_check_host_port)], ...] = ()
    """Hosts that agents may reach besides their model: `NAME` (port 443) or `NAME:PORT`; TLS only."""
    setup_hosts: tuple[Annotated[str, AfterValidator(_check_host_port)], ...] = ()
    """Hosts that setup commands may reach. Agents may not."""
    private_hosts: tuple[Annotated[str, AfterValidator(_check_name_port)], ...] = ()
    """Hosts that setup commands may reach at addresses of your own network; agents only if `hosts` lists them, too."""
    ca_file: Path | None = None
    """PEM file with the certificates of your own authorities, trusted besides this machine's."""
    tools: tuple[Path, ...] = ()
    """Folders with tools that agents may read and run: `/opt/node`, `~/.cargo/bin`."""
    install_versions: bool = True
    """Install the versions that a repository asks for, with this machine's npm, uv or mise."""
    memory_gb: float = Field(6, ge=0)
    """Most memory of an agent and its processes; 0: no limit."""
    processes: int = Field(1000, ge=0)
    """Most processes and threads of an agent at once; 0: no limit."""
    file_gb: float = Field(4, ge=0)
    """Largest file that an agent may write; 0: no limit."""


def _check_variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise ValueError("use the name of a variable, such as `NPM_TOKEN`, not its value")
    return value


def _check_auth(value: str) -> str:
    if value.lower() in {"bearer", "basic"}:
        return value.lower()
    if not re.fullmatch(r"[Xx]-[A-Za-z0-9-]+", value):
        raise ValueError("use `bearer`, `basic`, or the name of a header, such as `X-Api-Key`")
    return value


def _check_url_path(value: str) -> str:
    if not re.fullmatch(r"(?:/[A-Za-z0-9_~@+-][\w.~@+-]*)*/?", value, re.ASCII) or not value.startswith("/"):
        raise ValueError("use a path, such as `/npm/`")
    return value if value.endswith("/") else f"{value}/"


class RegistrySettings(Section):
    host: Annotated[str, AfterValidator(_check_name_port)]
    """Host of the registry: `NAME` (port 443) or `NAME:PORT`."""
    token_env: Annotated[str, AfterValidator(_check_variable)] | None = None
    """Name of the variable of Treehand with the token; in the sandbox, it holds a placeholder."""
    token_file: Path | None = None
    """File with the token, instead of a variable."""
    auth: Annotated[str, AfterValidator(_check_auth)] = "bearer"
    """Form of the token: `bearer`, `basic` (the token is `user:password`), or the name of a header."""
    path: Annotated[str, AfterValidator(_check_url_path)] = "/"
    """Path on the server below which requests get the token."""

    @model_validator(mode="after")
    def _has_one_token(self) -> "RegistrySettings":
        if (self.token_env is None) == (self.token_file is None):
            raise ValueError("set either `token_env` or `token_file`")
        return self


class GitHubSettings(Section):
    api_url: str = "https://api.github.com"
    """The API of GitHub, or of a GitHub Enterprise server: `https://HOST/api/v3`."""
    token_file: Path | None = None
    """File with a token, instead of `TREEHAND_GITHUB__TOKEN` or `GITHUB_TOKEN`."""
    app_id: int = Field(0, ge=0)
    """Id of the GitHub App to sign in with, instead of a token."""
    installation_id: int = Field(0, ge=0)
    """Id of the installation of the App; 0: looked up for each repository."""
    private_key_file: Path | None = None
    """File with the private key of the App."""
    webhook_secret_file: Path | None = None
    """File with the secret of the webhooks, instead of `TREEHAND_GITHUB__WEBHOOK_SECRET`."""
    marker_secret_file: Path | None = None
    """File with the secret that signs our comments, instead of `TREEHAND_GITHUB__MARKER_SECRET`; by default it is
    derived from the token or from the key of the App."""


def _parse_state(value: bool | str) -> bool | str:  # noqa: FBT001 - the type in the file
    """Environment variables contain only text."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


_State = Annotated[bool | str, AfterValidator(_parse_state)]


class LinearSettings(Section):
    api_url: str = "https://api.linear.app/graphql"
    """Address of Linear's API."""
    api_key_file: Path | None = None
    """File with an API key, instead of `TREEHAND_LINEAR__API_KEY` or `LINEAR_API_KEY`."""
    oauth_token_file: Path | None = None
    """File with the token of an OAuth application, instead of `TREEHAND_LINEAR__OAUTH_TOKEN`; preferred to a key."""
    webhook_secret_file: Path | None = None
    """File with the secret of the webhooks, instead of `TREEHAND_LINEAR__WEBHOOK_SECRET`."""
    started: _State = True
    """State of an issue when work starts: a name, `true` for the first state of this type, `false` to leave the issue
    where it is."""
    review: _State = True
    """State while a pull request is open; `true`: the started state with "review" in its name."""
    completed: _State = True
    """State after the merge; `true`: unless Linear's own integration moves issues of this team."""
    back: bool = True
    """Moves an issue back to its earlier state when its run ends without a merge."""
    people: dict[str, str] = {}
    """Login on GitHub by e-mail address or user id in Linear. Other people are matched by a verified e-mail address
    that is the same on both."""


def _check_bind(value: str) -> str:
    host, _, port = value.rpartition(":")
    if value and not (host and port.isdigit() and int(port) < _MOST_PORTS):
        raise ValueError('use HOST:PORT, or "" for no dashboard')
    return value


def _check_host(value: str) -> str:
    if not re.fullmatch(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", value):
        raise ValueError("use a host name, such as `bot.example.com`, without `https://`")
    return value


def _check_header(value: str) -> str:
    if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", value):
        raise ValueError("use a header name, such as `X-Forwarded-User`")
    return value


def _check_ip(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError as exc:
        raise ValueError("use an IP address, such as `10.0.0.2`") from exc


class WebSettings(Section):
    bind: Annotated[str, AfterValidator(_check_bind)] = "127.0.0.1:8700"
    """Address the daemon listens on; empty: none. Any address but loopback needs a token."""
    token_file: Path | None = None
    """File with the access token of the dashboard, instead of `TREEHAND_WEB__TOKEN`."""
    login: Literal["auto", "always", "never"] = "auto"
    """Must people on this machine log in if no token is set? `auto`: if another person has an account on it."""
    hosts: tuple[Annotated[str, AfterValidator(_check_host)], ...] = ()
    """Further host names of the dashboard, such as a reverse proxy's. Requests to other names are refused."""
    user_header: Annotated[str, AfterValidator(_check_header)] = ""
    """Header in which an authenticating proxy passes the user: `X-Forwarded-User`."""
    proxies: tuple[Annotated[str, AfterValidator(_check_ip)], ...] = ("127.0.0.1", "::1")
    """Addresses of that proxy; the header is ignored in requests from other addresses."""


class LogSettings(Section):
    format: Literal["text", "json"] = "text"
    """Format of the log lines: text, or one JSON object per line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""


def _check_hours(value: str) -> str:
    if value and not re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d", value):
        raise ValueError('use HH:MM-HH:MM, such as 22:00-07:00, or "" for none')
    return value


def _check_zone(value: str) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(value).key if value else ""
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError("use a time zone that this machine knows, such as `Europe/Berlin`") from exc


def _check_link(value: str) -> str:
    if value and not re.fullmatch(r"https?://[A-Za-z0-9._\-\[\]:]+(?:/[\w./~-]*)?", value):
        raise ValueError("use the address of the dashboard, such as `https://bot.example.com`")
    return value.rstrip("/")


class NotifySettings(Section):
    urls: tuple[str, ...] = ()
    """Apprise URLs of chats, mailboxes or desktops. URLs with tokens belong in `TREEHAND_NOTIFY__URLS`."""
    urls_file: Path | None = None
    """File with such URLs, one per line."""
    on: tuple[Literal["asking", "review", "failed", "budget", "trouble"], ...] = (
        "asking",
        "review",
        "failed",
        "budget",
        "trouble",
    )
    """Events to notify about: a run asks, is in review, failed or reached its budget; or a dependency has trouble."""
    quiet: Annotated[str, AfterValidator(_check_hours)] = ""
    """Hours without notifications: `22:00-07:00`; one message afterwards summarises them."""
    zone: Annotated[str, AfterValidator(_check_zone)] = ""
    """Time zone of these hours: `Europe/Berlin`; empty: this machine's."""
    digest_minutes: float = Field(0, ge=0, le=1440)
    """Minutes to collect events before one message is sent; 0: send at once."""
    link: Annotated[str, AfterValidator(_check_link)] = ""
    """Address of the dashboard for links in messages: `https://bot.example.com`; empty: no links."""


def _check_name(value: str) -> str:
    if not value or not all(letter.isalnum() or letter in "-_." for letter in value) or value.startswith((".", "-")):
        raise ValueError("use letters, digits, '-', '_' and '.'")
    return value


def _check_pattern(value: str) -> str:
    if not value.strip("/ ") or value.startswith("!"):
        raise ValueError("use a path or a pattern, such as `deploy/**` or `*.key`")
    return value


def _check_commands(value: dict[str, str]) -> dict[str, str]:
    if not all(name.strip() and command.strip() for name, command in value.items()):
        raise ValueError('give each a name and a command: `run = {web = "npm start"}`')
    return value


def _none_for_false(value: object) -> object:
    return None if value is False else value


def service_folders() -> list[str]:
    """A tracker's word is the name of its folder, so that a new folder needs no line here."""
    return sorted(path.parent.name for path in Path(__file__).parents[1].glob("services/*/tracker.py"))


def _tracker(word: str) -> str:
    *known, last = map(repr, service_folders())
    if repr(word) not in {*known, last}:
        raise ValueError(f"Input should be {', '.join(known)} or {last}")
    return word


class ProjectSettings(Section):
    name: Annotated[str, AfterValidator(_check_name)]
    """Name of the project; issues of the local tracker have keys like `NAME#1`."""
    tracker: Annotated[str, AfterValidator(_tracker)] = "local"
    """Tracker with the issues."""
    repository: str
    """Repository for pull requests: `owner/name` on GitHub, or the path of your own repository for the local forge."""
    remote: str = ""
    """URL to fetch from and push to, if it differs from the forge's."""
    base: str = ""
    """Branch to start from and merge into; empty: the default branch."""
    trusted: tuple[str, ...] = ()
    """Further people who may steer: GitHub logins besides those with push access; in Linear e-mail addresses or user
    ids besides the members."""
    team: str = ""
    """Key of the team in Linear: `ENG`."""
    linear_projects: tuple[str, ...] = ()
    """Projects in Linear whose issues belong to this repository, if several repositories share a team."""
    default: bool = False
    """Takes the issues of its team that no label and no project in Linear assigns to another repository."""
    protected: tuple[Annotated[str, AfterValidator(_check_pattern)], ...] = (".github/workflows/**", "CODEOWNERS")
    """Paths whose changes need approval, besides the built-in ones."""

    ci: Literal["at-once", "after-approval"] = "at-once"
    """Time at which GitHub's workflows run what the agent wrote: at once, or after a person has approved it."""

    setup: Annotated[tuple[str, ...] | None, BeforeValidator(_none_for_false)] = ()
    """Setup commands; empty: those of the repository, or detected ones; `false`: none."""
    verify: Annotated[tuple[str, ...] | None, BeforeValidator(_none_for_false)] = ()
    """Verification commands; empty: those of the repository, or detected ones; `false`: none."""
    teardown: tuple[str, ...] = ()
    """Commands that run before a worktree is removed."""
    services: Annotated[
        tuple[Literal["postgres", "mysql", "redis", "memcached"], ...] | None, BeforeValidator(_none_for_false)
    ] = ()
    """Services that are started for each worktree; empty: those of the repository, or detected ones; `false`: none."""
    run: Annotated[dict[str, str], AfterValidator(_check_commands)] = {}
    """Servers that people can start in a run's worktree, by name."""
    copied: tuple[Annotated[str, AfterValidator(_check_pattern)], ...] = Field((".env",), alias="copy")
    """Files or patterns that git ignores and worktrees need; copied from your own folder."""
    copy_from: Path | None = None
    """Folder to copy from if the repository is on GitHub; by default nothing is copied."""

    pool: int = Field(0, ge=0, le=50)
    """Number of worktrees in the pool: set up before a run needs them."""

    @property
    def forge(self) -> Literal["local", "github"]:
        return "github" if _OWNER_AND_NAME.fullmatch(self.repository) else "local"

    @property
    def folder(self) -> Path | None:
        """Folder of the repository, with the local forge; None on GitHub."""
        return Path(self.repository) if self.forge == "local" else None


class Settings(Section):
    state_dir: Path = STATES
    """Folder for the database, mirrors, worktrees and transcripts."""
    label: Annotated[str, AfterValidator(_check_name)] = "ai"
    """Label that asks for work; also the prefix of the bot's labels and comment commands."""
    poll: PollSettings = PollSettings()
    limits: LimitSettings = LimitSettings()
    budget: BudgetSettings = BudgetSettings()
    agent: AgentSettings = AgentSettings()
    sandbox: SandboxSettings = SandboxSettings()
    github: GitHubSettings = GitHubSettings()
    linear: LinearSettings = LinearSettings()
    web: WebSettings = WebSettings()
    notify: NotifySettings = NotifySettings()
    log: LogSettings = LogSettings()
    registries: tuple[RegistrySettings, ...] = ()
    projects: tuple[ProjectSettings, ...] = ()

    @property
    def setup_hosts(self) -> tuple[str, ...]:
        """All hosts that setup may reach."""
        sandbox, registries = self.sandbox, [registry.host for registry in self.registries]
        return tuple(dict.fromkeys((*sandbox.setup_hosts, *sandbox.private_hosts, *registries)))

    def take_over(self, changed: "Settings") -> None:
        """Replaces every section. Only a running daemon does this, so that all its parts read the change."""
        self.__dict__.update(changed.__dict__)

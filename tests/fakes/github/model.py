"""Types of the stand-in GitHub, plain and mutable. The files named `*_actions.py` change them."""

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

LEVELS = ("none", "read", "triage", "write", "maintain", "admin")


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def at_least(level: str, needed: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(needed)


@dataclass(eq=False)
class User:
    id: int
    login: str
    kind: str = "User"


@dataclass(eq=False)
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(eq=False)
class Reaction:
    id: int
    user: User
    content: str
    at: float


@dataclass(eq=False)
class Event:
    """One line of an issue's timeline."""

    id: int
    event: str
    actor: User | None
    at: float
    label: Label | None = None
    rename: tuple[str, str] | None = None


@dataclass(eq=False)
class Edit:
    """One entry in the history of a body. GitHub's `diff` is the whole text after the edit."""

    id: int
    editor: User | None
    at: float
    text: str


@dataclass(eq=False, kw_only=True)
class Lasting:
    """An object with an id and two times, which lists may show late."""

    id: int
    number: int
    """Number of the issue or pull request it belongs to."""
    author: User | None
    body: str
    created_at: float
    updated_at: float
    changed_at: float = 0.0
    settled: Self | None = None
    """State that lists show while they lag behind."""
    reactions: list[Reaction] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def frozen(self) -> Self:
        return copy.copy(self)


@dataclass(eq=False)
class Pull:
    id: int
    head_ref: str
    base_ref: str
    head: str
    base: str
    """The base's tip when the head last moved, as GitHub keeps it."""
    draft: bool = False
    merged_at: float | None = None
    merged_by: User | None = None
    merge_commit: str | None = None
    fork: "Repository | None" = None
    """Fork that holds its branch; empty without a fork."""

    def source(self, home: "Repository") -> "Repository":
        return self.fork or home


@dataclass(eq=False, kw_only=True)
class Issue(Lasting):
    title: str
    comments: int = 0
    state: str = "open"
    state_reason: str | None = None
    labels: list[Label] = field(default_factory=list)
    locked: bool = False
    closed_at: float | None = None
    closed_by: User | None = None
    events: list[Event] = field(default_factory=list)
    pull: Pull | None = None

    def frozen(self) -> Self:
        same = copy.copy(self)
        same.pull = copy.copy(self.pull)
        return same


@dataclass(eq=False, kw_only=True)
class Comment(Lasting):
    """A comment in the conversation of an issue or pull request."""


@dataclass(eq=False, kw_only=True)
class Review(Lasting):
    state: str
    commit: str
    submitted_at: float | None = None


@dataclass(eq=False, kw_only=True)
class Inline(Lasting):
    """A remark on a line of a pull request."""

    review: int | None
    path: str
    line: int
    commit: str
    hunk: str
    position: int
    in_reply_to: int | None = None
    resolved: bool = False


@dataclass(eq=False, kw_only=True)
class Check:
    """A check run; one of GitHub Actions if it has a log."""

    id: int
    sha: str
    name: str
    status: str
    conclusion: str | None
    started_at: float
    completed_at: float | None
    title: str = ""
    summary: str = ""
    annotations: tuple[tuple[str, int, str], ...] = ()
    log: str | None = None
    suite: int = 0


@dataclass(eq=False, kw_only=True)
class Status:
    id: int
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    at: float
    by: User


@dataclass(eq=False, kw_only=True)
class Repository:
    id: int
    owner: User
    name: str
    path: Path
    """Its bare git repository."""
    created_at: float
    private: bool = False
    archived: bool = False
    default_branch: str = "main"
    renamed_branches: dict[str, str] = field(default_factory=dict)
    """Present names of branches by their former ones."""
    levels: dict[str, str] = field(default_factory=dict)
    """Permission of each collaborator, keyed by login in lower case."""
    drafts: bool = True
    """True if its plan has draft pull requests."""
    protected: list[str] = field(default_factory=list)
    """Patterns of branches that may not be pushed to."""
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    """Pull requests as well."""
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    inlines: dict[int, Inline] = field(default_factory=dict)
    checks: dict[int, Check] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    """Commits whose workflows on push and pull_request were started, in order."""
    deleted: set[int] = field(default_factory=set)
    moved: dict[int, tuple["Repository", int]] = field(default_factory=dict)
    """Issues that were transferred, and where to."""
    last_number: int = 0
    updated_at: float = 0.0
    pushed_at: float = 0.0

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def level_of(self, user: User | None) -> str:
        implied = "none" if self.private else "read"
        return implied if user is None else self.levels.get(user.login.lower(), implied)


@dataclass(eq=False)
class App:
    id: int
    slug: str
    bot: User
    public_key: str
    private_key: str
    permissions: dict[str, str]


@dataclass(eq=False)
class Installation:
    id: int
    app: App
    account: User
    repositories: list[Repository]
    permissions: dict[str, str]
    suspended: bool = False


@dataclass(eq=False)
class Token:
    """A credential. Those of installations are narrower and short-lived."""

    text: str
    user: User
    scopes: tuple[str, ...] = ("repo",)
    installation: Installation | None = None
    repositories: list[Repository] | None = None
    permissions: dict[str, str] | None = None
    expires_at: float | None = None
    used: dict[str, int] = field(default_factory=dict)
    """Points spent in this window, by resource."""

    def reaches(self, home: Repository) -> bool:
        """True if the token is valid for the repository."""
        if self.installation and home not in self.installation.repositories:
            return False
        return self.repositories is None or home in self.repositories

    def scopes_reach(self, home: Repository) -> bool:
        return "repo" in self.scopes or (not home.private and "public_repo" in self.scopes)

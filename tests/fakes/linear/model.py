"""Types of a Linear workspace."""

import copy
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(eq=False, kw_only=True)
class Lasting:
    """Any object with an id. There is one object per id, except for older states that lists still show."""

    id: str
    nr: int
    """In the order of making."""
    created_at: float
    updated_at: float
    changed_at: float
    archived_at: float | None = None
    settled: Self | None = None
    """How lists show it until its change is old enough."""

    def frozen(self) -> Self:
        shown = copy.copy(self)
        for name, value in vars(shown).items():
            if isinstance(value, list):
                setattr(shown, name, list(value))
        return shown


@dataclass(eq=False, kw_only=True)
class User(Lasting):
    name: str
    display_name: str
    email: str
    guest: bool = False
    app: bool = False
    active: bool = True
    admin: bool = False


@dataclass(frozen=True)
class Bot:
    """An integration that acts for no user."""

    type: str

    @property
    def id(self) -> str:
        return f"bot-{self.type}"

    @property
    def name(self) -> str:
        return {"github": "GitHub"}.get(self.type, self.type.capitalize())


@dataclass(frozen=True)
class Who:
    """An actor: a user, an integration, or an integration for an external person."""

    user: User | None = None
    bot: Bot | None = None


@dataclass(eq=False, kw_only=True)
class Team(Lasting):
    key: str
    name: str
    private: bool = False
    members: list[User] = field(default_factory=list)
    triage_enabled: bool = False
    """Then issues made over the API without a state start in triage."""
    last_number: int = 0


@dataclass(eq=False, kw_only=True)
class State(Lasting):
    team: Team
    name: str
    type: str
    position: float
    color: str = "#bec2c8"
    description: str | None = None


@dataclass(eq=False, kw_only=True)
class Label(Lasting):
    name: str
    team: Team | None = None
    parent: "Label | None" = None
    is_group: bool = False
    creator: User | None = None
    color: str = "#bec2c8"
    description: str | None = None


@dataclass(eq=False, kw_only=True)
class LinearProject(Lasting):
    name: str
    teams: list[Team]
    slug_id: str = ""


@dataclass(eq=False, kw_only=True)
class Issue(Lasting):
    team: Team
    number: int
    title: str
    description: str
    state: State
    creator: User | None = None
    bot: Bot | None = None
    priority: int = 0
    assignee: User | None = None
    delegate: User | None = None
    project: LinearProject | None = None
    parent: "Issue | None" = None
    labels: list[Label] = field(default_factory=list)
    previous_identifiers: list[str] = field(default_factory=list)
    trashed: bool | None = None
    started_at: float | None = None
    completed_at: float | None = None
    canceled_at: float | None = None

    @property
    def identifier(self) -> str:
        return f"{self.team.key}-{self.number}"


@dataclass(eq=False, kw_only=True)
class Change(Lasting):
    """One entry of an issue's history."""

    issue: Issue
    actor: User | None = None
    bot: Bot | None = None
    said: dict[str, Any] = field(default_factory=dict)
    """Keyed by the name of the field in Linear's schema: `fromState`, `addedLabels`, ..."""


@dataclass(eq=False, kw_only=True)
class Comment(Lasting):
    issue: Issue
    body: str
    user: User | None = None
    bot: Bot | None = None
    external_user: str | None = None
    """Name of an external person for whom an integration comments."""
    parent: "Comment | None" = None
    edited_at: float | None = None


@dataclass(eq=False, kw_only=True)
class Reaction(Lasting):
    on: Comment | Issue
    emoji: str
    user: User


@dataclass(eq=False, kw_only=True)
class Attachment(Lasting):
    issue: Issue
    url: str
    title: str
    subtitle: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    source_type: str | None = None
    creator: User | None = None


@dataclass(eq=False, kw_only=True)
class Relation(Lasting):
    issue: Issue
    related: Issue
    type: str


@dataclass(eq=False, kw_only=True)
class Automation(Lasting):
    team: Team
    event: str
    state: State | None


@dataclass(eq=False, kw_only=True)
class Integration(Lasting):
    service: str
    creator: User


@dataclass(eq=False, kw_only=True)
class Webhook(Lasting):
    url: str
    resource_types: list[str]
    team: Team | None
    creator: User
    label: str | None = None
    secret: str | None = None
    enabled: bool = True


@dataclass(eq=False)
class Token:
    text: str
    user: User
    oauth: bool
    scopes: tuple[str, ...]

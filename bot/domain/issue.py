"""Issue, person and edit: a tracker's data in our own words."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Person:
    """Author of a comment, request or edit; `trusted` if they may steer."""

    name: str
    email: str = ""
    trusted: bool = False
    may_push: bool = False
    """May push to the repository: only these people may approve held changes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Title or body as changed after the request by a person without permission. Unused until a person approves it."""

    id: str
    by: Person
    title: str
    body: str
    original_known: bool = True
    """False if `Issue.title` or `Issue.body` changed after work was requested."""


class IssueStage(StrEnum):
    """Progress of an issue in a tracker that has workflow states."""

    ORIGINAL = "before"
    """As it was before we began."""
    STARTED = "started"
    REVIEW = "review"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class IssueState:
    """The stage of an issue, and the stages it may be moved to: none once a person has moved it."""

    stage: IssueStage
    movable: frozenset[IssueStage] = frozenset()


@dataclass(frozen=True, slots=True)
class Issue:
    """One unit of requested work. `key` is what people say aloud: `acme/shop#12`, `ENG-7`."""

    key: str
    title: str
    body: str
    labels: frozenset[str]
    open: bool
    requester: Person = field(default=Person("somebody"))
    """Person who applied the label, if the tracker reports it."""
    request: str = ""
    """Id of the request; a new one may start a new run. Empty if the tracker has no such id and never lags."""
    edit: Edit | None = None
    unvouched: str = ""
    """Why the tracker cannot tell yet who asked for it and who wrote it; empty if it can. No run begins meanwhile."""
    created_at: float = 0.0
    priority: int = 0
    """1 is urgent, 4 is low, 0 was never set (and comes last)."""
    url: str = ""
    state: IssueState | None = None
    """Unset if the tracker has only open and closed."""
    links: frozenset[str] | None = None
    """Addresses linked to it; unset if the tracker has no links."""
    blocked_by: tuple[str, ...] = ()
    """Keys of the issues that have to be closed first, and are open."""
    parent: str = ""
    """The key of the issue it is a part of."""
    sub_issues: tuple[str, ...] = ()
    """Keys of its sub-issues that are open."""


@dataclass(frozen=True, slots=True)
class NewIssue:
    project: str
    title: str
    body: str = ""
    labels: tuple[str, ...] = ()

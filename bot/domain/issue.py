"""What a tracker tells us, in our own words."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who says things; `trusted` when they may steer."""

    name: str
    email: str = ""
    trusted: bool = False
    may_push: bool = False
    """To the repository itself: only these may let out what is held back."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Title or body, changed after the request by somebody who may not steer. Not used until a person accepts it."""

    id: str
    by: Person
    title: str
    body: str
    original_known: bool = True
    """Whether `Issue.title` and `Issue.body` are as they were when work was asked for."""


class Stage(StrEnum):
    """How far an issue is, where its tracker has states for that."""

    BEFORE = "before"
    """As it was before we began."""
    STARTED = "started"
    REVIEW = "review"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which stage an issue is at, and which ones it may be moved to by us: none once a person has moved it."""

    stage: Stage
    movable: frozenset[Stage] = frozenset()


@dataclass(frozen=True, slots=True)
class Issue:
    """One unit of requested work. `key` is what people say aloud: `acme/shop#12`, `ENG-7`."""

    key: str
    title: str
    body: str
    labels: frozenset[str]
    open: bool
    asked_by: Person = field(default=Person("somebody"))
    """Who asked for the work: the one who applied the label, where the tracker tells."""
    request: str = ""
    """Which act of asking this is; a new one may start a new run. Empty: the tracker cannot tell, and never lags."""
    edit: Edit | None = None
    created_at: float = 0.0
    priority: int = 0
    """1 is urgent, 4 is low, 0 was never set (and comes last)."""
    url: str = ""
    standing: Standing | None = None
    """None: the tracker has no states besides open and closed."""
    links: frozenset[str] | None = None
    """What is linked to it; None: the tracker has nothing of the kind."""
    blocked_by: tuple[str, ...] = ()
    """Keys of the issues that have to be closed first, and are open."""
    parent: str = ""
    """The key of the issue it is a part of."""
    parts: tuple[str, ...] = ()
    """Keys of its sub-issues that are open."""

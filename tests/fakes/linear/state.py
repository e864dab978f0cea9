"""State of the stand-in Linear: its contents and lookups."""

import functools
import re
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tests.fakes.linear.clock import Clock
from tests.fakes.linear.model import (
    Attachment,
    Automation,
    Bot,
    Change,
    Comment,
    Integration,
    Issue,
    Label,
    Lasting,
    LinearProject,
    Reaction,
    Relation,
    State,
    Team,
    Token,
    User,
    Webhook,
    Who,
)

_Deed = TypeVar("_Deed", bound=Callable)
_Thing = TypeVar("_Thing", bound=Lasting)

HTML_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)


def deed(method: _Deed) -> _Deed:
    """Runs a change as one step: people act from other threads than the server's."""

    @functools.wraps(method)
    def locked(world: "Known", *args, **named):
        with world.lock:
            return method(world, *args, **named)

    return locked


class Known:
    url_key = "acme"

    def __init__(self, now: float | None = None, *, ticking: bool = False) -> None:
        self.clock = Clock(now, ticking=ticking)
        self.lock = threading.RLock()
        self.lag = 0.0
        """Seconds until what was made or changed shows in lists; by its id it is there at once."""
        self.keeps_html = False
        """True if HTML comments survive in texts."""
        self.honours_ids = True
        """True if a new thing gets the requested id."""
        self.comments_touch_issue = False
        """True if comments, reactions and attachments change an issue's `updatedAt`."""
        self.swaps_grouped_labels = False
        """True if a second label of a group replaces the first over the API instead of being refused."""
        self.refuses_second_reaction = False
        """True if the same reaction again is a conflict."""
        self.groups_history = 0.0
        """Seconds in which changes by one actor form one history entry."""
        self.history_begins = 0.0
        """Seconds after its creation before an issue shows any history."""
        self.organization_id = str(uuid.uuid4())
        self.born_at = self.clock.now
        self.users: list[User] = []
        self.teams: list[Team] = []
        self.states: list[State] = []
        self.all_labels: list[Label] = []
        self.projects: list[LinearProject] = []
        self.issues: list[Issue] = []
        self.changes: list[Change] = []
        self.all_comments: list[Comment] = []
        self.all_reactions: list[Reaction] = []
        self.all_attachments: list[Attachment] = []
        self.relations: list[Relation] = []
        self.automations: list[Automation] = []
        self.integrations: list[Integration] = []
        self.webhooks: list[Webhook] = []
        self.tokens: dict[str, Token] = {}
        self.used_ids: set[str] = set()
        self._last_nr = 0

    @property
    def now(self) -> float:
        return self.clock.now

    @now.setter
    def now(self, seconds: float) -> None:
        self.clock.now = seconds

    def advance(self, seconds: float) -> None:
        self.clock.now += seconds

    # Creation

    def birth(self, wanted: str | None = None) -> dict[str, Any]:
        """Returns the fields of every new object."""
        self._last_nr += 1
        given = wanted if wanted and self.honours_ids else str(uuid.uuid4())
        self.used_ids.add(given)
        at = self.clock.moment()
        return {"id": given, "nr": self._last_nr, "created_at": at, "updated_at": at, "changed_at": at}

    def touch(self, thing: Lasting, *, updated: bool = True) -> None:
        """Must be called BEFORE the change: lists may continue to show the old state."""
        at = self.clock.moment()
        if self.lag and thing.changed_at + self.lag <= at:
            thing.settled = thing.frozen()
        thing.changed_at = at
        if updated:
            thing.updated_at = at

    def listed(self, things: Iterable[_Thing]) -> list[_Thing]:
        """Returns the objects that lists show now, in the state that they show."""
        if not self.lag:
            return list(things)
        seen_at = self.now - self.lag
        seen = (thing if thing.changed_at <= seen_at else thing.settled for thing in things)
        return [thing for thing in seen if thing is not None]

    def kept(self, text: str) -> str:
        """Converts a text as Linear does: it stores documents, not Markdown."""
        if self.keeps_html or "<!--" not in text:
            return text
        return HTML_COMMENT.sub("", text).strip()

    # Lookup

    def user(self, who: User | str) -> User:
        if isinstance(who, User):
            return who
        return next(one for one in self.users if who in {one.id, one.name, one.display_name, one.email})

    def who(self, by: User | str | None, integration: str | None = None) -> Who:
        return Who(self.user(by)) if by is not None else Who(bot=Bot(integration or "workflow"))

    def team(self, key: Team | str) -> Team:
        return key if isinstance(key, Team) else next(one for one in self.teams if key in {one.key, one.id, one.name})

    def find_issue(self, known_as: str) -> Issue | None:
        """Finds an issue by id, identifier, or an earlier identifier."""
        named = known_as.upper()
        for one in self.issues:
            if known_as.lower() == one.id or named == one.identifier or named in one.previous_identifiers:
                return one
        return None

    def find(self, known_as: str) -> Issue:
        found = self.find_issue(known_as)
        assert found, f"there is no issue {known_as}"
        return found

    def find_comment(self, comment: Comment | str) -> Comment:
        wanted = comment if isinstance(comment, str) else comment.id
        return next(one for one in self.all_comments if one.id == wanted)

    def states_of(self, team: Team) -> list[State]:
        return sorted((one for one in self.states if one.team is team), key=lambda one: one.position)

    def state_named(self, team: Team, name: str) -> State:
        return next(one for one in self.states_of(team) if one.name == name)

    def first_state(self, team: Team, *types: str) -> State:
        """Returns the first state of these types that the team has; any state if it has none of them."""
        states = self.states_of(team)
        return next((one for wanted in types for one in states if one.type == wanted), states[0])

    def default_state(self, team: Team) -> State:
        return self.first_state(team, "backlog", "unstarted")

    def sees_team(self, user: User, team: Team | None) -> bool:
        return team is None or user in team.members or not (team.private or user.guest)

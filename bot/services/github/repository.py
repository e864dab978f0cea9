"""One repository of GitHub: what it shows, as the tracker and the forge of a project both see it.

Rule: what is asked once for both is asked once. Whatever asks is told the truth or raises; nothing is half known.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.domain.comment import Comment, Place
from bot.domain.issue import Issue, Person
from bot.domain.pull_request import PullRequest
from bot.errors import NeedsHuman
from bot.services.github.cache import Kind, Notebook, Row
from bot.services.github.checks import CheckReader
from bot.services.github.comment_markers import Markers
from bot.services.github.comment_sync import Listening
from bot.services.github.comment_writer import Saying
from bot.services.github.comments import Talk
from bot.services.github.diagnose import Inspecting
from bot.services.github.errors import NoGraphQL
from bot.services.github.issue_history import Consent, find_edit, person
from bot.services.github.issues import Issues
from bot.services.github.offline import ACCOUNT
from bot.services.github.parse import expected_shapes, parse_comment, parse_remark
from bot.services.github.permissions import People
from bot.services.github.pull_request_details import Reviewing
from bot.services.github.pull_request_writer import Offering
from bot.services.github.pull_requests import Pulls
from bot.services.github.reacting import Reacting
from bot.services.github.repository_api import Access
from bot.services.github.repository_info import Facts
from bot.services.github.service import Service
from bot.services.http.availability import Standings

_SECONDS_KEPT = 7 * 86400.0
_AGAIN = 10
"""Pull requests on which all that was said is read again in one look: a thousand at once would hold up everything."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """How this repository is to be treated."""

    label: str
    trusted: tuple[str, ...] = ()
    prefix: str = "treehand/"
    """What the names of our branches begin with."""


class Repository:
    def __init__(
        self,
        service: Service,
        name: str,
        db: sqlite3.Connection,
        *,
        rules: Rules,
        secret: bytes,
        older: Collection[bytes] = (),
    ) -> None:
        self.name = name
        self.access = Access(service, name, Notebook(db, name))
        self._notebook = self.access.notebook
        self.facts = Facts(self.access, Standings(db))
        self._people = People(self.access, rules.trusted)
        self.issues = Issues(self.access, self.facts, rules.label)
        self._consent = Consent(self.access, self._people, rules.label)
        self.pulls = Pulls(self.access, rules.prefix)
        self.recollection = self.pulls.known
        self._reviewing = Reviewing(self.access)
        self._checks = CheckReader(self.access)
        markers = Markers(secret, name, older=older)
        self._comments = Listening(
            self.access, Kind.COMMENT, everywhere="/issues/comments", under="/issues/{number}/comments",
            parse=parse_comment,
        )  # fmt: skip
        self._remarks = Listening(
            self.access, Kind.REMARK, everywhere="/pulls/comments", under="/pulls/{number}/comments",
            parse=parse_remark,
        )  # fmt: skip
        self._talk = Talk(self.access, self._people, markers)
        self.saying = Saying(self.access, self._talk, markers, self._comments, self._remarks)
        self.reacting = Reacting(self.access)
        self.offering = Offering(self.access, self.facts, self.pulls)
        self.inspecting = Inspecting(self.access, self.facts, self.issues, rules.prefix)
        self._flight: asyncio.Future[BaseException | None] | None = None
        self._reconcile = True
        """Is it time to read what was said on pull requests as a whole? Nothing tells of what was deleted there."""
        self._doubted: set[int] = set()
        """Those on which it is still to be read again, a few in each look."""

    async def look_at_issues(
        self, keys: Collection[str], *, fresh: bool
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]]]:
        """Every open issue with the label, those asked about, and what people said there."""
        numbers = {number for key in keys if (number := self.access.number(key))}
        with expected_shapes():
            if fresh or not self._notebook.cursor("looked at issues"):
                await self._refresh_issues(numbers)
            rows = self.issues.known(numbers)
            said = self._talk.on([row["number"] for row in rows], Place.ISSUE)
            consents = self._consent.of([row["number"] for row in rows])
            issues = {self.access.key(row["number"]): self._issue(row, consents.get(row["number"])) for row in rows}
            return issues, {key: said[self.access.number(key)] for key in issues}

    async def look_at_pulls(
        self, branches: Collection[str], *, fresh: bool
    ) -> tuple[Mapping[str, PullRequest], Mapping[str, tuple[Comment, ...]]]:
        """The newest pull request of each of our branches, and what people said on those asked about."""
        with expected_shapes():
            if fresh or not self._notebook.cursor("looked at pulls"):
                await self._refresh_pulls(branches)
            newest = self.recollection.newest()
            numbers = {branch: newest[branch]["number"] for branch in branches if branch in newest}
            said = self._talk.on(list(numbers.values()), Place.PULL_REQUEST)
            return self.recollection.pulls(), {branch: said[number] for branch, number in numbers.items()}

    async def login_of(self, email: str) -> str:
        """Whose verified address this is; empty: nobody's that is known."""
        return await self._people.login_of(email) if email else ""

    async def may_push(self, login: str) -> bool:
        return await self._people.may_push({"login": login})

    async def ensure_known(self) -> None:
        """Where it is and whether it may be written to, before the first look."""
        if self.facts.due:
            with expected_shapes():
                await self._refresh_both()

    # What both sides ask

    async def _refresh_both(self) -> None:
        """Whoever comes while it is being asked gets the same answer."""
        if self._flight is not None:
            failure = await asyncio.shield(self._flight)
            if failure is not None:
                raise failure
            return
        self._flight = asyncio.get_running_loop().create_future()
        failure = None
        try:
            await self._ask_for_both()
        except BaseException as exc:
            failure = exc
            raise
        finally:
            self._flight.set_result(failure)
            self._flight = None

    async def _ask_for_both(self) -> None:
        if self.facts.due:
            await self.facts.refresh()
            await self._find_ourselves()
            self._reconcile = True
        self.facts.check_writable()
        await self._comments.refresh()

    async def _find_ourselves(self) -> None:
        """Not knowing it, we go by our markers alone."""
        if not self._talk.own_id:
            try:
                self._talk.own_id = (await self.access.service.who()).id
            except (NeedsHuman, NoGraphQL) as refusal:
                _log.info("%s does not tell who we are: %s", self.name, refusal)
        self._notebook.advance(ACCOUNT, str(self._talk.own_id or ""))

    # Issues

    async def _refresh_issues(self, numbers: Collection[int]) -> None:
        await self._refresh_both()
        await self.issues.refresh(numbers)
        rows = self.issues.known(numbers)
        await self._comments.ensure_whole({row["number"]: _signature(row) for row in rows})
        await self._consent.refresh([row for row in rows if self.issues.is_wanted(row)], numbers)
        await self._talk.judge([row["number"] for row in rows])
        self._notebook.advance("looked at issues", "yes")

    def _issue(self, row: Row, consent: Row | None) -> Issue:
        by = person(consent["by"], trusted=consent["trusted"]) if consent else Person("somebody")
        return Issue(
            key=self.access.key(row["number"]),
            title=consent["title"] if consent else row["title"],
            body=consent["body"] if consent else row["body"],
            labels=frozenset(self.issues.as_we_write(label) for label in row["labels"]),
            open=row["open"],
            asked_by=by,
            request=consent["request"] if consent else "",
            edit=find_edit(consent) if consent else None,
            created_at=self.access.service.local(row["created"]),
            url=row["url"],
        )

    # Pull requests

    async def _refresh_pulls(self, branches: Collection[str]) -> None:
        await self._refresh_both()
        await self.pulls.refresh(branches)
        newest = self.recollection.newest()
        await self._look_closer([row for row in newest.values() if row["open"]])
        await self._remarks.refresh()
        followed = {newest[branch]["number"]: ("read", None) for branch in branches if branch in newest}
        if self._reconcile:
            self._doubted = {number for number in followed if self._comments.was_read(number)}
        again = self._next_doubted(followed)
        await self._comments.ensure_whole(followed, anew=again)
        await self._remarks.ensure_whole(followed, anew=again)
        self._doubted -= again
        if self._reconcile:
            self._tidy({*followed, *(row["number"] for row in newest.values() if row["open"])})
        self._reconcile = False
        await self._talk.judge(list(followed))
        self._notebook.advance("looked at pulls", "yes")

    def _next_doubted(self, followed: Collection[int]) -> set[int]:
        """Whose turn it is: also where each process looks but once, all of them have theirs."""
        last = int(self._notebook.cursor("read again") or 0)
        again = sorted(self._doubted.intersection(followed), key=lambda number: (number <= last, number))[:_AGAIN]
        if again:
            self._notebook.advance("read again", str(again[-1]))
        return set(again)

    def _tidy(self, pulls: Collection[int]) -> None:
        """Others go on talking for ever, and what is over is over."""
        issues = {row["number"] for row in self._notebook.all(Kind.ISSUE)}
        before = datetime.fromtimestamp(self.access.service.now() - _SECONDS_KEPT, UTC)
        self._notebook.forget_unfollowed({*issues, *pulls}, before=before.strftime("%Y-%m-%dT%H:%M:%SZ"))

    async def _look_closer(self, pulls: Collection[Row]) -> None:
        glances = await self._reviewing.refresh(list(pulls))
        for number, glance in glances.items():
            if not glance["open"]:  # the list had not shown that
                await self.pulls.read(number)
            await self._checks.refresh(number, glance)


def _signature(row: Row) -> tuple[str, int | None]:
    """Changes whenever something is said on an issue, or taken back."""
    return f"{row['updated']} {row['comments']}", row["comments"]

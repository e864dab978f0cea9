"""One repository on GitHub: snapshots of its issues and pull requests for tracker and forge.

Rule: what both need is read once. A snapshot is complete, or raises.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.pull_request import PullRequest
from bot.errors import NeedsHuman
from bot.ports import Poll
from bot.services.github.cache import Cache, RecordKind, Row
from bot.services.github.checks import CheckReader
from bot.services.github.client import GitHubClient
from bot.services.github.comment_markers import Markers
from bot.services.github.comment_sync import CommentSync
from bot.services.github.comment_writer import CommentWriter
from bot.services.github.comments import Comments
from bot.services.github.diagnose import SetupCheck
from bot.services.github.errors import NoGraphQL
from bot.services.github.issue_authorization import IssueAuthorization, find_edit, person
from bot.services.github.issues import IssueList
from bot.services.github.labels import RepositoryLabels
from bot.services.github.offline import ACCOUNT
from bot.services.github.parse import expected_shapes, parse_comment, parse_remark
from bot.services.github.permissions import Permissions
from bot.services.github.pull_request_details import PullRequestDetails
from bot.services.github.pull_request_writer import PullRequestWriter
from bot.services.github.pull_requests import PullRequests
from bot.services.github.reaction_writer import ReactionWriter
from bot.services.github.renamed_branches import RenamedBranches
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.repository_info import RepositoryInfo
from bot.services.github.repository_names import RepositoryNames
from bot.services.http.availability import Availability

_SECONDS_KEPT = 7 * 86400.0
_REREAD_PER_POLL = 10
"""Pull requests whose comments are read again in one poll: a thousand at once would delay everything."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RepositoryRules:
    label: str
    trusted: tuple[str, ...] = ()
    prefix: str = "treehand/"
    """Names of our branches begin with it."""


class GitHubRepository:
    def __init__(
        self,
        client: GitHubClient,
        name: str,
        db: sqlite3.Connection,
        *,
        rules: RepositoryRules,
        secret: bytes,
        older: Collection[bytes] = (),
    ) -> None:
        names = RepositoryNames(db, name)
        markers = Markers(secret, lambda: names.known, older=older)
        self.api = RepositoryApi(client, names, Cache(db, names.first))
        self._cache = self.api.cache
        self.info = RepositoryInfo(self.api, Availability(db))
        self._permissions = Permissions(self.api, rules.trusted)
        self.issues = IssueList(self.api, self.info, rules.label)
        self._authorization = IssueAuthorization(self.api, self._permissions, rules.label)
        self.labels = RepositoryLabels(self.api, self.issues)
        self.pulls = PullRequests(self.api, rules.prefix)
        self.offline = self.pulls.known
        self._pull_details = PullRequestDetails(self.api)
        self._checks = CheckReader(self.api)
        self._issue_comments, self._inline_comments = _comment_syncs(self.api)
        self._comments = Comments(self.api, self._permissions, markers)
        self.comment_writer = CommentWriter(
            self.api, self._comments, markers, self._issue_comments, self._inline_comments
        )
        self.reactions = ReactionWriter(self.api)
        self.pull_request_writer = PullRequestWriter(self.api, self.info, self.pulls)
        self.setup_check = SetupCheck(self.api, self.info, self.labels, rules.prefix)
        self._refresh_in_flight: asyncio.Future[BaseException | None] | None = None
        self._shared_read_in: Poll | None = None
        self._reconcile = True
        """Comments on pull requests are due to be read in full: no list shows deleted ones."""
        self._to_reread: set[int] = set()
        """Pull requests whose comments are still to be read again, a few in each poll."""

    @property
    def renamed_branches(self) -> RenamedBranches:
        return self.pull_request_writer.renamed_branches

    async def snapshot_issues(
        self, keys: Collection[str], poll: Poll
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]]]:
        """Every open issue with the label, those asked for, and the comments of people on them."""
        with expected_shapes():
            await self._adopt_names(keys, poll)
            self.api.set_keys(keys)
            numbers = {number for key in keys if (number := self.api.number(key))}
            if poll.fresh or not self._cache.cursor("looked at issues"):
                await self._refresh_issues(numbers, poll)
            rows = self.issues.known(numbers)
            comments = self._comments.on([row["number"] for row in rows], CommentPlace.ISSUE)
            authorizations = self._authorization.of([row["number"] for row in rows])
            issues = {self.api.key(row["number"]): self._issue(row, authorizations.get(row["number"])) for row in rows}
            return issues, {key: comments[self.api.number(key)] for key in issues}

    async def _adopt_names(self, keys: Collection[str], poll: Poll) -> None:
        """Runs may have begun under an earlier name of the repository that the cache has lost."""
        named = {key.rpartition("#")[0] for key in keys if not self.api.number(key)}
        strange = {name for name in named if name.count("/") == 1} - self.info.foreign_names
        if strange:
            await self._refresh_shared(poll)
        for name in sorted(strange):
            if name.lower() not in self.api.names.known:
                await self.info.adopt_name(name)

    async def snapshot_pulls(
        self, branches: Collection[str], poll: Poll
    ) -> tuple[Mapping[str, PullRequest], Mapping[str, tuple[Comment, ...]]]:
        """Newest pull request of each of our branches, and the comments of people on those asked for."""
        with expected_shapes():
            if poll.fresh or not self._cache.cursor("looked at pulls"):
                await self._refresh_pulls(branches, poll)
            newest = self.offline.newest()
            numbers = {branch: newest[branch]["number"] for branch in branches if branch in newest}
            comments = self._comments.on(list(numbers.values()), CommentPlace.PULL_REQUEST)
            return self.offline.pulls(), {branch: comments[number] for branch, number in numbers.items()}

    async def judge_issue_again(
        self, number: int, comments: Collection[str], *, request: bool
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]]]:
        """The issue and its comments, by what people may do now; the issue only with `request`."""
        with expected_shapes():
            await self._comments.judge_again(number, comments)
            row = self._cache.find(RecordKind.ISSUE, number)
            if row and request:
                await self._authorization.judge_again(row)
            found = self._comments.on([number], CommentPlace.ISSUE)[number]
            issue = self._issue(row, self._authorization.of([number]).get(number)) if row else None
            return {issue.key: issue} if issue else {}, {self.api.key(number): found}

    async def judge_pull_again(self, branch: str, comments: Collection[str]) -> Mapping[str, tuple[Comment, ...]]:
        with expected_shapes():
            number = int((self.pulls.find(branch) or {"number": 0})["number"])
            await self._comments.judge_again(number, comments)
            return {branch: self._comments.on([number], CommentPlace.PULL_REQUEST)[number]}

    async def login_of(self, email: str) -> str:
        """Login of the collaborator with this verified address; empty if there is none."""
        return await self._permissions.login_of(email) if email else ""

    async def may_push(self, login: str) -> bool:
        return await self._permissions.may_push({"login": login}, fresh=True)

    async def create_issue(self, title: str, body: str, labels: Sequence[str]) -> int:
        """Returns its number."""
        names = [self.issues.as_we_write(label) for label in labels]
        await self.labels.ensure_exist(names)
        return await self.issues.create(title, body, names)

    async def ensure_info(self) -> None:
        """Reads its current name and whether it may be written to, unless that is known."""
        if self.info.due:
            with expected_shapes():
                await self._refresh_shared(Poll())

    # For tracker and forge

    async def _refresh_shared(self, poll: Poll) -> None:
        """Once in a poll. Concurrent callers share one refresh, and its failure."""
        if poll is self._shared_read_in and not self.info.due:
            return
        if self._refresh_in_flight is not None:
            failure = await asyncio.shield(self._refresh_in_flight)
            if failure is not None:
                raise failure
            return
        self._refresh_in_flight = asyncio.get_running_loop().create_future()
        failure = None
        try:
            await self._read_shared()
        except BaseException as exc:
            failure = exc
            raise
        finally:
            self._refresh_in_flight.set_result(failure)
            self._refresh_in_flight = None
        self._shared_read_in = poll

    async def _read_shared(self) -> None:
        if self.info.due:
            await self.info.refresh()
            await self._read_account()
            self._reconcile = True
        self.info.check_writable()
        await self._issue_comments.refresh()

    async def _read_account(self) -> None:
        """Without it, our comments are recognized by their markers alone."""
        if not self._comments.own_id:
            try:
                self._comments.own_id = (await self.api.client.account()).id
            except (NeedsHuman, NoGraphQL) as refusal:
                _log.info("account unknown repository=%s: %s", self.api.name, refusal)
        self._cache.advance(ACCOUNT, str(self._comments.own_id or ""))

    # Issues

    async def _refresh_issues(self, numbers: Collection[int], poll: Poll) -> None:
        await self._refresh_shared(poll)
        await self.issues.refresh(numbers, poll)
        rows = self.issues.known(numbers)
        await self._issue_comments.ensure_complete({row["number"]: _signature(row) for row in rows})
        await self._authorization.refresh([row for row in rows if self.issues.is_wanted(row)], numbers)
        await self._comments.judge([row["number"] for row in rows])
        self._cache.advance("looked at issues", "yes")

    def _issue(self, row: Row, authorization: Row | None) -> Issue:
        by = person(authorization["by"], trusted=authorization["trusted"]) if authorization else Person("somebody")
        return Issue(
            key=self.api.key(row["number"]),
            title=authorization["title"] if authorization else row["title"],
            body=authorization["body"] if authorization else row["body"],
            labels=frozenset(self.issues.as_we_write(label) for label in row["labels"]),
            open=row["open"],
            requester=by,
            request=authorization["request"] if authorization else "",
            edit=find_edit(authorization) if authorization else None,
            created_at=self.api.client.to_local_time(row["created"]),
            url=row["url"],
        )

    # Pull requests

    async def _refresh_pulls(self, branches: Collection[str], poll: Poll) -> None:
        await self._refresh_shared(poll)
        await self.pulls.refresh(branches)
        newest = self.offline.newest()
        await self._refresh_details([row for row in newest.values() if row["open"]])
        await self._inline_comments.refresh()
        followed = {newest[branch]["number"]: ("read", None) for branch in branches if branch in newest}
        if self._reconcile:
            self._to_reread = {number for number in followed if self._issue_comments.was_read(number)}
        again = self._next_to_reread(followed)
        await self._issue_comments.ensure_complete(followed, reread=again)
        await self._inline_comments.ensure_complete(followed, reread=again)
        self._to_reread -= again
        if self._reconcile:
            self._tidy({*followed, *(row["number"] for row in newest.values() if row["open"])})
        self._reconcile = False
        await self._comments.judge(list(followed))
        self._cache.advance("looked at pulls", "yes")

    def _next_to_reread(self, followed: Collection[int]) -> set[int]:
        """Goes round by number, so that each has its turn even if every process polls only once."""
        last = int(self._cache.cursor("read again") or 0)
        again = sorted(self._to_reread.intersection(followed), key=lambda number: (number <= last, number))[
            :_REREAD_PER_POLL
        ]
        if again:
            self._cache.advance("read again", str(again[-1]))
        return set(again)

    def _tidy(self, pulls: Collection[int]) -> None:
        """Removes old records of issues and pull requests that are not followed."""
        issues = {row["number"] for row in self._cache.all(RecordKind.ISSUE)}
        before = datetime.fromtimestamp(self.api.client.now() - _SECONDS_KEPT, UTC)
        self._cache.forget_unfollowed({*issues, *pulls}, before=before.strftime("%Y-%m-%dT%H:%M:%SZ"))

    async def _refresh_details(self, pulls: Collection[Row]) -> None:
        details_by_number = await self._pull_details.refresh(list(pulls))
        for number, details in details_by_number.items():
            if not details["open"]:  # the list does not contain the change yet
                await self.pulls.read(number)
            await self._checks.refresh(number, details)


def _comment_syncs(api: RepositoryApi) -> tuple[CommentSync, CommentSync]:
    """Returns that of conversations and that of lines of diffs."""
    on_issues, on_pulls = "/issues/{number}/comments", "/pulls/{number}/comments"
    return (
        CommentSync(api, RecordKind.COMMENT, list_path="/issues/comments", issue_path=on_issues, parse=parse_comment),
        CommentSync(api, RecordKind.REMARK, list_path="/pulls/comments", issue_path=on_pulls, parse=parse_remark),
    )


def _signature(row: Row) -> tuple[str, int | None]:
    """Changes whenever a comment on an issue is posted or deleted."""
    return f"{row['updated']} {row['comments']}", row["comments"]

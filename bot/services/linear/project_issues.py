"""Issues of one project in a Linear team: snapshots for the engine, and changes to labels, states and reactions."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.comment import Comment
from bot.domain.issue import Issue, IssueStage
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.ports import Poll
from bot.services.linear import graphql_queries, issue_authorization, labels
from bot.services.linear.attachments import Attachments
from bot.services.linear.cache import Cache, RecordedMove, Row
from bot.services.linear.client import LeaseFence
from bot.services.linear.comment_markers import Markers
from bot.services.linear.comment_writer import CommentWriter
from bot.services.linear.comments import Comments
from bot.services.linear.errors import Refused
from bot.services.linear.labels import TeamLabels
from bot.services.linear.parse import CLOSED, expected_shapes, label_names, time
from bot.services.linear.permissions import Permissions
from bot.services.linear.reaction_writer import ReactionWriter
from bot.services.linear.team_routing import TeamRoute, find_route
from bot.services.linear.team_sync import REREADS_UNEXPLAINED, TeamSync
from bot.services.linear.workflow_states import WantedMoves, WorkflowStates, last_move, moved_since

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IssueRules:
    label: str
    route: TeamRoute
    routes: tuple[TeamRoute, ...]
    """Routes of all projects that have their issues in this team, including this project."""
    moves: WantedMoves


class ProjectIssues:
    def __init__(
        self, team: TeamSync, rules: IssueRules, permissions: Permissions, markers: Markers, fence: LeaseFence
    ) -> None:
        self.team, self._rules, self._permissions, self._fence = team, rules, permissions, fence
        self._client = team.client
        self._cache: Cache = team.cache
        self._name = rules.route.project
        self._comments = Comments(team, permissions, markers)
        self.attachments = Attachments(team, markers, fence)
        self.comment_writer = CommentWriter(team, self._comments, markers, self.attachments, fence)
        self._reactions = ReactionWriter(team, fence)
        self.labels = TeamLabels(team, fence)

    # Read

    async def snapshot(
        self, keys: Collection[str], poll: Poll
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]], Mapping[str, tuple[str, ...]]]:
        """Issues, comments of people on them, and the choice of labels for issues that no route leads to."""
        fresh = poll.fresh or not self.team.was_read
        await self._set_followed(keys, find=fresh)
        if fresh:
            await self.team.refresh(poll)
        rows = [row for row in self._cache.issues_of(self.team.key) if self._is_here(row, keys)]
        with expected_shapes():
            authorizations = {row["id"]: self._authorize(row, active=row["key"] in keys) for row in rows}
            await self._comments.judge([row["id"] for row in rows])
            comments = self._comments.on([row["id"] for row in rows])
            issues = {row["key"]: self._issue(row, authorizations[row["id"]]) for row in rows}
        return issues, {row["key"]: comments[row["id"]] for row in rows}, self._unrouted()

    async def find_orphaned(self, phase_labels: Collection[str]) -> Collection[str]:
        """Keys of issues with leftover labels: closed with the label, or open with a phase label and without it."""
        await self.ensure_info()
        names = sorted(
            {part for name in (self._rules.label, *phase_labels) for part in (name, name.partition(":")[2]) if part}
        )
        some = [{"labels": {"some": {"name": {"eqIgnoreCase": name}}}} for name in names]
        which = {"team": {"id": {"eq": self.team.info.status.id}}, "or": some}
        found = []
        with expected_shapes():
            async for nodes in self._client.pages(graphql_queries.ORPHANED, "issues", filter=which):
                found += [node["identifier"] for node in nodes if self._is_orphaned(node, phase_labels)]
        return found

    async def row_of(self, key: str) -> Row:
        await self.ensure_info()
        row = self._cache.find_by_key(key)
        if row is None:
            row = await self._find(key)
        if row is None:
            raise NeedsHuman(f"There is no issue {key} in {self.team.key}.")
        return row

    async def ensure_info(self) -> None:
        """Reads our account and the workflow states, unless they are known."""
        if self.team.info.due:
            await self.team.info.refresh()

    async def _set_followed(self, keys: Collection[str], *, find: bool) -> None:
        """Keeps these issues in the snapshot whatever happens to them, and no others."""
        for key in keys if find else ():
            if self._cache.find_by_key(key) is None and self._may_be_here(key):
                await self.ensure_info()
                await self._find(key)
        for row in self._strayed(keys):
            self._cache.set_team(row["id"], self.team.key)
        for row in self._cache.issues_of(self.team.key):
            if row["key"] in keys and row["project"] in {"", self._name}:
                self._cache.set_project(row["id"], self._name)
            elif row["project"] == self._name:
                self._cache.set_project(row["id"], "")
                if row["key"] != row["identifier"]:  # the run that used the old key is over
                    self._cache.rename(row["id"], row["identifier"])

    async def _find(self, key: str) -> Row | None:
        """Finds an issue by its key, which may be from before its team was renamed, or from another team."""
        with expected_shapes():
            found = await self.team.find(key)
        return found or await self._find_by_note(key)

    async def _find_by_note(self, key: str) -> Row | None:
        """Linear may not know a key from before the renaming: then our own note on the issue proves that it is the one.

        Without the cache, nothing else knows the issue's id.
        """
        team, _, number = key.rpartition("-")
        now = self.team.info.status.key
        if team.upper() == now.upper():
            return None
        with expected_shapes():
            found = await self.team.find(f"{now}-{number}")
        if found is None or not any(f'"key":"{key}"' in note for note in await self.attachments.read_notes(found)):
            return None
        self._cache.rename(found["id"], key)
        return self._cache.find_issue(found["id"])

    def _strayed(self, keys: Collection[str]) -> list[Row]:
        """Issues of our runs under the key that the team had before the settings were changed to its new one."""
        rows = (self._cache.find_by_key(key) for key in keys)
        return [row for row in rows if row and row["project"] == self._name and row["team"] != self.team.key]

    def _may_be_here(self, key: str) -> bool:
        """A team's key and a number. The team may be another one: issues are moved."""
        team, _, number = key.rpartition("-")
        return team.isalnum() and number.isdigit()

    def _is_here(self, row: Row, keys: Collection[str]) -> bool:
        if row["project"]:
            return bool(row["project"] == self._name and row["key"] in keys)
        return self.team.is_wanted(row) and find_route(row, self._rules.routes) == self._rules.route

    def _unrouted(self) -> Mapping[str, tuple[str, ...]]:
        """Reported by the first of the team's projects only."""
        if self._rules.routes[0] != self._rules.route:
            return {}
        choice = tuple(route.label for route in self._rules.routes)
        rows = self._cache.issues_of(self.team.key)
        unrouted = [row for row in rows if not row["project"] and self.team.is_wanted(row)]
        return {row["key"]: choice for row in unrouted if find_route(row, self._rules.routes) is None}

    def _is_orphaned(self, node: Row, phase_labels: Collection[str]) -> bool:
        names = {name.lower() for label in node["labels"]["nodes"] for name in label_names(label)}
        has_label = self._rules.label.lower() in names
        if node["state"]["type"] in CLOSED:
            return has_label
        return not has_label and bool(names & {name.lower() for name in phase_labels})

    async def judge_again(
        self, key: str, comments: Collection[str], *, request: bool
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]]]:
        """The issue and its comments, by what people are in Linear now; the issue only with `request`."""
        row = await self.row_of(key)
        await self._comments.judge_again(row["id"], comments)
        known = self._cache.find_authorization(row["id"])
        if request and known and not known["unvouched"]:
            people = await self.team.read_people(issue_authorization.people_of(row, known))
            known = issue_authorization.authorize_again(row, known, people, self._permissions.may_steer)
            self._cache.keep_authorization(row["id"], known)
        issues = {key: self._issue(row, known)} if known else {}
        return issues, {key: self._comments.on([row["id"]])[row["id"]]}

    def _authorize(self, row: Row, *, active: bool) -> Row:
        known = self._cache.find_authorization(row["id"])
        age = row["read_at"] - self._client.to_local_time(row["created"])
        if (known is None or known["unvouched"]) and not issue_authorization.is_settled(row, age):
            self._cache.update_issue(row["id"], doubted=1)  # the next poll reads the issue's history again
            return self._keep_unvouched(row)
        known = None if known and known["unvouched"] else known
        if known and known.get("withdrawn") and known["version"] == row["updated"]:
            return known  # the cached people are older than the issue's change
        found = issue_authorization.authorize(
            row, known, self.team.label_ids(row), self._permissions.may_steer, active=active
        )
        unexplained = issue_authorization.is_unexplained(found)
        if not unexplained:
            self._cache.update_issue(row["id"], doubted=0)
        elif not (known and issue_authorization.is_unexplained(known)):
            self._cache.update_issue(row["id"], doubted=REREADS_UNEXPLAINED)
        before = {name: known[name] for name in ("version", "words")} if unexplained and known else {}
        kept = {**found, **before}
        if kept != known:
            self._cache.keep_authorization(row["id"], kept)
        return kept

    def _keep_unvouched(self, row: Row) -> Row:
        found = issue_authorization.authorize(row, None, self.team.label_ids(row), lambda _: False, active=False)
        kept = {**found, "unvouched": issue_authorization.UNSETTLED}
        self._cache.keep_authorization(row["id"], kept)
        return kept

    def _issue(self, row: Row, authorization: Row) -> Issue:
        states = WorkflowStates(self.team.info.status, self._rules.moves)
        state = states.issue_state(row, authorization, self._move_of(row, authorization))
        return Issue(
            key=row["key"],
            title=authorization["title"],
            body=authorization["body"],
            labels=frozenset(self._as_we_write(name) for label in row["labels"] for name in label["names"]),
            open=row["open"],
            requester=issue_authorization.person(authorization["by"], trusted=authorization["trusted"]),
            request=authorization["request"],
            edit=issue_authorization.find_edit(authorization),
            unvouched=authorization["unvouched"],
            created_at=self._client.to_local_time(row["created"]),
            priority=row["priority"],
            url=row["url"],
            state=state,
            links=frozenset(row["links"]),
            blocked_by=tuple(row["blocked_by"]),
            parent=row["parent"],
            sub_issues=tuple(row["parts"]),
        )

    def _as_we_write(self, name: str) -> str:
        """A label of ours in the case of the settings: Linear ignores case in labels."""
        ours = self._rules.label
        is_ours = name.lower() == ours.lower() or name.lower().startswith(f"{ours.lower()}:")
        return f"{ours}{name[len(ours) :]}" if is_ours else name

    # Change

    async def create_issue(self, title: str, body: str, names: Sequence[str]) -> str:
        """Returns its key. If several projects share the team, it gets the label that routes it to ours."""
        await self.ensure_info()
        team = self.team.info.status.id
        ours = [self._rules.route.label] if len(self._rules.routes) > 1 else []
        ids = list(await self.labels.ids_of([self._as_we_write(name) for name in (*names, *ours)], team))
        entry = {"teamId": team, "title": title, "description": body, "labelIds": ids}
        made = await self._client.change(graphql_queries.CREATE_ISSUE, fence=lambda: None, input=entry)
        with expected_shapes():
            return str(made["issue"]["identifier"])

    async def ensure_labels(self, key: str, add: Collection[str], remove: Collection[str]) -> None:
        row = await self.row_of(key)
        removed = [label for label in labels.ids_on(row, remove) if label not in labels.ids_on(row, add)]
        added = [name for name in add if not labels.ids_on(row, [name])]
        if not (removed or added):
            return
        try:
            ids = list(await self.labels.ids_of(added, row["in_team"]))
            written = await self._change(row, {"addedLabelIds": ids, "removedLabelIds": removed})
        except Refused:  # a label, or the issue itself, may be gone or in another team since the last poll
            self.labels.forget(row["in_team"])
            self._cache.update_issue(row["id"], doubted=1)
            raise
        kept = [label for label in row["labels"] if label["id"] not in removed]
        new = [{"id": label, "names": [name]} for label, name in zip(ids, added, strict=True)]
        self._cache.update_issue(row["id"], labels=[*kept, *new], written=written)

    async def ensure_reaction(self, comment: str, reaction: Reaction) -> None:
        await self._reactions.ensure(comment, reaction)

    async def ensure_stage(self, key: str, stage: IssueStage) -> None:
        """Reads the state right before moving: a person may have moved the issue since the last poll."""
        row = await self.row_of(key)
        authorization = self._cache.find_authorization(row["id"]) or self._authorize(row, active=True)
        states = WorkflowStates(self.team.info.status, self._rules.moves)
        known = self._move_of(row, authorization)
        target = states.target(stage, row, authorization, known)
        if not target or stage not in states.issue_state(row, authorization, known).movable:
            return
        came_from, after = (
            states.before(row, authorization, known) or row["state"],
            last_move(moved_since(row, authorization)),
        )
        try:
            if not await self._is_unmoved(row):
                return
            self._cache.keep_move(
                row["id"], RecordedMove(authorization["request"], came_from, row["state"], target, after)
            )
            written = await self._change(row, {"stateId": target})
        except Refused:
            self.team.info.expire()
            raise
        self._cache.update_issue(row["id"], state=target, written=written)

    async def _is_unmoved(self, row: Row) -> bool:
        with expected_shapes():
            now = (await self._client.query(graphql_queries.ISSUE_STATE, id=row["id"]))["issue"]
            state = (now["state"]["id"], now["team"]["id"], bool(now["archivedAt"]))
            return state == (row["state"], row["in_team"], row["away"])

    def _move_of(self, row: Row, authorization: Row) -> RecordedMove | None:
        """Our last move of the issue for this request."""
        move = self._cache.find_move(row["id"])
        return move if move and move.request == authorization["request"] else None

    async def ensure_link(self, key: str, *, url: str, title: str) -> None:
        await self.attachments.ensure_link(await self.row_of(key), url=url, title=title)

    async def _change(self, row: Row, entry: Row) -> str:
        """Returns the time of the change: an answer that shows the issue as of before it is outdated."""
        made = await self._client.change(graphql_queries.UPDATE_ISSUE, fence=self._fence, id=row["id"], input=entry)
        with expected_shapes():
            return time(made["issue"]["updatedAt"]) if made.get("issue") else ""

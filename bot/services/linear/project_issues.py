"""One project's part of a team: its issues as the engine is to see them, and what is done to them."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.comment import Comment, Reaction
from bot.domain.issue import Issue, Stage, Standing
from bot.errors import NeedsHuman, Retryable
from bot.services.linear import graphql_queries as documents
from bot.services.linear import issue_history as consent
from bot.services.linear import labels
from bot.services.linear.cache import Move, Notebook, Row
from bot.services.linear.client import Fence
from bot.services.linear.comment_markers import Markers
from bot.services.linear.comment_writer import Saying
from bot.services.linear.comments import Talk
from bot.services.linear.errors import Forbidden, NotFound, Refused, is_there_already
from bot.services.linear.labels import Labels
from bot.services.linear.parse import CLOSED, expected_shapes, label_names
from bot.services.linear.permissions import People
from bot.services.linear.routing import Route, find_route
from bot.services.linear.team_sync import LOOKS_IN_DOUBT, Team
from bot.services.linear.workflow_states import Board, Moves, last_move, moved_since

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """How one project's issues are to be treated."""

    label: str
    route: Route
    routes: tuple[Route, ...]
    """Of all projects that have their issues in this team, this one included."""
    moves: Moves


class Scope:
    def __init__(self, team: Team, rules: Rules, people: People, markers: Markers, fence: Fence) -> None:
        self.team, self._rules, self._people, self._fence = team, rules, people, fence
        self._service = team.service
        self._notebook: Notebook = team.notebook
        self._name = rules.route.project
        self._talk = Talk(team, people, markers)
        self.saying = Saying(team, self._talk, markers, fence)
        self.labels = Labels(team, fence)
        self._unmovable: set[tuple[str, str]] = set()
        """Issues, and states they were refused to be moved to: asking again cannot help."""

    # What there is

    async def look(
        self, keys: Collection[str], *, fresh: bool
    ) -> tuple[Mapping[str, Issue], Mapping[str, tuple[Comment, ...]], Mapping[str, tuple[str, ...]]]:
        """Issues, what was said there, and those that belong to no project."""
        fresh = fresh or not self.team.was_read
        await self._follow(keys, find=fresh)
        if fresh:
            await self.team.refresh()
        rows = [row for row in self._notebook.issues_of(self.team.key) if self._is_here(row, keys)]
        with expected_shapes():
            consents = {row["id"]: self._judge(row, active=row["key"] in keys) for row in rows}
            await self._talk.judge([row["id"] for row in rows])
            said = self._talk.on([row["id"] for row in rows])
            issues = {row["key"]: self._issue(row, consents[row["id"]]) for row in rows}
        return issues, {row["key"]: said[row["id"]] for row in rows}, self._unplaced()

    async def find_left(self, shown: Collection[str]) -> Collection[str]:
        """Issues nobody has tidied up: closed with the label, or open with one that shows a phase, and without it."""
        await self.ensure_known()
        names = sorted(
            {part for name in (self._rules.label, *shown) for part in (name, name.partition(":")[2]) if part}
        )
        some = [{"labels": {"some": {"name": {"eqIgnoreCase": name}}}} for name in names]
        which = {"team": {"id": {"eq": self.team.facts.standing.id}}, "or": some}
        found = []
        with expected_shapes():
            async for nodes in self._service.pages(documents.LEFT, "issues", filter=which):
                found += [node["identifier"] for node in nodes if self._is_left(node, shown)]
        return found

    async def row_of(self, key: str) -> Row:
        await self.ensure_known()
        row = self._notebook.find_by_key(key)
        if row is None:
            with expected_shapes():
                row = await self.team.find(key)
        if row is None:
            raise NeedsHuman(f"There is no issue {key} in {self.team.key}.")
        return row

    async def ensure_known(self) -> None:
        """Who we are and what states there are, before the first look."""
        if self.team.facts.due:
            await self.team.facts.refresh()

    async def _follow(self, keys: Collection[str], *, find: bool) -> None:
        """Whatever becomes of these issues is to be seen; of others that we followed, no more."""
        for key in keys if find else ():
            if self._notebook.find_by_key(key) is None and self._may_be_here(key):
                await self.ensure_known()
                with expected_shapes():
                    await self.team.find(key)
        for row in self._notebook.issues_of(self.team.key):
            if row["key"] in keys and row["project"] in {"", self._name}:
                self._notebook.follow(row["id"], self._name)
            elif row["project"] == self._name:
                self._notebook.follow(row["id"], "")
                if row["key"] != row["identifier"]:  # the run that knew it by that is over
                    self._notebook.rename(row["id"], row["identifier"])

    def _may_be_here(self, key: str) -> bool:
        """A number after a team's key; whether of this team or another, for issues are moved."""
        team, _, number = key.rpartition("-")
        return team.isalnum() and number.isdigit()

    def _is_here(self, row: Row, keys: Collection[str]) -> bool:
        if row["project"]:
            return bool(row["project"] == self._name and row["key"] in keys)
        return self.team.is_wanted(row) and find_route(row, self._rules.routes) == self._rules.route

    def _unplaced(self) -> Mapping[str, tuple[str, ...]]:
        """Told of by the first of the team's projects."""
        if self._rules.routes[0] != self._rules.route:
            return {}
        choice = tuple(route.label for route in self._rules.routes)
        rows = self._notebook.issues_of(self.team.key)
        lost = [row for row in rows if not row["project"] and self.team.is_wanted(row)]
        return {row["key"]: choice for row in lost if find_route(row, self._rules.routes) is None}

    def _is_left(self, node: Row, shown: Collection[str]) -> bool:
        names = {name.lower() for label in node["labels"]["nodes"] for name in label_names(label)}
        is_asking = self._rules.label.lower() in names
        if node["state"]["type"] in CLOSED:
            return is_asking
        return not is_asking and bool(names & {name.lower() for name in shown})

    def _judge(self, row: Row, *, active: bool) -> Row:
        known = self._notebook.find_consent(row["id"])
        found = consent.judged(row, known, self.team.label_ids(row), self._people.may_steer, active=active)
        in_doubt = consent.is_in_doubt(found)
        if not in_doubt:
            self._notebook.alter_issue(row["id"], doubted=0)
        elif not (known and consent.is_in_doubt(known)):
            self._notebook.alter_issue(row["id"], doubted=LOOKS_IN_DOUBT)
        before = {name: known[name] for name in ("version", "words")} if in_doubt and known else {}
        kept = {**found, **before}
        if kept != known:
            self._notebook.keep_consent(row["id"], kept)
        return kept

    def _issue(self, row: Row, given: Row) -> Issue:
        board = Board(self.team.facts.standing, self._rules.moves)
        standing = board.standing(row, given, self._move_of(row, given))
        refused = {one for one in standing.movable if (row["id"], board.state_for(one)) in self._unmovable}
        return Issue(
            key=row["key"],
            title=given["title"],
            body=given["body"],
            labels=frozenset(self._as_we_write(name) for label in row["labels"] for name in label["names"]),
            open=row["open"],
            asked_by=consent.person(given["by"], trusted=given["trusted"]),
            request=given["request"],
            edit=consent.find_edit(given),
            created_at=self._service.local(row["created"]),
            priority=row["priority"],
            url=row["url"],
            standing=Standing(standing.stage, standing.movable - refused),
            links=frozenset(row["links"]),
            blocked_by=tuple(row["blocked_by"]),
            parent=row["parent"],
            parts=tuple(row["parts"]),
        )

    def _as_we_write(self, name: str) -> str:
        """Linear does not tell `AI` from `ai`."""
        ours = self._rules.label
        is_ours = name.lower() == ours.lower() or name.lower().startswith(f"{ours.lower()}:")
        return f"{ours}{name[len(ours) :]}" if is_ours else name

    # What is done

    async def file(self, title: str, body: str, names: Sequence[str]) -> str:
        """Its key. Where several projects share the team, with the label that leads to ours."""
        await self.ensure_known()
        ours = [self._rules.route.label] if len(self._rules.routes) > 1 else []
        on = list(await self.labels.ids_of([self._as_we_write(name) for name in (*names, *ours)]))
        entry = {"teamId": self.team.facts.standing.id, "title": title, "description": body, "labelIds": on}
        made = await self._service.change(documents.FILE, fence=lambda: None, input=entry)
        with expected_shapes():
            return str(made["issue"]["identifier"])

    async def ensure_labels(self, key: str, add: Collection[str], remove: Collection[str]) -> None:
        row = await self.row_of(key)
        off = [one for one in labels.on(row, remove) if one not in labels.on(row, add)]
        new = [name for name in add if not labels.on(row, [name])]
        if not (off or new):
            return
        try:
            on = list(await self.labels.ids_of(new))
            await self._change(row, {"addedLabelIds": on, "removedLabelIds": off})
        except NotFound as refusal:  # a label, or the issue itself, is gone since we looked
            self.labels.forget()
            self._notebook.alter_issue(row["id"], doubted=1)
            raise Retryable(str(refusal)) from refusal
        except Refused as refusal:
            self.labels.forget()
            self._bear(row, refusal)
            return
        left = [label for label in row["labels"] if label["id"] not in off]
        made = [{"id": one, "names": [name]} for one, name in zip(on, new, strict=True)]
        self._notebook.alter_issue(row["id"], labels=[*left, *made])

    async def ensure_reaction(self, comment: str, reaction: Reaction, issue: str) -> None:
        if reaction in self._notebook.reactions().get(comment, frozenset()):
            return
        try:
            entry = {"commentId": comment, "emoji": str(reaction)}
            await self._service.change(documents.REACT, fence=self._fence, input=entry)
        except NotFound:  # it was taken back, and nobody looks for an answer
            self._notebook.forget_comment(comment)
            return
        except Refused as refusal:
            if not is_there_already(refusal):
                self._bear(await self.row_of(issue), refusal)
                return
        self._notebook.keep_reaction(comment, str(reaction))

    async def ensure_stage(self, key: str, stage: Stage) -> None:
        """Asked where it stands right before: a person may have moved it in this moment."""
        row = await self.row_of(key)
        given = self._notebook.find_consent(row["id"]) or self._judge(row, active=True)
        board, known = Board(self.team.facts.standing, self._rules.moves), self._move_of(row, given)
        target = board.target(stage, row, given, known)
        if not target or stage not in board.standing(row, given, known).movable:
            return
        came_from, after = board.before(row, given, known) or row["state"], last_move(moved_since(row, given))
        try:
            if not await self._stands_as_seen(row):
                return
            self._notebook.keep_move(row["id"], Move(given["request"], came_from, row["state"], target, after))
            await self._change(row, {"stateId": target})
        except Refused as refusal:
            self._unmovable.add((row["id"], board.state_for(stage)))
            self.team.facts.doubt()
            _log.warning("%s was not moved: %s", key, refusal)
            return
        self._notebook.alter_issue(row["id"], state=target)

    async def _stands_as_seen(self, row: Row) -> bool:
        with expected_shapes():
            place = (await self._service.query(documents.PLACE, id=row["id"]))["issue"]
            seen = (place["state"]["id"], place["team"]["id"], bool(place["archivedAt"]))
            return seen == (row["state"], row["in_team"], row["away"])

    def _move_of(self, row: Row, given: Row) -> Move | None:
        """What we remember of having moved it for this request."""
        move = self._notebook.find_move(row["id"])
        return move if move and move.request == given["request"] else None

    async def ensure_link(self, key: str, *, url: str, title: str) -> None:
        row = await self.row_of(key)
        entry = {"issueId": row["id"], "url": url, "title": title or url, "subtitle": "Pull request"}
        try:
            await self._service.change(documents.ATTACH, fence=self._fence, input=entry)
        except Refused as refusal:
            _log.warning("nothing was linked to %s: %s", key, refusal)
        self._notebook.alter_issue(row["id"], links=[*row["links"], url])

    async def _change(self, row: Row, entry: Row) -> None:
        await self._service.change(documents.CHANGE, fence=self._fence, id=row["id"], input=entry)

    def _bear(self, row: Row, refusal: Refused) -> None:
        """What is over, and cannot be changed any more, is over all the same. And rights may come back."""
        if isinstance(refusal, Forbidden) and not row["away"]:
            raise Retryable(str(refusal)) from refusal
        if not row["away"]:
            raise refusal
        _log.warning("nothing can be changed on %s: %s", row["key"], refusal)

"""What people said on issues, in our words: who, and may they steer."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.comment import Comment, Place, Reaction
from bot.domain.issue import Person
from bot.services.linear.cache import Notebook, Row, Verdict
from bot.services.linear.comment_markers import Markers, looks_marked, without_marker
from bot.services.linear.permissions import People
from bot.services.linear.team_sync import Team


class Talk:
    def __init__(self, team: Team, people: People, markers: Markers) -> None:
        self._team = team
        self._notebook: Notebook = team.notebook
        self._people, self._markers = people, markers

    async def judge(self, issues: Collection[str]) -> None:
        """Once for every comment as it is: what somebody was allowed when they said it holds."""
        new = [row for one in issues for row in self._theirs(one) if self._verdict(row) is None]
        verdicts = [await self._judged(row) for row in new]
        with self._notebook.changing():
            for row, verdict in zip(new, verdicts, strict=True):
                self._notebook.keep_verdict(row["id"], row["version"], verdict)

    def on(self, issues: Collection[str]) -> Mapping[str, tuple[Comment, ...]]:
        """What was judged, oldest first."""
        reactions = self._notebook.reactions()
        return {
            one: tuple(
                self._comment(row, verdict, reactions.get(row["id"], frozenset()))
                for row in self._theirs(one)
                if (verdict := self._verdict(row))
            )
            for one in issues
        }

    def is_ours(self, row: Row) -> bool:
        """Said by us. Without a marker, the person whose account we share said it."""
        slug = self._markers.find_slug(row["body"], row["issue"])
        own = self._us and row["author"]["id"] == self._us
        return bool(own) and looks_marked(row["body"]) and not (slug and self._operator(row))

    def find_ours(self, rows: Sequence[Row], slug: str) -> list[Row]:
        """Our comments that go by this slug, oldest first."""
        return [row for row in rows if self.is_ours(row) and self._markers.find_slug(row["body"], row["issue"]) == slug]

    @property
    def _us(self) -> str:
        return self._team.facts.standing.us

    def _theirs(self, issue: str) -> list[Row]:
        return [row for row in self._notebook.comments_on(issue) if not self.is_ours(row)]

    def _verdict(self, row: Row) -> Verdict | None:
        return self._notebook.find_verdict(row["id"], row["version"])

    async def _judged(self, row: Row) -> Verdict:
        if self._operator(row):
            return Verdict(trusted=True, may_push=True)
        by = row["author"]
        return Verdict(trusted=self._people.may_steer(by), may_push=await self._people.may_push(by))

    def _operator(self, row: Row) -> str:
        """Who used the command line to say it, with our account: they have what we push with."""
        if not self._us or row["author"]["id"] != self._us:
            return ""
        return self._markers.find_operator(row["body"], row["issue"])

    def _comment(self, row: Row, verdict: Verdict, reactions: frozenset[str]) -> Comment:
        by = row["author"]
        return Comment(
            id=row["id"],
            place=Place.ISSUE,
            author=Person(self._operator(row) or by["name"], by["email"], verdict.trusted, verdict.may_push),
            text=without_marker(row["body"]),
            at=self._team.service.local(row["created"]),
            reactions=frozenset(Reaction(reaction) for reaction in reactions),
            thread=row["thread"],
        )

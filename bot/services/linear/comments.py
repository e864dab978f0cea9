"""Comments of people, as the engine sees them: author and permission."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Person
from bot.domain.reaction import Reaction
from bot.services.linear.cache import AuthorPermission, Cache, Row
from bot.services.linear.comment_markers import Markers, has_marker, without_marker
from bot.services.linear.permissions import Permissions
from bot.services.linear.team_sync import TeamSync


class Comments:
    def __init__(self, team: TeamSync, permissions: Permissions, markers: Markers) -> None:
        self._team = team
        self._cache: Cache = team.cache
        self._permissions, self._markers = permissions, markers

    async def judge(self, issues: Collection[str]) -> None:
        """Records the permission of each author once per version. It is asked for again before it is used.

        In Linear only its author can edit a comment: there is no other editor to judge.
        """
        new = [row for issue in issues for row in self._by_people(issue) if self._find_permission(row) is None]
        permissions = [await self._author_permission(row) for row in new]
        with self._cache.changing():
            for row, permission in zip(new, permissions, strict=True):
                self._cache.keep_author_permission(row["id"], row["version"], permission)

    async def judge_again(self, issue: str, ids: Collection[str]) -> None:
        """Records what the authors of these comments may do now."""
        rows = [row for row in self._by_people(issue) if row["id"] in ids]
        people = await self._team.read_people({row["author"]["id"] for row in rows if row["author"]["id"]})
        for row in rows:
            now = people.get(row["author"]["id"], row["author"])
            permission = await self._author_permission(
                {**row, "author": now if now["id"] else {**row["author"], "active": False}}
            )
            self._cache.keep_author_permission(row["id"], row["version"], permission)

    def on(self, issues: Collection[str]) -> Mapping[str, tuple[Comment, ...]]:
        """Judged comments by issue, oldest first."""
        reactions = self._cache.reactions()
        return {
            issue: tuple(
                self._comment(row, permission, reactions.get(row["id"], frozenset()))
                for row in self._by_people(issue)
                if (permission := self._find_permission(row))
            )
            for issue in issues
        }

    def is_ours(self, row: Row) -> bool:
        """Without a marker, a comment of our account is by the person whose account we share."""
        slug = self._markers.find_slug(row["body"], row["issue"])
        own = self._us and row["author"]["id"] == self._us
        return bool(own) and has_marker(row["body"]) and not (slug and self._operator(row))

    def find_ours(self, rows: Sequence[Row], slug: str) -> list[Row]:
        """Our comments with this slug, oldest first."""
        return [row for row in rows if self.is_ours(row) and self._markers.find_slug(row["body"], row["issue"]) == slug]

    @property
    def _us(self) -> str:
        return self._team.info.status.us

    def _by_people(self, issue: str) -> list[Row]:
        return [row for row in self._cache.comments_on(issue) if not self.is_ours(row)]

    def _find_permission(self, row: Row) -> AuthorPermission | None:
        return self._cache.find_author_permission(row["id"], row["version"])

    async def _author_permission(self, row: Row) -> AuthorPermission:
        if self._operator(row):
            return AuthorPermission(trusted=True, may_push=True)
        by = row["author"]
        return AuthorPermission(trusted=self._permissions.may_steer(by), may_push=await self._permissions.may_push(by))

    def _operator(self, row: Row) -> str:
        """Person who posted it from the command line, with our account: they hold our credential."""
        if not self._us or row["author"]["id"] != self._us:
            return ""
        return self._markers.find_operator(row["body"], row["issue"])

    def _comment(self, row: Row, permission: AuthorPermission, reactions: frozenset[str]) -> Comment:
        by = row["author"]
        return Comment(
            id=row["id"],
            place=CommentPlace.ISSUE,
            author=Person(self._operator(row) or by["name"], by["email"], permission.trusted, permission.may_push),
            text=without_marker(row["body"]),
            at=self._team.client.to_local_time(row["created"]),
            reactions=frozenset(Reaction(reaction) for reaction in reactions),
            thread=row["thread"],
        )

"""Comments and reviews of people, as the engine sees them: author, permission, and the remarks of each review."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.issue import Person
from bot.domain.reaction import Reaction
from bot.services.github.cache import AuthorPermission, RecordKind, Row
from bot.services.github.comment_editors import CommentEditors
from bot.services.github.comment_markers import Markers, has_marker, without_marker
from bot.services.github.errors import NotTold
from bot.services.github.parse import email_of
from bot.services.github.permissions import Permissions
from bot.services.github.repository_api import RepositoryApi

_SECONDS_FOR_REVIEW = 30.0
"""A remark waits so long for the review that it belongs to."""


@dataclass(frozen=True, slots=True)
class SeenComment:
    """A comment, remark or review by somebody else, as it is in the cache."""

    id: str
    version: str
    row: Row
    remarks: tuple[Row, ...] = ()
    review: bool = False

    @property
    def rows(self) -> Sequence[Row]:
        """Everything that was written in it."""
        return (self.row, *(remark for remark in self.remarks if remark is not self.row))

    def __hash__(self) -> int:
        return hash((self.id, self.version))


class Comments:
    def __init__(self, api: RepositoryApi, permissions: Permissions, markers: Markers) -> None:
        self._api = api
        self._client = api.client
        self._editors = CommentEditors(api)
        self._cache = api.cache
        self._permissions = permissions
        self._markers = markers
        self.own_id = 0

    async def judge(self, numbers: Collection[int]) -> None:
        """Records the permission of author and last editor once per version, to be asked for again before use."""
        await self._judge(
            [
                comment
                for comment in self._all(numbers, settled=True)
                if self._cache.find_author_permission(comment.id, comment.version) is None
            ]
        )

    async def judge_again(self, number: int, ids: Collection[str]) -> None:
        """Records what the people of these comments may do now. Raises NotTold if GitHub does not tell."""
        chosen = [comment for comment in self._all([number], settled=False) if comment.id in ids]
        if await self._judge(chosen, fresh=True):
            raise NotTold(f"GitHub does not return the permissions of the authors on {self._api.key(number)}.")

    async def _judge(self, comments: Sequence[SeenComment], *, fresh: bool = False) -> Collection[SeenComment]:
        """Returns comments that GitHub does not tell enough about. They keep their judgement; new ones stay unseen."""
        permissions = {comment: await self._author_permission(comment.row, fresh=fresh) for comment in comments}
        trusted = [comment for comment, permission in permissions.items() if permission and permission.trusted]
        editors = await self._editors.read([row for comment in trusted for row in comment.rows])
        for comment in trusted:
            permissions[comment] = await self._with_editors(permissions[comment], comment, editors, fresh=fresh)
        with self._cache.changing():
            for comment, permission in permissions.items():
                if permission:
                    self._cache.keep_author_permission(comment.id, comment.version, permission)
        return [comment for comment, permission in permissions.items() if permission is None]

    def on(self, numbers: Collection[int], place: CommentPlace) -> Mapping[int, tuple[Comment, ...]]:
        """Judged comments by number, oldest first."""
        reactions = self._cache.reactions()
        found: dict[int, list[Comment]] = {number: [] for number in numbers}
        for seen in self._all(numbers, settled=False):
            if permission := self._cache.find_author_permission(seen.id, seen.version):
                given = reactions.get(seen.id, frozenset())
                found[seen.row["number"]].append(self._comment(seen, place, permission, given))
        return {number: tuple(sorted(some, key=lambda comment: comment.at)) for number, some in found.items()}

    def is_ours(self, row: Row) -> bool:
        """Without a marker, a comment of our account is by the person whose account we share."""
        own = self.own_id and row["author"]["id"] == self.own_id
        if not self.own_id:
            own = bool(self._markers.find_slug(row["body"], row["number"]))
        return bool(own) and has_marker(row["body"]) and not self._operator(row)

    def find_ours(self, rows: Sequence[Row], slug: str) -> list[Row]:
        """Our comments with this slug, oldest first."""
        ours = [row for row in rows if self.is_ours(row)]
        return sorted(
            (row for row in ours if self._markers.find_slug(row["body"], row["number"]) == slug),
            key=lambda row: (row["created"], row["id"]),
        )

    async def _author_permission(self, row: Row, *, fresh: bool) -> AuthorPermission | None:
        """Returns None if GitHub does not tell."""
        if self._operator(row):
            return AuthorPermission(trusted=True, may_push=True)
        return await self._permission_of(row["author"], fresh=fresh)

    async def _permission_of(self, who: Row, *, fresh: bool) -> AuthorPermission | None:
        try:
            trusted = await self._permissions.may_steer(who, fresh=fresh)
            return AuthorPermission(trusted, trusted and await self._permissions.may_push(who))
        except NotTold:
            return None

    async def _with_editors(
        self, own: AuthorPermission | None, comment: SeenComment, editors: Mapping[str, Row], *, fresh: bool
    ) -> AuthorPermission | None:
        """The words count as those of their last editor."""
        for row in comment.rows:
            by = editors.get(row["node"])
            if by is None or own is None:
                return None
            if _id_of(by) == _id_of(row["author"]):
                continue
            theirs = await self._permission_of(by, fresh=fresh)
            if theirs is None:
                return None
            if not theirs.trusted:
                return AuthorPermission(trusted=False, may_push=False, edited_by=by["login"] or "somebody")
            own = replace(own, may_push=own.may_push and theirs.may_push)
        return own

    def _operator(self, row: Row) -> str:
        """Person who posted it from the command line, with our account: they hold our credential."""
        if not self.own_id or row["author"]["id"] != self.own_id:
            return ""
        return self._markers.find_operator(row["body"], row["number"])

    def _all(self, numbers: Collection[int], *, settled: bool) -> Iterator[SeenComment]:
        for row in self._cache.under(RecordKind.COMMENT, numbers):
            if not self.is_ours(row):
                yield SeenComment(f"issue-{row['id']}", _version(row), row)
        reviews = [row for row in self._cache.under(RecordKind.REVIEW, numbers) if row["state"] != "PENDING"]
        remarks = [row for row in self._cache.under(RecordKind.REMARK, numbers) if not self.is_ours(row)]
        remarks_of: dict[int, list[Row]] = {row["id"]: [] for row in reviews}
        authors = {row["id"]: _id_of(row["author"]) for row in reviews}
        for row in remarks:
            # a remark filed under another author's review does not belong to it
            if authors.get(row["review"]) == _id_of(row["author"]) and not self._stands_alone(row):
                remarks_of[row["review"]].append(row)
            elif not settled or self._stands_alone(row) or self._has_waited(row):
                yield SeenComment(f"inline-{row['id']}", _version(row), row, (row,))
        for row in reviews:
            if row["body"] or remarks_of[row["id"]] or row["state"] == "APPROVED":
                yield SeenComment(
                    f"review-{row['id']}",
                    _version(row, *remarks_of[row["id"]]),
                    row,
                    tuple(remarks_of[row["id"]]),
                    review=True,
                )

    def _stands_alone(self, remark: Row) -> bool:
        """It was shown as a comment of its own before, and must not appear again as a part of a review."""
        return self._cache.was_judged(f"inline-{remark['id']}")

    def _has_waited(self, remark: Row) -> bool:
        created = self._client.to_local_time(remark["created"])
        return not remark["review"] or self._client.now() - created > _SECONDS_FOR_REVIEW

    def _comment(
        self, seen: SeenComment, place: CommentPlace, permission: AuthorPermission, reactions: frozenset[str]
    ) -> Comment:
        row = seen.row
        name = self._operator(row) or row["author"]["login"] or "somebody"
        return Comment(
            id=seen.id,
            place=place,
            author=Person(name, email_of(row["author"]), permission.trusted, permission.may_push),
            edited_by=Person(permission.edited_by) if permission.edited_by else None,
            text="" if seen.remarks and not seen.review else without_marker(row["body"]),
            at=self._client.to_local_time(row["created"]),
            remarks=tuple(_remark(remark) for remark in seen.remarks),
            reactions=frozenset(Reaction(reaction) for reaction in reactions),
            review=seen.review,
            approves=seen.review and row["state"] == "APPROVED",
        )


def _remark(row: Row) -> Remark:
    return Remark(row["path"], row["line"], without_marker(row["body"]), row["hunk"], f"inline-{row['id']}")


def _id_of(person: Row) -> str:
    return str(person["id"] or person["login"])


def _version(*rows: Row) -> str:
    """GitHub gives the time of an edit in seconds, and of a review none: the text decides."""
    words = "\0".join(f"{row['id']} {row.get('state', '')} {row.get('updated', '')} {row['body']}" for row in rows)
    return sha256(words.encode(errors="surrogatepass")).hexdigest()

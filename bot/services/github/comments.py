"""What people said on issues and pull requests, in our words: who, may they steer, and what belongs together."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from bot.domain.comment import Comment, Place, Reaction, Remark
from bot.domain.issue import Person
from bot.services.github.cache import Kind, Row, Verdict
from bot.services.github.comment_markers import Markers, looks_marked, without_marker
from bot.services.github.parse import email_of
from bot.services.github.permissions import People
from bot.services.github.repository_api import Access

_SECONDS_TO_APPEAR = 30.0
"""How long a remark may wait for the review it belongs to."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One thing said by somebody else, as it is in the notebook."""

    id: str
    version: str
    row: Row
    remarks: tuple[Row, ...] = ()
    review: bool = False


class Talk:
    def __init__(self, access: Access, people: People, markers: Markers) -> None:
        self._service = access.service
        self._notebook = access.notebook
        self._people = people
        self._markers = markers
        self.own_id = 0

    async def judge(self, numbers: Collection[int]) -> None:
        """Once for every comment as it is: what somebody was allowed when they said it holds."""
        new = [
            heard
            for heard in self._all(numbers, settled=True)
            if self._notebook.find_verdict(heard.id, heard.version) is None
        ]
        verdicts = [await self._judged(heard.row) for heard in new]
        with self._notebook.changing():
            for heard, verdict in zip(new, verdicts, strict=True):
                self._notebook.keep_verdict(heard.id, heard.version, verdict)

    def on(self, numbers: Collection[int], place: Place) -> Mapping[int, tuple[Comment, ...]]:
        """What was judged, oldest first."""
        reactions = self._notebook.reactions()
        found: dict[int, list[Comment]] = {number: [] for number in numbers}
        for heard in self._all(numbers, settled=False):
            if verdict := self._notebook.find_verdict(heard.id, heard.version):
                given = reactions.get(heard.id, frozenset())
                found[heard.row["number"]].append(self._comment(heard, place, verdict, given))
        return {number: tuple(sorted(said, key=lambda comment: comment.at)) for number, said in found.items()}

    def is_ours(self, row: Row) -> bool:
        """Said by us. Without a marker, the person whose account we share said it."""
        own = self.own_id and row["author"]["id"] == self.own_id
        if not self.own_id:
            own = bool(self._markers.find_slug(row["body"], row["number"]))
        return bool(own) and looks_marked(row["body"]) and not self._operator(row)

    def find_ours(self, rows: Sequence[Row], slug: str) -> list[Row]:
        """Our comments that go by this slug, oldest first."""
        ours = [row for row in rows if self.is_ours(row)]
        return sorted(
            (row for row in ours if self._markers.find_slug(row["body"], row["number"]) == slug),
            key=lambda row: (row["created"], row["id"]),
        )

    async def _judged(self, row: Row) -> Verdict:
        if self._operator(row):
            return Verdict(trusted=True, may_push=True)
        by = row["author"]
        return Verdict(trusted=await self._people.may_steer(by), may_push=await self._people.may_push(by))

    def _operator(self, row: Row) -> str:
        """Who used the command line to say it, with our account: they have what we push with."""
        if not self.own_id or row["author"]["id"] != self.own_id:
            return ""
        return self._markers.find_operator(row["body"], row["number"])

    def _all(self, numbers: Collection[int], *, settled: bool) -> Iterator[Heard]:
        for row in self._notebook.under(Kind.COMMENT, numbers):
            if not self.is_ours(row):
                yield Heard(f"issue-{row['id']}", row["updated"], row)
        reviews = [row for row in self._notebook.under(Kind.REVIEW, numbers) if row["state"] != "PENDING"]
        remarks = [row for row in self._notebook.under(Kind.REMARK, numbers) if not self.is_ours(row)]
        belonging: dict[int, list[Row]] = {row["id"]: [] for row in reviews}
        authors = {row["id"]: _who(row) for row in reviews}
        for row in remarks:
            # whatever it is filed under, nobody speaks in a review of somebody else's
            if authors.get(row["review"]) == _who(row) and not self._stands_alone(row):
                belonging[row["review"]].append(row)
            elif not settled or self._stands_alone(row) or self._has_waited(row):
                yield Heard(f"inline-{row['id']}", row["updated"], row, (row,))
        for row in reviews:
            if row["body"] or belonging[row["id"]] or row["state"] == "APPROVED":
                yield Heard(f"review-{row['id']}", _version(row), row, tuple(belonging[row["id"]]), review=True)

    def _stands_alone(self, remark: Row) -> bool:
        """It was once shown as a comment of its own, and must not be heard again as a part of another."""
        return self._notebook.was_judged(f"inline-{remark['id']}")

    def _has_waited(self, remark: Row) -> bool:
        created = self._service.local(remark["created"])
        return not remark["review"] or self._service.now() - created > _SECONDS_TO_APPEAR

    def _comment(self, heard: Heard, place: Place, verdict: Verdict, reactions: frozenset[str]) -> Comment:
        row = heard.row
        name = self._operator(row) or row["author"]["login"] or "somebody"
        return Comment(
            id=heard.id,
            place=place,
            author=Person(name, email_of(row["author"]), verdict.trusted, verdict.may_push),
            text="" if heard.remarks and not heard.review else without_marker(row["body"]),
            at=self._service.local(row["created"]),
            remarks=tuple(_remark(remark) for remark in heard.remarks),
            reactions=frozenset(Reaction(reaction) for reaction in reactions),
            review=heard.review,
            approves=heard.review and row["state"] == "APPROVED",
        )


def _remark(row: Row) -> Remark:
    return Remark(row["path"], row["line"], without_marker(row["body"]), row["hunk"], f"inline-{row['id']}")


def _who(row: Row) -> str:
    return str(row["author"]["id"] or row["author"]["login"])


def _version(review: Row) -> str:
    """A review does not tell when it was edited."""
    return f"{review['state']} {sha256(review['body'].encode(errors='surrogatepass')).hexdigest()}"

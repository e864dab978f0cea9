"""Our own comments: each is said once, whatever happens between saying it and knowing that it was said.

Rule: what we are about to say is saved first. Of what had no answer we look whether it is there, and say it again only
after it has had time to appear; and then under the same id, which Linear takes once.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from bot.errors import Retryable
from bot.services.linear import graphql_queries as documents
from bot.services.linear.cache import Notebook, Row, Said
from bot.services.linear.client import Fence
from bot.services.linear.comment_markers import Markers
from bot.services.linear.comments import Talk
from bot.services.linear.errors import Forbidden, NotFound, Refused, Unknown
from bot.services.linear.parse import expected_shapes, parse_comment
from bot.services.linear.team_sync import Team

_SECONDS_TO_SETTLE = 60.0
"""A request may take 30 s, and lists may lag as much behind it."""
_log = logging.getLogger(__name__)


class Saying:
    def __init__(self, team: Team, talk: Talk, markers: Markers, fence: Fence) -> None:
        self._team, self._service = team, team.service
        self._notebook: Notebook = team.notebook
        self._talk, self._markers, self._fence = talk, markers, fence

    async def ensure(self, row: Row, *, slug: str, text: str, note: str, thread: str) -> None:
        """One comment, rewritten where it stands. The note first: it must not be older than what people read."""
        body = self._markers.signed(text, issue=row["id"], slug=slug)
        wanted = Said(row["id"], slug, digest=_digest(body))
        try:
            with expected_shapes():
                if note:
                    await self._keep_note(row["id"], slug, note)
                await self._ensure(wanted, body, thread)
        except Forbidden as refusal:
            raise Retryable(str(refusal)) from refusal  # there is nowhere to say so
        except Refused as refusal:
            if isinstance(refusal, NotFound):
                self._notebook.alter_issue(row["id"], doubted=1)  # the next look tells whether it is there at all
            if not row["away"]:
                raise
            _log.warning("nothing can be said on %s: %s", row["key"], refusal)

    async def recall(self, row: Row) -> list[str]:
        """The notes on an issue, oldest first, whichever life of ours wrote them."""
        with expected_shapes():
            answer = await self._service.query(documents.KEPT, id=row["id"])
            kept = sorted(answer["issue"]["attachments"]["nodes"], key=lambda one: one["createdAt"])
            ours = [one for one in kept if (one["creator"] or {}).get("id") == self._team.facts.standing.us]
            found = dict(self._markers.find_note(one["metadata"] or {}, row["id"]) for one in ours)
        for said in (self._notebook.find_said(row["id"], f"note/{slug}") for slug in found):
            if said:
                self._notebook.forget_said(said)  # another life may have written over what we remember
        return [note for note in found.values() if note]

    async def speak_for(self, row: Row, person: str, text: str) -> None:
        """In the name of whoever uses the command line here."""
        body = self._markers.in_the_name_of(person, text, issue=row["id"])
        with expected_shapes():
            made = await self._service.change(
                documents.SAY, fence=lambda: None, input={"issueId": row["id"], "body": body}
            )
            self._notebook.keep_comment(parse_comment(made["comment"]))

    async def _keep_note(self, issue: str, slug: str, note: str) -> None:
        """Under its own address: a second one with it takes the place of the first."""
        known, digest = self._notebook.find_said(issue, f"note/{slug}"), _digest(note)
        if known and known.digest == digest:
            return
        entry = {
            "issueId": issue,
            "title": "Treehand",
            "subtitle": f"what it remembers of run {slug.partition('/')[0]}",
            "url": self._markers.note_place(issue, slug),
            "metadata": self._markers.note(note, issue=issue, slug=slug),
        }
        await self._service.change(documents.ATTACH, fence=self._fence, input=entry)
        self._notebook.keep_said(Said(issue, f"note/{slug}", digest=digest))

    async def _ensure(self, wanted: Said, body: str, thread: str) -> None:
        said = self._notebook.find_said(wanted.issue, wanted.slug) or await self._adopted(
            self._notebook.comments_on(wanted.issue), wanted
        )
        if said and not said.id:
            said = await self._find_again(said)
        if said is None or not await self._rewritten(said, wanted, body):
            await self._say(wanted, body, thread)

    async def _rewritten(self, said: Said, wanted: Said, body: str) -> bool:
        """False: it is not there any more, or is no longer ours to change: we have another account now."""
        if said.digest == wanted.digest:
            return True
        try:
            made = await self._service.change(documents.SAY_ANEW, fence=self._fence, id=said.id, input={"body": body})
        except (NotFound, Forbidden) as refusal:
            if isinstance(refusal, Forbidden) and not self._is_anothers(said):
                raise
            self._notebook.forget_said(said)
            self._notebook.forget_comment(said.id)
            self._count_gone(wanted)
            return False
        self._learn(made["comment"], wanted)
        return True

    def _is_anothers(self, said: Said) -> bool:
        rows = self._notebook.comments_on(said.issue)
        us = self._team.facts.standing.us
        return any(row["id"] == said.id and row["author"]["id"] != us for row in rows)

    async def _say(self, wanted: Said, body: str, thread: str) -> None:
        intent = replace(wanted, tried_at=self._service.now())
        self._notebook.keep_said(intent)
        try:
            made = await self._posted(wanted, body, thread)
        except Unknown:
            raise
        except (Refused, Retryable):
            self._notebook.forget_said(intent)  # it surely was not said
            raise
        if made:
            self._learn(made["comment"], wanted)

    async def _posted(self, wanted: Said, body: str, thread: str) -> Row | None:
        """None: it was there already, from a life of ours that nobody remembers.

        Refused, it may also be that it was there and was removed, or that the thread is gone.
        """
        for parent in (thread, thread, "") if thread else ("", ""):
            entry = {"issueId": wanted.issue, "body": body, "id": self._id_for(wanted)}
            try:
                return await self._made({**entry, "parentId": parent} if parent else entry)
            except Forbidden:
                raise
            except Refused as refusal:
                problem = refusal
                if await self._adopted(await self._team.hear_on(wanted.issue), wanted):
                    return None
                self._count_gone(wanted)
        raise problem

    async def _made(self, entry: Row) -> Row:
        made: Row = await self._service.change(documents.SAY, fence=self._fence, input=entry)
        return made

    def _id_for(self, wanted: Said) -> str:
        gone = self._notebook.cursor(wanted.issue, f"gone/{wanted.slug}")
        return self._markers.id_for(wanted.issue, f"{wanted.slug} {gone}".strip())

    def _count_gone(self, wanted: Said) -> None:
        """What was removed cannot be made again under the same id."""
        name = f"gone/{wanted.slug}"
        self._notebook.advance(wanted.issue, name, str(int(self._notebook.cursor(wanted.issue, name) or 0) + 1))

    async def _find_again(self, said: Said) -> Said | None:
        """We tried, and do not know what became of it."""
        found = await self._adopted(await self._team.hear_on(said.issue), said)
        waited = self._service.now() - said.tried_at
        if found is None and 0 <= waited < _SECONDS_TO_SETTLE:
            raise Retryable("It is not known yet whether a comment was made on Linear.")
        return found

    async def _adopted(self, rows: Sequence[Row], said: Said) -> Said | None:
        """The oldest counts, others go."""
        ours = self._talk.find_ours(rows, said.slug)
        if not ours:
            return None
        for extra in ours[1:]:
            with suppress(Refused):
                await self._service.change(documents.UNSAY, fence=self._fence, id=extra["id"])
            self._notebook.forget_comment(extra["id"])
        found = replace(said, id=ours[0]["id"], digest=_digest(ours[0]["body"]))
        self._notebook.keep_said(found)
        return found

    def _learn(self, comment: Row, wanted: Said) -> None:
        row = parse_comment(comment)
        self._notebook.keep_comment(row)
        self._notebook.keep_said(replace(wanted, id=row["id"]))


def _digest(body: str) -> str:
    return sha256(body.encode(errors="replace")).hexdigest()

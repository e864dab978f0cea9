"""Our own comments: each is said once, whatever happens between saying it and knowing that it was said.

Rule: what we are about to say is saved first. Of what had no answer we look whether it is there, and say it again only
after it has had time to appear.
"""

import logging
from dataclasses import replace
from hashlib import sha256
from typing import Any

from bot.errors import NeedsHuman, Retryable
from bot.services.github.cache import Kind, Row, Said
from bot.services.github.comment_markers import Markers
from bot.services.github.comment_sync import Listening
from bot.services.github.comments import Talk
from bot.services.github.errors import Forbidden, Locked, NotFound, Refused, Unknown
from bot.services.github.repository_api import Access

_SECONDS_TO_SETTLE = 60.0
"""A request may take 30 s, and lists may lag as much behind it."""
_GONE = 410
_log = logging.getLogger(__name__)


class Saying:
    def __init__(self, access: Access, talk: Talk, markers: Markers, comments: Listening, remarks: Listening) -> None:
        self._access = access
        self._notebook = access.notebook
        self._talk = talk
        self._markers = markers
        self._comments = comments
        self._remarks = remarks
        self._shut: set[int] = set()

    async def ensure(self, number: int, *, slug: str, text: str, thread: str = "", note: str = "") -> None:
        """One comment, rewritten where it stands. `thread`: the remark it answers."""
        body = self._markers.signed(text, number=number, slug=slug, note=note)
        remark = self._remark_at(thread)
        wanted = Said(number, slug, 0, bool(remark), _digest(body), 0.0)
        try:
            await self._ensure(wanted, body, remark)
        except Locked as locked:
            self._give_up(number, locked)
        except NotFound as gone:
            if remark:  # the thread is gone, the conversation is not
                return await self.ensure(number, slug=slug, text=text)
            if gone.status != _GONE:
                raise NeedsHuman(f"There is no {self._access.key(number)} any more: {gone}") from gone
            self._give_up(number, gone)
        except Forbidden as refusal:
            raise Retryable(str(refusal)) from refusal  # there is nowhere to say so

    def _remark_at(self, thread: str) -> int:
        """The remark a thread began with: only there it can be answered. 0: there is none."""
        number = thread.removeprefix("inline-")
        row = self._notebook.find(Kind.REMARK, int(number)) if number.isdigit() else None
        return int(row["thread"] or row["id"]) if row else 0

    async def _ensure(self, wanted: Said, body: str, thread: int) -> None:
        said = self._notebook.find_said(wanted.number, wanted.slug) or await self._found(wanted)
        if said and not said.id:
            said = await self._find_again(said)
        if said is None or not await self._rewritten(said, wanted, body):
            await self._say(wanted, body, thread)

    async def recall(self, number: int) -> list[str]:
        """The notes in our comments, oldest first, whichever life of ours wrote them; they count as they stand."""
        if not self._notebook.cursor(self._comments.cursor(number)):
            await self._comments.read_whole(number)
        rows = filter(self._talk.is_ours, self._comments.known(number))
        ours: dict[str, Row] = {}
        for row in sorted(rows, key=lambda row: (row["created"], row["id"])):
            self._learn_words(row)
            ours.setdefault(self._markers.find_slug(row["body"], number), row)  # what is a copy tells nothing
        return [note for row in ours.values() if (note := self._markers.find_note(row["body"], number))]

    def _learn_words(self, row: Row) -> None:
        """Another life may have written over what we remember."""
        said = self._notebook.find_said(row["number"], self._markers.find_slug(row["body"], row["number"]))
        if said and said.id == row["id"] and said.digest != (digest := _digest(row["body"])):
            self._notebook.keep_said(replace(said, digest=digest))

    async def speak_for(self, number: int, person: str, text: str) -> None:
        """In the name of whoever uses the command line here."""
        body = self._markers.in_the_name_of(person, text, number=number)
        answer = await self._access.write("POST", f"/issues/{number}/comments", {"body": body})
        self._comments.keep(answer.data, number)

    async def _rewritten(self, said: Said, wanted: Said, body: str) -> bool:
        """False: it is not there any more."""
        if said.digest == wanted.digest:
            return True
        place = "pulls" if said.inline else "issues"
        try:
            answer = await self._access.write("PATCH", f"/{place}/comments/{said.id}", {"body": body})
        except NotFound:
            self._notebook.forget_said(said)
            return False
        self._learn(said, answer.data)
        self._notebook.keep_said(_with(wanted, said.id, inline=said.inline))
        return True

    async def _say(self, wanted: Said, body: str, thread: int) -> None:
        intent = _with(wanted, 0, inline=wanted.inline, tried_at=self._access.service.now())
        self._notebook.keep_said(intent)
        try:
            payload = await self._post(wanted.number, body, thread)
        except Unknown:
            raise
        except (NotFound, Refused, Retryable):  # it surely was not said
            self._notebook.forget_said(intent)
            raise
        self._learn(wanted, payload)
        self._notebook.keep_said(_with(wanted, payload["id"], inline=wanted.inline))

    async def _post(self, number: int, body: str, thread: int) -> Any:
        path = f"/pulls/{number}/comments/{thread}/replies" if thread else f"/issues/{number}/comments"
        answer = await self._access.write("POST", path, {"body": body})
        return answer.data

    async def _found(self, wanted: Said) -> Said | None:
        """What an earlier life of ours said there, if its memory was lost. The oldest counts, others go."""
        listening = self._remarks if wanted.inline else self._comments
        if not self._notebook.cursor(listening.cursor(wanted.number)):
            await listening.read_whole(wanted.number)
        return await self._adopted(self._talk.find_ours(listening.known(wanted.number), wanted.slug), wanted)

    async def _find_again(self, said: Said) -> Said | None:
        """We tried, and do not know what became of it."""
        listening = self._remarks if said.inline else self._comments
        rows = await listening.read_whole(said.number)
        found = await self._adopted(self._talk.find_ours(rows, said.slug), said)
        waited = self._access.service.now() - said.tried_at
        if found is None and 0 <= waited < _SECONDS_TO_SETTLE:
            raise Retryable(f"It is not known yet whether a comment was made on {self._access.key(said.number)}.")
        return found

    async def _adopted(self, ours: list[Row], said: Said) -> Said | None:
        if not ours:
            return None
        for extra in ours[1:]:
            await self._remove(extra["id"], inline=said.inline)
        found = Said(said.number, said.slug, ours[0]["id"], said.inline, _digest(ours[0]["body"]), said.tried_at)
        self._notebook.keep_said(found)
        return found

    async def _remove(self, comment: int, *, inline: bool) -> None:
        try:
            await self._access.write("DELETE", f"/{'pulls' if inline else 'issues'}/comments/{comment}")
        except NotFound:
            return

    def _learn(self, said: Said, payload: Any) -> None:
        listening = self._remarks if said.inline else self._comments
        row = listening.keep(payload, said.number)
        self._talk.own_id = self._talk.own_id or row["author"]["id"]

    def _give_up(self, number: int, why: Exception) -> None:
        """Nothing can be said there, and that is the people's wish."""
        if number not in self._shut:
            self._shut.add(number)
            _log.warning("nothing can be said on %s: %s", self._access.key(number), why)


def _digest(body: str) -> str:
    return sha256(body.encode(errors="replace")).hexdigest()


def _with(said: Said, comment: int, *, inline: bool, tried_at: float = 0.0) -> Said:
    return Said(said.number, said.slug, comment, inline, said.digest, tried_at)

"""Comment outbox: posts each of our comments once, even if the process dies or no answer comes.

Rule: a comment is recorded before it is posted. If no answer came, the service is searched for it, and it is posted
again only after it has had time to appear.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol

from bot.errors import NeedsHuman, Retryable
from bot.services.http.service_reply import UnknownOutcome
from bot.system.clock import Clock

_SECONDS_TO_APPEAR = 60.0
"""A request may take 30 s, and lists may lag as much behind it."""


@dataclass(frozen=True, slots=True)
class OwnComment:
    """One comment of ours, found again by its issue and slug."""

    issue: str
    slug: str
    id: str = ""
    """Empty while it is not known whether it was posted."""
    digest: str = ""
    """Hash of the text as it was last written."""
    tried_at: float = 0.0
    inline: bool = False
    """It answers a remark on a line of a diff."""


class OwnCommentStore(Protocol):
    def find_own_comment(self, issue: str, slug: str) -> OwnComment | None: ...

    def keep_own_comment(self, comment: OwnComment) -> None: ...

    def forget_own_comment(self, comment: OwnComment) -> None: ...


class CommentOutbox(ABC):
    def __init__(self, store: OwnCommentStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    @abstractmethod
    async def find(self, comment: OwnComment, *, fresh: bool) -> Sequence[Mapping[str, Any]]:
        """Comments of ours with this slug there, oldest first; `fresh`: as the service shows them now."""

    @abstractmethod
    async def post(self, comment: OwnComment, body: str, thread: str) -> str:
        """Returns its id. Raises UnknownOutcome if the comment may have been posted."""

    @abstractmethod
    async def edit(self, comment: OwnComment, body: str) -> bool:
        """Returns False if the comment is gone."""

    @abstractmethod
    async def delete(self, comment: OwnComment) -> None:
        """Does nothing if it is gone. `find` does not return it afterwards."""

    async def deliver(self, wanted: OwnComment, body: str, thread: str) -> None:
        wanted = replace(wanted, digest=digest(body))
        sent = self._store.find_own_comment(wanted.issue, wanted.slug)
        if sent is None:
            sent = self.adopt(wanted, await self.find(wanted, fresh=False))
        if sent and not sent.id:
            sent = await self._search(sent)
        if sent is None or not await self._update(sent, wanted, body):
            await self._create(wanted, body, thread)
        await self._delete_copies(wanted)

    def adopt(self, comment: OwnComment, found: Sequence[Mapping[str, Any]]) -> OwnComment | None:
        """Keeps the oldest of the comments found as ours."""
        if not found:
            return None
        adopted = replace(comment, id=str(found[0]["id"]), digest=digest(found[0]["body"]))
        self._store.keep_own_comment(adopted)
        return adopted

    async def _delete_copies(self, comment: OwnComment) -> None:
        """Deletes copies after our words are there, so that no refusal delays them. It is tried at each delivery."""
        own = self._store.find_own_comment(comment.issue, comment.slug)
        for copy in await self.find(comment, fresh=False) if own and own.id else ():
            if own and str(copy["id"]) != own.id:
                with suppress(NeedsHuman):
                    await self.delete(replace(comment, id=str(copy["id"])))

    async def _search(self, sent: OwnComment) -> OwnComment | None:
        found = self.adopt(sent, await self.find(sent, fresh=True))
        if found is None and 0 <= self._clock() - sent.tried_at < _SECONDS_TO_APPEAR:
            raise Retryable(f"It is unknown whether the comment {sent.slug} was posted. Treehand checks again soon.")
        return found

    async def _update(self, sent: OwnComment, wanted: OwnComment, body: str) -> bool:
        """Returns False if the comment is gone."""
        if sent.digest == wanted.digest:
            return True
        if not await self.edit(sent, body):
            self._store.forget_own_comment(sent)
            return False
        self._store.keep_own_comment(replace(wanted, id=sent.id, inline=sent.inline))
        return True

    async def _create(self, wanted: OwnComment, body: str, thread: str) -> None:
        intent = replace(wanted, tried_at=self._clock())
        self._store.keep_own_comment(intent)
        try:
            posted = await self.post(wanted, body, thread)
        except UnknownOutcome:
            raise
        except (NeedsHuman, Retryable):  # the comment was certainly not posted
            self._store.forget_own_comment(intent)
            raise
        if posted:
            self._store.keep_own_comment(replace(wanted, id=posted))


def digest(body: str) -> str:
    return sha256(body.encode(errors="replace")).hexdigest()

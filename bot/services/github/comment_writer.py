"""Writes our comments on issues and pull requests, each once, and reads the run notes in them."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.run_names import PROGRESS_SLUG
from bot.errors import NeedsHuman
from bot.services.github.cache import RecordKind, Row
from bot.services.github.comment_markers import Markers
from bot.services.github.comment_sync import CommentSync
from bot.services.github.comments import Comments
from bot.services.github.errors import NotFound, not_there
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.write_queue import WriteRank
from bot.services.http.comment_outbox import CommentOutbox, OwnComment, digest


class CommentWriter(CommentOutbox):
    def __init__(
        self,
        api: RepositoryApi,
        comments: Comments,
        markers: Markers,
        issue_comments: CommentSync,
        inline_comments: CommentSync,
    ) -> None:
        super().__init__(api.cache, api.client.now)
        self._api = api
        self._cache = api.cache
        self._comments = comments
        self._markers = markers
        self._issue_comments = issue_comments
        self._inline_comments = inline_comments

    async def ensure(self, number: int, *, slug: str, text: str, thread: str = "", note: str = "") -> None:
        """One comment per slug, edited in place. `thread`: the remark it answers."""
        body = self._markers.sign(text, number=number, slug=slug, note=note)
        remark = self._first_remark(thread)
        try:
            await self.deliver(OwnComment(str(number), slug, inline=bool(remark)), body, remark)
        except NotFound as gone:
            if remark:  # the thread is gone, but the pull request is not
                return await self.ensure(number, slug=slug, text=text)
            raise NeedsHuman(not_there(self._api.key(number), gone)) from gone

    async def read_run_notes(self, number: int) -> list[str]:
        """Notes in our comments, oldest first, also those that an earlier installation wrote."""
        if not self._cache.cursor(self._issue_comments.cursor(number)):
            await self._issue_comments.read_all(number)
        rows = filter(self._comments.is_ours, self._issue_comments.known(number))
        ours: dict[str, Row] = {}
        for row in sorted(rows, key=lambda row: (row["created"], row["id"])):
            self._update_digest(row)
            ours.setdefault(self._markers.find_slug(row["body"], number), row)  # a copy of a comment does not count
        return [note for row in ours.values() if (note := self._markers.find_note(row["body"], number))]

    async def post_for_operator(self, number: int, person: str, text: str) -> None:
        """Posts in the name of the person at the command line."""
        body = self._markers.sign_for_operator(person, text, number=number)
        answer = await self._api.write("POST", f"/issues/{number}/comments", {"body": body})
        self._issue_comments.keep(answer.data, number)

    async def find(self, comment: OwnComment, *, fresh: bool) -> Sequence[Row]:
        number, sync = int(comment.issue), self._sync_of(comment)
        if fresh or not self._cache.cursor(sync.cursor(number)):
            await sync.read_all(number)
        return self._comments.find_ours(sync.known(number), comment.slug)

    async def post(self, comment: OwnComment, body: str, thread: str) -> str:
        issue = comment.issue
        path = f"/pulls/{issue}/comments/{thread}/replies" if thread else f"/issues/{issue}/comments"
        is_sign = comment.slug.rpartition("/")[2] == PROGRESS_SLUG
        rank = WriteRank.SIGN if is_sign else WriteRank.ANSWER
        answer = await self._api.write("POST", path, {"body": body}, rank=rank)
        return str(self._keep(comment, answer.data)["id"])

    async def edit(self, comment: OwnComment, body: str) -> bool:
        try:
            answer = await self._api.write("PATCH", _path(comment), {"body": body}, rank=WriteRank.EDIT)
        except NotFound:
            if await self._is_there(comment):
                raise
            return False
        self._keep(comment, answer.data)
        return True

    async def delete(self, comment: OwnComment) -> None:
        try:
            await self._api.delete(_path(comment))
        except NotFound:
            if await self._is_there(comment):
                raise
        self._cache.forget(RecordKind.REMARK if comment.inline else RecordKind.COMMENT, int(comment.id))

    async def _is_there(self, comment: OwnComment) -> bool:
        """GitHub also says "not found" to a token that may only read: then it must not be posted a second time."""
        try:
            await self._api.get(_path(comment))
        except NotFound:
            return False
        return True

    def _first_remark(self, thread: str) -> str:
        """Id of the remark that began a thread: GitHub accepts replies to it only. Empty if there is none."""
        number = thread.removeprefix("inline-")
        row = self._cache.find(RecordKind.REMARK, int(number)) if number.isdigit() else None
        return str(row["thread"] or row["id"]) if row else ""

    def _update_digest(self, row: Row) -> None:
        """Another installation may have rewritten a comment since we recorded it."""
        sent = self._cache.find_own_comment(str(row["number"]), self._markers.find_slug(row["body"], row["number"]))
        if sent and sent.id == str(row["id"]) and sent.digest != (now := digest(row["body"])):
            self._cache.keep_own_comment(replace(sent, digest=now))

    def _sync_of(self, comment: OwnComment) -> CommentSync:
        return self._inline_comments if comment.inline else self._issue_comments

    def _keep(self, comment: OwnComment, payload: Row) -> Row:
        row = self._sync_of(comment).keep(payload, int(comment.issue))
        self._comments.own_id = self._comments.own_id or row["author"]["id"]
        return row


def _path(comment: OwnComment) -> str:
    return f"/{'pulls' if comment.inline else 'issues'}/comments/{comment.id}"

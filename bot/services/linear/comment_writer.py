"""Writes our comments on issues, each once. Linear accepts an id that we choose, and accepts it once."""

from collections.abc import Sequence
from contextlib import suppress

from bot.services.http.comment_outbox import CommentOutbox, OwnComment
from bot.services.linear import graphql_queries
from bot.services.linear.attachments import Attachments
from bot.services.linear.cache import Row
from bot.services.linear.client import LeaseFence
from bot.services.linear.comment_markers import Markers
from bot.services.linear.comments import Comments
from bot.services.linear.errors import Forbidden, NotFound, Refused
from bot.services.linear.parse import expected_shapes, parse_comment
from bot.services.linear.team_sync import TeamSync


class CommentWriter(CommentOutbox):
    def __init__(
        self, team: TeamSync, comments: Comments, markers: Markers, attachments: Attachments, fence: LeaseFence
    ) -> None:
        super().__init__(team.cache, team.client.now)
        self._team, self._client, self._cache = team, team.client, team.cache
        self._comments, self._markers, self._attachments, self._fence = comments, markers, attachments, fence

    async def ensure(self, row: Row, *, slug: str, text: str, note: str, thread: str) -> None:
        """One comment per slug, edited in place. The note goes first: it must not be older than the text."""
        body = self._markers.sign(text, issue=row["id"], slug=slug)
        try:
            with expected_shapes():
                if note:
                    await self._attachments.ensure_note(row["id"], slug, note)
                await self.deliver(OwnComment(row["id"], slug), body, thread)
        except NotFound:
            self._cache.update_issue(row["id"], doubted=1)  # the next poll shows whether the issue still exists
            raise

    async def post_for_operator(self, row: Row, person: str, text: str) -> None:
        """Posts in the name of the person at the command line."""
        entry = {"issueId": row["id"], "body": self._markers.sign_for_operator(person, text, issue=row["id"])}
        with expected_shapes():
            made = await self._client.change(graphql_queries.CREATE_COMMENT, fence=lambda: None, input=entry)
            self._cache.keep_comment(parse_comment(made["comment"]))

    async def find(self, comment: OwnComment, *, fresh: bool) -> Sequence[Row]:
        known = self._cache.comments_on
        rows = await self._team.read_comments(comment.issue) if fresh else known(comment.issue)
        return self._comments.find_ours(rows, comment.slug)

    async def post(self, comment: OwnComment, body: str, thread: str) -> str:
        """Returns an empty id if it was there already, posted by an installation whose records are lost.

        A refusal may also mean that the comment was there and has been deleted, or that the thread is gone.
        """
        for parent in (thread, thread, "") if thread else ("", ""):
            entry = {"issueId": comment.issue, "body": body, "id": self._id_for(comment)}
            if parent:
                entry["parentId"] = parent
            try:
                made = await self._client.change(graphql_queries.CREATE_COMMENT, fence=self._fence, input=entry)
            except Forbidden:
                raise
            except Refused as refusal:
                problem = refusal
                if self.adopt(comment, await self.find(comment, fresh=True)):
                    return ""
                self._count_deleted(comment)
            else:
                return self._keep(made["comment"])
        raise problem

    async def edit(self, comment: OwnComment, body: str) -> bool:
        """Returns False as well if it belongs to an account that was ours before."""
        try:
            made = await self._client.change(
                graphql_queries.UPDATE_COMMENT, fence=self._fence, id=comment.id, input={"body": body}
            )
        except (NotFound, Forbidden) as refusal:
            if isinstance(refusal, Forbidden) and not self._is_other_accounts(comment):
                raise
            self._cache.forget_comment(comment.id)
            if isinstance(refusal, NotFound) and await self._is_there(comment):
                raise
            self._count_deleted(comment)
            return False
        self._keep(made["comment"])
        return True

    async def delete(self, comment: OwnComment) -> None:
        with suppress(NotFound):
            await self._client.change(graphql_queries.DELETE_COMMENT, fence=self._fence, id=comment.id)
        self._cache.forget_comment(comment.id)

    async def _is_there(self, comment: OwnComment) -> bool:
        """Returns True if Linear lists the comment: then it must not be posted a second time."""
        return any(row["id"] == comment.id for row in await self._team.read_comments(comment.issue))

    def _is_other_accounts(self, comment: OwnComment) -> bool:
        us = self._team.info.status.us
        rows = self._cache.comments_on(comment.issue)
        return any(row["id"] == comment.id and row["author"]["id"] != us for row in rows)

    def _id_for(self, comment: OwnComment) -> str:
        deleted = self._cache.cursor(comment.issue, f"gone/{comment.slug}")
        return self._markers.id_for(comment.issue, f"{comment.slug} {deleted}".strip())

    def _count_deleted(self, comment: OwnComment) -> None:
        """Linear never accepts the id of a deleted comment again: the count makes a new one."""
        name = f"gone/{comment.slug}"
        self._cache.advance(comment.issue, name, str(int(self._cache.cursor(comment.issue, name) or 0) + 1))

    def _keep(self, payload: Row) -> str:
        row = parse_comment(payload)
        self._cache.keep_comment(row)
        return str(row["id"])

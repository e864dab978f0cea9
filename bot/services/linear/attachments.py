"""Attachments of an issue: the notes of its runs, and links to pull requests."""

from bot.services.http.comment_outbox import OwnComment, digest
from bot.services.linear import graphql_queries
from bot.services.linear.cache import Row
from bot.services.linear.client import LeaseFence
from bot.services.linear.comment_markers import Markers
from bot.services.linear.parse import expected_shapes
from bot.services.linear.team_sync import TeamSync


class Attachments:
    def __init__(self, team: TeamSync, markers: Markers, fence: LeaseFence) -> None:
        self._team, self._client, self._cache = team, team.client, team.cache
        self._markers, self._fence = markers, fence

    async def ensure_note(self, issue: str, slug: str, note: str) -> None:
        """One attachment per run: Linear replaces an attachment when another with its URL is made."""
        known, new_digest = self._cache.find_own_comment(issue, f"note/{slug}"), digest(note)
        if known and known.digest == new_digest:
            return
        entry = {
            "issueId": issue,
            "title": "Treehand",
            "subtitle": f"record of run {slug.partition('/')[0]}",
            "url": self._markers.note_url(issue, slug),
            "metadata": self._markers.pack_note(note, issue=issue, slug=slug),
        }
        await self._client.change(graphql_queries.CREATE_ATTACHMENT, fence=self._fence, input=entry)
        self._cache.keep_own_comment(OwnComment(issue, f"note/{slug}", digest=new_digest))

    async def read_notes(self, row: Row) -> list[str]:
        """Notes on an issue, oldest first, also those that an earlier installation wrote."""
        with expected_shapes():
            answer = await self._client.query(graphql_queries.NOTES, id=row["id"])
            attachments = sorted(answer["issue"]["attachments"]["nodes"], key=lambda node: node["createdAt"])
            ours = [node for node in attachments if (node["creator"] or {}).get("id") == self._team.info.status.us]
            notes = dict(self._markers.unpack_note(node["metadata"] or {}, row["id"]) for node in ours)
        for known in (self._cache.find_own_comment(row["id"], f"note/{slug}") for slug in notes):
            if known:
                self._cache.forget_own_comment(known)  # another installation may have rewritten it since
        return [note for note in notes.values() if note]

    async def ensure_link(self, row: Row, *, url: str, title: str) -> None:
        entry = {"issueId": row["id"], "url": url, "title": title or url, "subtitle": "Pull request"}
        await self._client.change(graphql_queries.CREATE_ATTACHMENT, fence=self._fence, input=entry)
        self._cache.update_issue(row["id"], links=[*row["links"], url])

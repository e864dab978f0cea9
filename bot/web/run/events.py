"""Server-sent events of one run page: new transcript lines, and notices that another part of the page has changed.

Rule: an event's id is a position in the transcript. A page that reconnects, even to a restarted daemon, misses no line
and gets none twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.run import Phase, Run
from bot.domain.transcript import TranscriptPage
from bot.errors import BotError
from bot.web import live_update_rate as rate
from bot.web.dashboard import Dashboard
from bot.web.event_hub import run_topic
from bot.web.run.conversation import blocks_of
from bot.web.run.page import fingerprint_of
from bot.web.run.request_params import is_number, number_in, run_of
from bot.web.run.server_panel import server_html
from bot.web.server_sent_events import KEEP_ALIVE, RETRY, event_stream, event_text
from bot.web.templating import render


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def events(request: Request) -> Response:
        run = await run_of(dashboard, request)
        last_id = request.headers.get("last-event-id", "")
        position = int(last_id) if is_number(last_id) else number_in(request, "since")
        state, changes = request.query_params.get("state", ""), request.query_params.get("print", "")
        stream = _RunStream(dashboard, run, position, state, changes)
        stream.server, stream.host = request.query_params.get("show", ""), request.url.hostname or ""
        return event_stream(stream.lines())

    return [Route("/runs/{key:path}/events", events)]


@dataclass(slots=True)
class _RunStream:
    """Stream of one open page; compares the fingerprints that the page has with the current ones."""

    dashboard: Dashboard
    run: Run
    position: int
    state: str
    """Fingerprint of the run and its summary."""
    changes: str
    """Fingerprint of the changed files."""
    changes_read_at: float = 0.0
    server: str = ""
    """Fingerprint of the running server."""
    host: str = ""
    """Host name in the page's address."""

    async def lines(self) -> AsyncIterator[str]:
        yield RETRY
        hub, clock = self.dashboard.hub, asyncio.get_running_loop().time
        sent_at = clock()
        with hub.subscribe(run_topic(self.run.id)) as viewer:
            while not hub.is_closed:
                text = "".join(
                    [*await self._talk(), *await self._changed(), *await self._files(), *self._server_output()]
                )
                if text or clock() - sent_at > rate.KEEP_ALIVE:
                    sent_at = clock()
                    yield text or KEEP_ALIVE
                await hub.next_events(viewer, within=rate.TRANSCRIPT)
                await asyncio.sleep(rate.TRANSCRIPT / 5)

    async def _talk(self) -> list[str]:
        transcript = await asyncio.to_thread(self.dashboard.details.transcript_after, self.run, self.position)
        self.position = transcript.end
        return await asyncio.to_thread(_talk_events, transcript, self.position)

    async def _changed(self) -> list[str]:
        """Makes the page load its head and panels again."""
        try:
            board = await self.dashboard.board_feed.current()
        except BotError:
            return []
        self.run = next((run for run in board.snapshot.runs if run.key == self.run.key), self.run)
        server_state = self.dashboard.servers.state_of(self.run)
        before, self.state = self.state, fingerprint_of(board, self.run.key, server_state)
        return [] if before == self.state else [_event("changed", {"state": self.state}, self.position)]

    async def _files(self) -> list[str]:
        now = asyncio.get_running_loop().time()
        pause = rate.DIFF if self.run.phase is Phase.WORKING else rate.DIFF_NO_AGENT
        if now - self.changes_read_at < pause or self.run.phase is Phase.DONE:
            return []
        self.changes_read_at = now
        try:
            changes = (await self.dashboard.details.changes(self.run)).fingerprint
        except BotError:
            return []
        before, self.changes = self.changes, changes
        return [_event("files", {"print": changes}, self.position)] if before != changes else []

    def _server_output(self) -> list[str]:
        before, self.server = self.server, self.dashboard.servers.fingerprint_of(self.run)
        if before == self.server:
            return []
        html = server_html(self.dashboard, self.run, self.host)
        return [_event("show", {"html": html}, self.position)]


def _talk_events(transcript: TranscriptPage, position: int) -> list[str]:
    """One event for all lines, so a broken connection has delivered all of them or none."""
    blocks = blocks_of(transcript)
    if not blocks:
        return []
    late_results = [block for block in blocks if block.kind == "result"]
    html = render("run/conversation_blocks.html", blocks=[block for block in blocks if block.kind != "result"])
    results = [{"of": block.id, "html": render("run/tool_result.html", text=block.text)} for block in late_results]
    return [_event("talk", {"html": html, "results": results}, position)]


def _event(kind: str, data: Mapping[str, object], position: int) -> str:
    return event_text(str(position), kind, json.dumps(data))

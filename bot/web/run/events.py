"""What happens to one run, as it happens: words and deeds in order, and that something else is not as it was.

Rule: a place is a place in the transcript. So whoever comes back, be it to another life of ours, misses nothing and
gets nothing twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bot.domain.run import Phase, Run
from bot.domain.transcript import Stretch
from bot.errors import BotError
from bot.web.dashboard import Dashboard
from bot.web.event_hub import topic_of
from bot.web.run.conversation import blocks_of
from bot.web.run.page import state_of
from bot.web.run.params import is_number, number_in, run_of
from bot.web.run.servers import show_html
from bot.web.templating import rendered

_POLL_SECONDS = 0.25
_LOOK_SECONDS = 3.0
_IDLE_LOOK_SECONDS = 15.0
"""While no agent is at work, people may be."""
_QUIET_SECONDS = 15.0
_AGAIN = "retry: 1000\n\n"


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def events(request: Request) -> Response:
        run = await run_of(dashboard, request)
        last = request.headers.get("last-event-id", "")
        place = int(last) if is_number(last) else number_in(request, "since")
        state, seen = request.query_params.get("state", ""), request.query_params.get("print", "")
        following = _Following(dashboard, run, place, state, seen)
        following.shown, following.host = request.query_params.get("show", ""), request.url.hostname or ""
        lines = following.lines()
        return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return [Route("/runs/{key:path}/events", events)]


@dataclass(slots=True)
class _Following:
    """One page that is open."""

    dashboard: Dashboard
    run: Run
    place: int
    state: str
    """The print of the run and its surroundings, as the page has them."""
    seen: str
    """The print of what was changed, as the page has it."""
    looked_at: float = 0.0
    shown: str = ""
    """The print of what is up, as the page has it."""
    host: str = ""
    """By which name the page was reached."""

    async def lines(self) -> AsyncIterator[str]:
        yield _AGAIN
        hub, clock = self.dashboard.hub, asyncio.get_running_loop().time
        spoke_at = clock()
        with hub.watching(topic_of(self.run.id)) as viewer:
            while not hub.is_closed:
                text = "".join([*await self._talk(), *await self._news(), *await self._changes(), *self._show()])
                if text or clock() - spoke_at > _QUIET_SECONDS:
                    spoke_at = clock()
                    yield text or ": still here\n\n"
                await hub.news_for(viewer, within=_POLL_SECONDS)
                await asyncio.sleep(_POLL_SECONDS / 5)

    async def _talk(self) -> list[str]:
        stretch = await asyncio.to_thread(self.dashboard.closeup.talk_after, self.run, self.place)
        self.place = stretch.end
        return list(_told(stretch, self.place))

    async def _news(self) -> list[str]:
        """That the head of the page is not as it was: the page asks for it."""
        try:
            look = await self.dashboard.lookout.look()
        except BotError:
            return []
        self.run = next((one for one in look.picture.runs if one.key == self.run.key), self.run)
        showing = self.dashboard.shows.standing_of(self.run)
        before, self.state = self.state, state_of(look, self.run.key, showing)
        return [] if before == self.state else [_event("changed", {"state": self.state}, self.place)]

    def _show(self) -> list[str]:
        before, self.shown = self.shown, self.dashboard.shows.print_of(self.run)
        if before == self.shown:
            return []
        html = show_html(self.dashboard, self.run, self.host)
        return [_event("show", {"html": html}, self.place)]

    async def _changes(self) -> list[str]:
        now = asyncio.get_running_loop().time()
        pause = _LOOK_SECONDS if self.run.phase is Phase.WORKING else _IDLE_LOOK_SECONDS
        if now - self.looked_at < pause or self.run.phase is Phase.DONE:
            return []
        self.looked_at = now
        try:
            seen = (await self.dashboard.closeup.see(self.run)).print
        except BotError:
            return []
        before, self.seen = self.seen, seen
        return [_event("files", {"print": seen}, self.place)] if before != seen else []


def _told(stretch: Stretch, place: int) -> Iterator[str]:
    """All at once: a connection that breaks has brought everything up to a place, and nothing after it."""
    blocks = blocks_of(stretch)
    late = [block for block in blocks if block.kind == "result"]
    html = rendered("blocks.html", blocks=[block for block in blocks if block.kind != "result"])
    results = [{"of": block.id, "html": rendered("result.html", text=block.text)} for block in late]
    if blocks:
        yield _event("talk", {"html": html, "results": results}, place)


def _event(kind: str, data: Mapping[str, object], place: int) -> str:
    return f"id: {place}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"

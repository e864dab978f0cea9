"""Server-sent events: what changes, as it changes.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.event_hub import BOARD, STATE, Hub, News

_QUIET_SECONDS = 15.0
"""After so long a silence we say that we are there: proxies cut what seems dead."""
_AGAIN = "retry: 1000\n\n"


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def state(request: Request) -> Response:
        return stream(request, dashboard.hub, STATE)

    async def board(request: Request) -> Response:
        return stream(request, dashboard.hub, BOARD)

    return [Route("/api/v1/events", state), Route("/events", board)]


def stream(request: Request, hub: Hub, topic: str) -> Response:
    """From the place the page was made at (`since`), or where the connection broke."""
    since = request.headers.get("last-event-id") or request.query_params.get("since", "")

    async def lines() -> AsyncIterator[str]:
        yield _AGAIN
        with hub.watching(topic, since) as viewer:
            while not hub.is_closed:
                found = await hub.news_for(viewer, within=_QUIET_SECONDS)
                yield "".join(map(_written, found)) or ": still here\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _written(news: News) -> str:
    """The data is JSON, so it is one line."""
    return f"id: {news.id}\nevent: {news.kind}\ndata: {news.data}\n\n"

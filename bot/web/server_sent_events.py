"""Server-sent events of the board and the API: one stream per open page, from the page's position on.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bot.web import live_update_rate as rate
from bot.web.dashboard import Dashboard
from bot.web.event_hub import BOARD, STATE, EventHub, HubEvent

RETRY = f"retry: {rate.RECONNECT_MILLISECONDS}\n\n"
KEEP_ALIVE = ": still here\n\n"


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def state(request: Request) -> Response:
        return _hub_stream(request, dashboard.hub, STATE)

    async def board(request: Request) -> Response:
        return _hub_stream(request, dashboard.hub, BOARD)

    return [Route("/api/v1/events", state), Route("/events", board)]


def event_stream(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def event_text(event_id: str, kind: str, data: str) -> str:
    """`data` must be one line, as JSON is."""
    return f"id: {event_id}\nevent: {kind}\ndata: {data}\n\n"


def _hub_stream(request: Request, hub: EventHub, topic: str) -> Response:
    """Starts after the last event that the client has: `Last-Event-ID`, or else `since`."""
    since = request.headers.get("last-event-id") or request.query_params.get("since", "")

    async def lines() -> AsyncIterator[str]:
        yield RETRY
        with hub.subscribe(topic, since) as viewer:
            while not hub.is_closed:
                events = await hub.next_events(viewer, within=rate.KEEP_ALIVE)
                yield "".join(map(_text, events)) or KEEP_ALIVE

    return event_stream(lines())


def _text(event: HubEvent) -> str:
    return event_text(event.id, event.kind, event.data)

"""Metrics endpoint: answers `GET /metrics` in the text format of Prometheus."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.status.prometheus_format import CONTENT_TYPE, CollectMetrics, exposition


def route_of(collect: CollectMetrics) -> Route:
    async def metrics(_request: Request) -> Response:
        return Response(exposition(await collect()), media_type=CONTENT_TYPE)

    return Route("/metrics", metrics)

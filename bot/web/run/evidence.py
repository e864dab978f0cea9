"""Evidence files of a run, served so that no file can run code in the browser."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.run.request_params import run_of

_NOT_FOUND = 404
_SHOWN_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain; charset=utf-8"}
_SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def evidence(request: Request) -> Response:
        run = await run_of(dashboard, request)
        file = await asyncio.to_thread(dashboard.details.find_evidence, run, request.path_params["name"])
        if file is None:
            raise HTTPException(_NOT_FOUND, "No such file.")
        return harmless_response(*file)

    return [Route("/runs/{key:path}/evidence/{name:path}", evidence)]


def harmless_response(content: bytes, media_type: str) -> Response:
    """Shows images and plain text; offers every other type as a download."""
    if media_type in _SHOWN_TYPES:
        return Response(content, media_type=media_type, headers=_SANDBOX)
    headers = {**_SANDBOX, "Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)

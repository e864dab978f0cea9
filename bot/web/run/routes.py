"""The page of one run: what is said, what is changed, whether it holds, what it costs, and how to step in."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.run.conversation import blocks_of, number_of
from bot.web.run.page import shown
from bot.web.run.params import number_in, run_of
from bot.web.templating import page, rendered

_NOT_FOUND = 404
_IN_PLACE = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain; charset=utf-8"}
_CAGE = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def run_page(request: Request) -> Response:
        return await shown(dashboard, request, await run_of(dashboard, request))

    async def fresh(request: Request) -> Response:
        """Without what the page brings up to date by other ways."""
        return await shown(dashboard, request, await run_of(dashboard, request), lean=True)

    async def conversation(request: Request) -> Response:
        run = await run_of(dashboard, request)
        stretch = await asyncio.to_thread(dashboard.closeup.talk_before, run, number_in(request, "before"))
        return HTMLResponse(rendered("talk.html", run=run, stretch=stretch, blocks=blocks_of(stretch)))

    async def given(request: Request) -> Response:
        run = await run_of(dashboard, request)
        stretch = await asyncio.to_thread(dashboard.closeup.given, run)
        return page(request, "given.html", run=run, lines=stretch.lines, number_of=number_of)

    async def evidence(request: Request) -> Response:
        run = await run_of(dashboard, request)
        found = await asyncio.to_thread(dashboard.closeup.find_evidence, run, request.path_params["name"])
        if found is None:
            raise HTTPException(_NOT_FOUND, "There is no such file.")
        return _caged(*found)

    return [
        Route("/runs/{key:path}/conversation", conversation),
        Route("/runs/{key:path}/fresh", fresh),
        Route("/runs/{key:path}/given", given),
        Route("/runs/{key:path}/evidence/{name:path}", evidence),
        Route("/runs/{key:path}", run_page),
    ]


def _caged(content: bytes, kind: str) -> Response:
    """Whatever it holds, it does nothing: shown where that is harmless, else offered to be saved."""
    if kind in _IN_PLACE:
        return Response(content, media_type=kind, headers=_CAGE)
    headers = {**_CAGE, "Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)

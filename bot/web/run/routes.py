"""Routes of a run's pages. The order counts: a path that ends in a word of ours comes before the run page itself."""

import asyncio
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.web.dashboard import Dashboard
from bot.web.run import action_routes, changed_files, events, evidence
from bot.web.run.conversation import blocks_of, turn_number
from bot.web.run.page import run_page
from bot.web.run.request_params import number_in, run_of
from bot.web.templating import page, render


def routes_of(dashboard: Dashboard) -> Iterator[Route]:
    async def show_run(request: Request) -> Response:
        return await run_page(dashboard, request, await run_of(dashboard, request))

    async def fresh(request: Request) -> Response:
        """The parts of the page that no event stream updates."""
        return await run_page(dashboard, request, await run_of(dashboard, request), partial_page=True)

    async def conversation(request: Request) -> Response:
        run = await run_of(dashboard, request)
        before = number_in(request, "before")
        transcript = await asyncio.to_thread(dashboard.details.transcript_before, run, before)
        blocks = await asyncio.to_thread(blocks_of, transcript)
        html = await asyncio.to_thread(render, "run/conversation.html", run=run, transcript=transcript, blocks=blocks)
        return HTMLResponse(html)

    async def prompts(request: Request) -> Response:
        run = await run_of(dashboard, request)
        transcript = await asyncio.to_thread(dashboard.details.prompts, run)
        return page(request, "run/prompts.html", run=run, lines=transcript.lines, turn_number=turn_number)

    for module in (changed_files, events, action_routes, evidence):
        yield from module.routes_of(dashboard)
    yield Route("/runs/{key:path}/conversation", conversation)
    yield Route("/runs/{key:path}/fresh", fresh)
    yield Route("/runs/{key:path}/given", prompts)
    yield Route("/runs/{key:path}", show_run)

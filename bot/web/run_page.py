"""The page of one run: what is said, what is changed, whether it holds, what it costs, and how to step in."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.domain.run import Phase, Run
from bot.state import LANES, Glimpse
from bot.web.conversation import blocks_of, number_of
from bot.web.dashboard import Dashboard
from bot.web.lookout import Look
from bot.web.money import chart_of
from bot.web.rendering import page, rendered
from bot.web.run_files import list_of, remember_view, view_of
from bot.web.runs_asked import number_in, run_of
from bot.web.steering import may_review, orders_for
from bot.web.window import Site

_NOT_FOUND = 404
_ENTRIES = 200
_IN_PLACE = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain; charset=utf-8"}
_CAGE = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_DONE = {
    "said": "Said. Treehand takes it up in a moment.",
    "ordered": "Asked for. Treehand answers in a moment, below.",
    "ready": "It is no draft any more.",
    "merged": "Merged.",
    "closed": "Closed.",
    "reviewed": "Your review is in.",
}
"""What is said after something was done, by its name in the address."""


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def run_page(request: Request) -> Response:
        return await shown(dashboard, request, await run_of(dashboard, request))

    async def conversation(request: Request) -> Response:
        run = await run_of(dashboard, request)
        stretch = await asyncio.to_thread(dashboard.closeup.talk_before, run, number_in(request, "before"))
        return HTMLResponse(rendered("talk.html", run=run, stretch=stretch, blocks=blocks_of(stretch)))

    async def given(request: Request) -> Response:
        run = await run_of(dashboard, request)
        stretch = await asyncio.to_thread(dashboard.closeup.given, run)
        return page(request, "given.html", run=run, lines=stretch.lines, number_of=number_of)

    async def evidence(request: Request) -> Response:
        run, name = await run_of(dashboard, request), request.path_params["name"]
        known = {one.name: one for one in await asyncio.to_thread(dashboard.closeup.evidence, run)}
        content = await asyncio.to_thread(dashboard.closeup.find_evidence, run, name) if name in known else None
        if content is None:
            raise HTTPException(_NOT_FOUND, "There is no such file.")
        return _caged(content, known[name].kind)

    return [
        Route("/runs/{key:path}/conversation", conversation),
        Route("/runs/{key:path}/given", given),
        Route("/runs/{key:path}/evidence/{name:str}", evidence),
        Route("/runs/{key:path}", run_page),
    ]


def _caged(content: bytes, kind: str) -> Response:
    """Whatever it holds, it does nothing: shown where that is harmless, else offered to be saved."""
    if kind in _IN_PLACE:
        return Response(content, media_type=kind, headers=_CAGE)
    headers = {**_CAGE, "Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def shown(
    dashboard: Dashboard,
    request: Request,
    run: Run,
    *,
    problem: str = "",
    typed: Mapping[str, Any] | None = None,
    status_code: int = 200,
) -> Response:
    """`problem`: what was wrong with what a person wanted; `typed`: what they wrote, so that they need not again."""
    view, closeup = view_of(request), dashboard.closeup
    glimpse, stretch, journal, spending, said, evidence = await asyncio.gather(
        glimpse_of(dashboard, run),
        asyncio.to_thread(closeup.talk_before, run, number_in(request, "before") or None),
        asyncio.to_thread(dashboard.window.journal, run),
        asyncio.to_thread(closeup.spending, run),
        asyncio.to_thread(closeup.said, run),
        asyncio.to_thread(closeup.evidence, run),
    )
    changes = await list_of(dashboard, run, view, begin=number_in(request, "files"))
    site = next((one for one in dashboard.window.sites() if one.name == run.project), None)
    state = state_of(await dashboard.lookout.look(), run.key)
    response = page(
        request, "run.html", status_code=status_code,
        run=run, glimpse=glimpse, lane=LANES[run.phase], label=dashboard.window.label, state=state,
        stretch=stretch, blocks=blocks_of(stretch), changes=changes, said=said, evidence=evidence,
        journal=journal[-_ENTRIES:], chart=chart_of(spending), spending=spending,
        orders=orders_for(run), site=site, reviews=_reviews(site, glimpse), is_over=run.phase is Phase.DONE,
        problem=problem, typed=typed or {}, done=_DONE.get(request.query_params.get("done", ""), ""),
    )  # fmt: skip
    remember_view(request, response)
    return response


def state_of(look: Look, key: str) -> str:
    """Another one whenever something about the run is not as it was."""
    run = next((one for one in look.picture.runs if one.key == key), None)
    told = repr((run, look.picture.glimpses.get(run.id) if run else None))
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]


def _reviews(site: Site | None, glimpse: Glimpse) -> bool:
    """Its pull request is kept here, and open."""
    return site is not None and site.has_own_forge and site.tracker == "local" and may_review(glimpse.pull_request)


async def glimpse_of(dashboard: Dashboard, run: Run) -> Glimpse:
    """What everybody sees of it now; of what is over for long, as it is looked up."""
    look = await dashboard.lookout.look()
    if found := look.picture.glimpses.get(run.id):
        return found
    return await asyncio.to_thread(dashboard.closeup.glimpse, run)

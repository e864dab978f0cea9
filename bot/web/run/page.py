"""The page of one run, put together: every part of it is looked up on its own, and side by side."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import Phase, Run
from bot.domain.transcript import Stretch
from bot.status.as_json import LANES, Glimpse
from bot.status.interface import Site
from bot.web.board_feed import Look
from bot.web.dashboard import Dashboard
from bot.web.run.buttons import may_review, orders_for
from bot.web.run.conversation import blocks_of
from bot.web.run.cost_chart import chart_of
from bot.web.run.files import list_of, remember_view, view_of
from bot.web.run.params import number_in
from bot.web.run.servers import servers_of
from bot.web.templating import page

_ENTRIES = 200
_DONE = {
    "said": "Said. Treehand takes it up in a moment.",
    "ordered": "Asked for. Treehand answers in a moment, below.",
    "ready": "It is no draft any more.",
    "merged": "Merged.",
    "closed": "Closed.",
    "reviewed": "Your review is in.",
    "started": "Started. Its address is below, under “Look at it”.",
    "stopped": "Stopped.",
}
"""What is said after something was done, by its name in the address."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What was wrong with what a person wanted, and what they wrote, so that they need not again."""

    problem: str
    typed: Mapping[str, Sequence[str] | str]


async def shown(
    dashboard: Dashboard, request: Request, run: Run, *, trouble: Trouble | None = None, lean: bool = False
) -> Response:
    """`lean`: without what an open page brings up to date by other ways."""
    closeup = dashboard.closeup
    before, begin = number_in(request, "before") or None, number_in(request, "files")
    look = await dashboard.lookout.look()  # one for all: what the page says of its own state must be what it shows
    run = next((one for one in look.picture.runs if one.key == run.key), run)
    glimpse, journal, spending, said, evidence = await asyncio.gather(
        glimpse_of(dashboard, run, look),
        asyncio.to_thread(dashboard.window.journal, run),
        asyncio.to_thread(closeup.spending, run),
        asyncio.to_thread(closeup.said, run),
        asyncio.to_thread(closeup.evidence, run),
    )
    stretch, changes, servers = await asyncio.gather(
        _nothing() if lean else asyncio.to_thread(closeup.talk_before, run, before),
        list_of(dashboard, run, view_of(request), begin=begin, lean=lean),
        servers_of(dashboard, run, request.url.hostname or ""),
    )
    site = next((one for one in dashboard.window.sites() if one.name == run.project), None)
    put_together = partial(
        page, request, "run.html", status_code=422 if trouble else 200,
        run=run, glimpse=glimpse, lane=LANES[run.phase], label=dashboard.window.label,
        state=state_of(look, run.key, dashboard.shows.standing_of(run)), servers=servers,
        stretch=stretch, blocks=blocks_of(stretch), changes=changes, said=said, evidence=evidence,
        journal=journal[-_ENTRIES:], chart=chart_of(spending), spending=spending,
        orders=orders_for(run), site=site, reviews=_reviews(site, glimpse), is_over=run.phase is Phase.DONE,
        problem=trouble.problem if trouble else "", typed=trouble.typed if trouble else {},
        done=_DONE.get(request.query_params.get("done", ""), ""),
    )  # fmt: skip
    response = await asyncio.to_thread(put_together)  # much to write: others go on meanwhile
    remember_view(request, response)
    return response


async def _nothing() -> Stretch:
    return Stretch()


def state_of(look: Look, key: str, showing: str) -> str:
    """Another one whenever something about the run is not as it was, or about what is shown of it."""
    run = next((one for one in look.picture.runs if one.key == key), None)
    told = repr((run, look.picture.glimpses.get(run.id) if run else None, showing))
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]


def _reviews(site: Site | None, glimpse: Glimpse) -> bool:
    """Its pull request is kept here, and open."""
    return site is not None and site.has_own_forge and site.tracker == "local" and may_review(glimpse.pull_request)


async def glimpse_of(dashboard: Dashboard, run: Run, look: Look) -> Glimpse:
    """What everybody sees of it now; of what is over for long, as it is looked up."""
    if found := look.picture.glimpses.get(run.id):
        return found
    return await asyncio.to_thread(dashboard.closeup.glimpse, run)

"""Run page: reads all parts of one run at the same time and renders them."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import Phase, Run
from bot.domain.transcript import TranscriptPage
from bot.status.as_json import LANES, RunSummary
from bot.status.interface import ProjectSite
from bot.web.board_feed import BoardState
from bot.web.dashboard import Dashboard
from bot.web.run.action_buttons import buttons_for, can_review
from bot.web.run.actions import ACTIONS
from bot.web.run.changed_files import file_list_of, remember_view, view_of
from bot.web.run.conversation import blocks_of
from bot.web.run.cost_chart import cost_chart_of
from bot.web.run.request_params import number_in
from bot.web.run.server_panel import server_panel_of
from bot.web.templating import page

_MOST_JOURNAL_ENTRIES = 200
_NOTICES = {
    **{action.name: action.notice for action in ACTIONS.values()},
    "server-started": "Server started. Its address is under “Server”.",
    "server-stopped": "Server stopped.",
}
"""Text after an action, by the value of `done` in the address."""


@dataclass(frozen=True, slots=True)
class RejectedForm:
    """A form that was refused, so the page can show the reason and the typed text."""

    problem: str = ""
    action: str = ""
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)


_NOT_REJECTED = RejectedForm()


async def run_page(
    dashboard: Dashboard,
    request: Request,
    run: Run,
    *,
    rejected: RejectedForm = _NOT_REJECTED,
    partial_page: bool = False,
) -> Response:
    """A partial page lacks the conversation and the files: an open page gets them by events."""
    board = await dashboard.board_feed.current()  # once, so the page's fingerprint is that of the state it shows
    run = next((known for known in board.snapshot.runs if known.key == run.key), run)
    values = await _values(dashboard, request, run, board, partial_page=partial_page)
    render_page = partial(
        page, request, "run/page.html", status_code=422 if rejected.problem else 200, run=run, rejected=rejected,
        notice=_NOTICES.get(request.query_params.get("done", ""), ""), **values,
    )  # fmt: skip
    response = await asyncio.to_thread(render_page)  # a large page would block the event loop
    remember_view(request, response)
    return response


async def _values(
    dashboard: Dashboard, request: Request, run: Run, board: BoardState, *, partial_page: bool
) -> Mapping[str, object]:
    details = dashboard.details
    before, begin = number_in(request, "before") or None, number_in(request, "files")
    summary, journal, spending, comments, evidence = await asyncio.gather(
        _summary_of(dashboard, run, board),
        asyncio.to_thread(dashboard.data.journal, run),
        asyncio.to_thread(details.spending, run),
        asyncio.to_thread(details.comments, run),
        asyncio.to_thread(details.evidence, run),
    )
    transcript, file_list, servers = await asyncio.gather(
        _no_transcript() if partial_page else asyncio.to_thread(details.transcript_before, run, before),
        file_list_of(dashboard, run, view_of(request), begin=begin, without_files=partial_page),
        server_panel_of(dashboard, run, request.url.hostname or ""),
    )
    blocks = await asyncio.to_thread(blocks_of, transcript)  # an agent's words can be slow to render
    site = next((project for project in dashboard.data.projects() if project.name == run.project), None)
    return {
        "summary": summary, "lane": LANES[run.phase], "label": dashboard.data.label,
        "state": fingerprint_of(board, run.key, dashboard.servers.state_of(run)),
        "transcript": transcript, "blocks": blocks, "file_list": file_list, "servers": servers,
        "comments": comments, "evidence": evidence, "journal": journal[-_MOST_JOURNAL_ENTRIES:],
        "chart": cost_chart_of(spending), "spending": spending, "buttons": buttons_for(run),
        "can_review": _can_review(site, summary), "is_over": run.phase is Phase.DONE,
    }  # fmt: skip


async def _no_transcript() -> TranscriptPage:
    return TranscriptPage()


def fingerprint_of(board: BoardState, key: str, server_state: str) -> str:
    """Changes whenever the run, its summary or its server changes."""
    run = next((run for run in board.snapshot.runs if run.key == key), None)
    text = repr((run, board.snapshot.summaries.get(run.id) if run else None, server_state))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _can_review(site: ProjectSite | None, summary: RunSummary) -> bool:
    """Only for an open pull request on the local forge."""
    return site is not None and site.is_kept_here and can_review(summary.pull_request)


async def _summary_of(dashboard: Dashboard, run: Run, board: BoardState) -> RunSummary:
    """Snapshots lack runs that ended before today."""
    if summary := board.snapshot.summaries.get(run.id):
        return summary
    return await asyncio.to_thread(dashboard.details.summary, run)

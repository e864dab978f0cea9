"""New work: a form that files issues where a project has its own."""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.domain.wish import Wish
from bot.errors import NeedsHuman, Retryable
from bot.web.dashboard import Dashboard
from bot.web.forms import form_of
from bot.web.new_issue_form import MOST, Typed, text_of, typed_in, wishes_in
from bot.web.templating import key_in_url, page


def routes_of(dashboard: Dashboard) -> list[Route]:
    def shown(request: Request, typed: Typed, *, filed: Sequence[str] = (), problem: str = "") -> Response:
        return page(
            request,
            "new.html",
            status_code=HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK,
            sites=dashboard.window.sites(),
            label=dashboard.window.label,
            typed=typed,
            filed=filed,
            problem=problem,
        )

    async def show(request: Request) -> Response:
        return shown(request, Typed(), filed=request.query_params.getlist("filed")[:MOST])

    async def file(request: Request) -> Response:
        typed = typed_in(await form_of(request))
        wishes = wishes_in(typed, dashboard.window.label)
        if problem := _problem(wishes):
            return shown(request, typed, problem=problem)
        filed = list[str]()
        for wish in wishes:
            try:
                filed.append(await dashboard.voice.ask(wish, by=request.state.person))
            except (NeedsHuman, Retryable) as trouble:
                left = text_of(wishes[len(filed) :], typed)
                return shown(request, replace(typed, work=left), filed=filed, problem=str(trouble))
        names = "&".join(f"filed={key_in_url(key)}" for key in filed)
        return RedirectResponse(f"/new?{names}", status_code=HTTPStatus.SEE_OTHER)

    return [Route("/new", show, methods=["GET"]), Route("/new", file, methods=["POST"])]


def _problem(wishes: Sequence[Wish]) -> str:
    if not wishes:
        return "Say what is wanted: the first line becomes the title of an issue."
    return f"These are {len(wishes)} issues; {MOST} at once is the most." if len(wishes) > MOST else ""

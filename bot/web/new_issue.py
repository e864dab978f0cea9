"""New issue page: files the issues that a person types into the form."""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.domain.issue import NewIssue
from bot.errors import NeedsHuman, Retryable
from bot.web.dashboard import Dashboard
from bot.web.new_issue_form import MOST_ISSUES, NewIssueForm, issues_in, parse_form, text_of
from bot.web.request_body import read_form
from bot.web.templating import key_in_url, page


def routes_of(dashboard: Dashboard) -> list[Route]:
    def form_page(request: Request, form: NewIssueForm, *, filed: Sequence[str] = (), problem: str = "") -> Response:
        return page(
            request,
            "new_issue.html",
            status_code=HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK,
            sites=dashboard.data.projects(),
            label=dashboard.data.label,
            form=form,
            filed=filed,
            problem=problem,
        )

    async def show_form(request: Request) -> Response:
        return form_page(request, NewIssueForm(), filed=request.query_params.getlist("filed")[:MOST_ISSUES])

    async def file_issues(request: Request) -> Response:
        form = parse_form(await read_form(request))
        issues = issues_in(form, dashboard.data.label)
        if problem := _find_problem(issues):
            return form_page(request, form, problem=problem)
        filed = list[str]()
        for issue in issues:
            try:
                filed.append(await dashboard.actions.file_issue(issue, by=request.state.person))
            except (NeedsHuman, Retryable) as error:
                rest = text_of(issues[len(filed) :], form)
                return form_page(request, replace(form, work=rest), filed=filed, problem=str(error))
        keys = "&".join(f"filed={key_in_url(key)}" for key in filed)
        return RedirectResponse(f"/new?{keys}", status_code=HTTPStatus.SEE_OTHER)

    return [Route("/new", show_form, methods=["GET"]), Route("/new", file_issues, methods=["POST"])]


def _find_problem(issues: Sequence[NewIssue]) -> str:
    if not issues:
        return "Describe the work: the first line becomes the title of the issue."
    if len(issues) > MOST_ISSUES:
        return f"The text contains {len(issues)} issues. The limit is {MOST_ISSUES} at once."
    return ""

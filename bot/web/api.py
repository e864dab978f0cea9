"""JSON API: reads the state and runs, files issues, and performs the actions of `run/actions`.

Rule: the API answers when the comment or issue is on the tracker, not when the daemon has acted on it.
"""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.domain.issue import NewIssue
from bot.status.as_json import RunSummary, run_as_json
from bot.web.api_models import ApiActionResult, ApiNewIssue, ApiRunWithJournal, ApiState, NewIssueFields, read_body
from bot.web.dashboard import Dashboard
from bot.web.openapi import ApiOperation, openapi_for
from bot.web.request_body import read_content
from bot.web.run.actions import ACTIONS
from bot.web.run.request_params import run_of

ROOT = "/api/v1"
_RUN = f"{ROOT}/runs/{{key}}"
_NOT_FOUND, _CREATED, _ACCEPTED = 404, 201, 202


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def state(_request: Request) -> Response:
        board = await dashboard.board_feed.current()
        return JSONResponse(board.snapshot.as_json())

    async def show_run(request: Request) -> Response:
        run = await run_of(dashboard, request)
        board = await dashboard.board_feed.current()
        journal = await asyncio.to_thread(dashboard.data.journal, run)
        summary = board.snapshot.summaries.get(run.id, RunSummary())
        history = [{"at": entry.at, "text": entry.text} for entry in journal]
        return JSONResponse({**run_as_json(run, summary), "journal": history})

    async def perform(request: Request) -> Response:
        action = ACTIONS.get(request.path_params["action"])
        if action is None:
            raise HTTPException(_NOT_FOUND, f"No such action on a run. Known actions: {', '.join(ACTIONS)}.")
        fields = read_body(action.fields, await read_content(request))
        run = await run_of(dashboard, request)
        result = await action.perform(dashboard, run, fields, request.state.person)
        return JSONResponse({"said": result}, status_code=_ACCEPTED)

    async def file_issue(request: Request) -> Response:
        fields = read_body(NewIssueFields, await read_content(request))
        labels = fields.labels if "labels" in fields.model_fields_set else [dashboard.data.label]
        issue = NewIssue(fields.project, fields.title, fields.body, tuple(labels))
        key = await dashboard.actions.file_issue(issue, by=request.state.person)
        return JSONResponse({"key": key}, status_code=_CREATED)

    async def openapi(_request: Request) -> Response:
        return JSONResponse(openapi_for(OPERATIONS))

    return [
        Route(f"{ROOT}/state", state, methods=["GET"]),
        Route(f"{ROOT}/issues", file_issue, methods=["POST"]),
        Route(f"{ROOT}/openapi.json", openapi, methods=["GET"]),
        Route(f"{ROOT}/runs/{{key:path}}/{{action}}", perform, methods=["POST"]),
        Route(f"{ROOT}/runs/{{key:path}}", show_run, methods=["GET"]),
    ]


OPERATIONS = (
    ApiOperation("GET", f"{ROOT}/state", "state", "list the open runs and those that ended today", answer=ApiState),
    ApiOperation("GET", _RUN, "run", "get a run and its journal", answer=ApiRunWithJournal),
    ApiOperation("POST", f"{ROOT}/wake", "wake", "poll every project now", status=_ACCEPTED),
    ApiOperation("POST", f"{ROOT}/issues", "ask", "file an issue", NewIssueFields, _CREATED, ApiNewIssue),
    *(
        ApiOperation("POST", f"{_RUN}/{name}", name, action.summary, action.fields, _ACCEPTED, ApiActionResult)
        for name, action in ACTIONS.items()
    ),
)

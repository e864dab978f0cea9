"""POST routes of the run page: performs an action, or starts and stops a server; then shows the run page again.

Rule: after a refused action the page shows the reason and keeps the typed text. A server starts without a comment on
the tracker, because it changes no work.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.errors import NeedsHuman, Retryable
from bot.web.dashboard import Dashboard
from bot.web.request_body import read_form_lists
from bot.web.run.action_forms import read_form
from bot.web.run.actions import ACTIONS
from bot.web.run.page import RejectedForm, run_page
from bot.web.run.publish_page import must_ask_again, publish_page
from bot.web.run.request_params import run_of
from bot.web.templating import key_in_url

_NOT_FOUND, _SEE_OTHER = 404, 303


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def perform(request: Request) -> Response:
        run, form = await run_of(dashboard, request), await read_form_lists(request)
        action = ACTIONS.get(request.path_params["action"])
        if action is None:
            raise HTTPException(_NOT_FOUND, "No such action on a run.")
        if must_ask_again(run, action.name, form):
            return publish_page(request, run)
        try:
            await action.perform(dashboard, run, read_form(action, form), request.state.person)
        except (NeedsHuman, Retryable) as problem:
            return await run_page(dashboard, request, run, rejected=RejectedForm(str(problem), action.name, form))
        dashboard.hub.notify()
        return _back_to(run.key, f"?done={action.name}")

    async def start_server(request: Request) -> Response:
        run, form = await run_of(dashboard, request), await read_form_lists(request)
        try:
            await dashboard.servers.start(run, form.get("name", [""])[-1], by=request.state.person)
        except (NeedsHuman, Retryable) as problem:
            return await run_page(dashboard, request, run, rejected=RejectedForm(str(problem)))
        return _back_to(run.key, "?done=server-started#servers")

    async def stop_server(request: Request) -> Response:
        run = await run_of(dashboard, request)
        await dashboard.servers.stop(run)
        return _back_to(run.key, "?done=server-stopped#servers")

    return [
        Route("/runs/{key:path}/do/{action:str}", perform, methods=["POST"]),
        Route("/runs/{key:path}/show/start", start_server, methods=["POST"]),
        Route("/runs/{key:path}/show/stop", stop_server, methods=["POST"]),
    ]


def _back_to(key: str, rest: str) -> Response:
    return RedirectResponse(f"/runs/{key_in_url(key)}{rest}", status_code=_SEE_OTHER)

"""The API: one table of what there is, from which the routes and their description are made.

Rule: whatever changes something is said on the tracker, by whoever asks. The answer comes when it is said there, not
when it is done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.domain.command import MEANINGS, CommandName
from bot.domain.comment import Remark
from bot.domain.run import Run
from bot.domain.wish import Wish
from bot.status.as_json import Glimpse, run_as_json
from bot.text.visible import on_one_line
from bot.web.dashboard import Dashboard
from bot.web.fields import Field, checked, flag, listed, number, one_of, text, texts
from bot.web.forms import json_of
from bot.web.openapi import Operation, description_of

ROOT = "/api/v1"
_RUN = "/runs/{key}"
_NOT_FOUND, _CREATED, _ACCEPTED = 404, 201, 202

_WORDS = text("words", "what else belongs to it, as it would stand behind the command", most=500)
_ORDERS = {
    CommandName.BUDGET: text("words", "how much in all: `10`, `50M tokens`, `150 turns`", required=True, most=500)
}
_REMARKS = listed(
    "remarks",
    "remarks on single lines",
    (
        text("path", "the file", required=True, most=1000),
        number("line", "in the new file", least=1, required=True),
        text("text", "what to say", required=True),
    ),
)

Act = Callable[[Dashboard, Run, Mapping[str, Any], str], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Deed:
    """Something to do with a run."""

    name: str
    about: str
    fields: Sequence[Field]
    act: Act


def _order(name: CommandName) -> Deed:
    async def act(dashboard: Dashboard, run: Run, body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
        words = on_one_line(f"{name} {body.get('words', '')}")
        await dashboard.voice.order(run.key, words, by=person)
        return {"said": f"/{dashboard.window.label} {words}"}

    return Deed(name.value, MEANINGS[name], (_ORDERS.get(name, _WORDS),), act)


async def _say(dashboard: Dashboard, run: Run, body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    await dashboard.voice.say(run.key, body["text"], by=person)
    return {"said": body["text"]}


async def _merge(dashboard: Dashboard, run: Run, body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    return {"said": await dashboard.voice.merge(run.key, squash=body.get("squash", False), by=person)}


async def _ready(dashboard: Dashboard, run: Run, _body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    await dashboard.voice.ready(run.key, by=person)
    return {"said": "ready"}


async def _close(dashboard: Dashboard, run: Run, _body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    await dashboard.voice.close(run.key, by=person)
    return {"said": "closed"}


async def _review(dashboard: Dashboard, run: Run, body: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    remarks = [Remark(one["path"], int(one["line"]), one["text"]) for one in body.get("remarks", [])]
    words, verdict = body.get("text", ""), body.get("verdict", "comment")
    await dashboard.voice.review(run.key, words, verdict=verdict, remarks=remarks, by=person)
    return {"said": verdict}


DEEDS = {
    deed.name: deed
    for deed in (
        Deed("say", "tell its agent something, as a comment", (text("text", "what to say", required=True),), _say),
        *(_order(name) for name in CommandName if name is not CommandName.HELP),
        Deed("merge", "merge its pull request (embedded forge)", (flag("squash", "as one commit"),), _merge),
        Deed("ready", "its pull request is no draft any more (embedded forge)", (), _ready),
        Deed("close", "close its pull request (embedded forge)", (), _close),
        Deed(
            "review",
            "review its pull request (embedded forge)",
            (
                text("text", "what to say of it all"),
                one_of("verdict", "comment, unless said otherwise", ("comment", "approve", "request changes")),
                _REMARKS,
            ),
            _review,
        ),
    )
}
_ISSUE = (
    text("project", "which; where there is only one it need not be said", most=100),
    text("title", "in one line", required=True, most=256),
    text("body", "what is wanted"),
    texts("labels", "those of the issue; the one that asks for work, unless others are given", most=100),
)


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def state(_request: Request) -> Response:
        look = await dashboard.lookout.look()
        return JSONResponse(look.picture.as_json())

    async def run(request: Request) -> Response:
        found = await _found(dashboard, request.path_params["key"])
        look = await dashboard.lookout.look()
        journal = await asyncio.to_thread(dashboard.window.journal, found)
        glimpse = look.picture.glimpses.get(found.id, Glimpse())
        history = [{"at": entry.at, "text": entry.text} for entry in journal]
        return JSONResponse({**run_as_json(found, glimpse), "journal": history})

    async def do(request: Request) -> Response:
        deed = DEEDS.get(request.path_params["deed"])
        if deed is None:
            raise HTTPException(_NOT_FOUND, f"That cannot be done with a run. These can: {', '.join(DEEDS)}.")
        body = checked(await json_of(request), deed.fields)
        found = await _found(dashboard, request.path_params["key"])
        done = await deed.act(dashboard, found, body, request.state.person)
        return JSONResponse(done, status_code=_ACCEPTED)

    async def ask(request: Request) -> Response:
        body = checked(await json_of(request), _ISSUE)
        labels = tuple(body.get("labels", [dashboard.window.label]))
        wish = Wish(body.get("project", ""), body["title"], body.get("body", ""), labels)
        key = await dashboard.voice.ask(wish, by=request.state.person)
        return JSONResponse({"key": key}, status_code=_CREATED)

    async def openapi(_request: Request) -> Response:
        return JSONResponse(description_of(OPERATIONS))

    return [
        Route(f"{ROOT}/state", state, methods=["GET"]),
        Route(f"{ROOT}/issues", ask, methods=["POST"]),
        Route(f"{ROOT}/openapi.json", openapi, methods=["GET"]),
        Route(f"{ROOT}/runs/{{key:path}}/{{deed}}", do, methods=["POST"]),
        Route(f"{ROOT}/runs/{{key:path}}", run, methods=["GET"]),
    ]


async def _found(dashboard: Dashboard, key: str) -> Run:
    found = await asyncio.to_thread(dashboard.window.find_run, key)
    if found is None:
        raise HTTPException(_NOT_FOUND, "There is no run of an issue by that key.")
    return found


OPERATIONS = (
    Operation("GET", f"{ROOT}/state", "state", "everything under way, and what ended today", answer="State"),
    Operation("GET", f"{ROOT}{_RUN}", "run", "one run and its journal", answer="RunWithJournal"),
    Operation("POST", f"{ROOT}/wake", "wake", "look at everything anew, now", status=_ACCEPTED, answer=""),
    Operation("POST", f"{ROOT}/issues", "ask", "file an issue", _ISSUE, _CREATED, "Filed"),
    *(
        Operation("POST", f"{ROOT}{_RUN}/{one.name}", one.name, one.about, one.fields, _ACCEPTED, "Said")
        for one in DEEDS.values()
    ),
)

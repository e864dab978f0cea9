"""What people do on a run's page: each form becomes a comment or an order, in their name, and the page comes back. To
start one of its servers, and to stop it, is said to nobody: it changes nothing of the work.

Rule: what was wrong is said above the form, and nothing that was typed is lost.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.domain.comment import Remark
from bot.domain.run import Run
from bot.errors import NeedsHuman, Retryable
from bot.status.interface import Voice
from bot.web.dashboard import Dashboard
from bot.web.forms import lists_of
from bot.web.run.page import Trouble, shown
from bot.web.run.params import is_number, run_of
from bot.web.templating import key_in_url

_NOT_FOUND = 404
_WORDS = frozenset({"approve", "give", "pause", "plan", "rebase", "resume", "retry", "stop", "take"})
_VERDICTS = frozenset({"comment", "approve", "request changes"})

Form = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Deed:
    """What a person wants done, and by whose name."""

    voice: Voice
    run: Run
    form: Form
    by: str

    def one(self, name: str) -> str:
        """Browsers send their own line ends."""
        return self.form.get(name, [""])[-1].replace("\r\n", "\n")


async def _say(deed: Deed) -> str:
    text = deed.one("text")
    if not text.strip():
        raise NeedsHuman("Write something first.")
    await deed.voice.say(deed.run.key, text, by=deed.by)
    return "said"


async def _order(deed: Deed) -> str:
    word = deed.one("word")
    if word not in _WORDS:
        raise NeedsHuman("Use one of the buttons.")
    await deed.voice.order(deed.run.key, word, by=deed.by)
    return "ordered"


async def _budget(deed: Deed) -> str:
    amount = deed.one("usd").strip().removeprefix("$").replace(",", ".")
    if not _is_amount(amount):
        raise NeedsHuman("Say how many dollars in all, such as 10 or 2.50.")
    await deed.voice.order(deed.run.key, f"budget {amount}", by=deed.by)
    return "ordered"


def _is_amount(text: str) -> bool:
    whole, _, cents = text.partition(".")
    return text.isascii() and whole.isdecimal() and len(text) < 10 and (not cents or cents.isdecimal())  # noqa: PLR2004


async def _ready(deed: Deed) -> str:
    await deed.voice.ready(deed.run.key, by=deed.by)
    return "ready"


async def _merge(deed: Deed) -> str:
    await deed.voice.merge(deed.run.key, squash=bool(deed.one("squash")), by=deed.by)
    return "merged"


async def _close(deed: Deed) -> str:
    await deed.voice.close(deed.run.key, by=deed.by)
    return "closed"


async def _review(deed: Deed) -> str:
    verdict = deed.one("verdict") or "comment"
    if verdict not in _VERDICTS:
        raise NeedsHuman("Choose what the review says: comment, approve or request changes.")
    remarks = remarks_in(deed.form)
    await deed.voice.review(deed.run.key, deed.one("text"), verdict=verdict, remarks=remarks, by=deed.by)
    return "reviewed"


def remarks_in(form: Form) -> Sequence[Remark]:
    """Rows that nobody wrote into are none."""
    columns = (form.get(name, []) for name in ("path", "line", "remark"))
    rows = [(path.strip(), line.strip(), text.replace("\r\n", "\n").strip()) for path, line, text in zip(*columns)]  # noqa: B905
    found = []
    for path, line, text in rows:
        if not (line or text):
            continue
        if not (path and text and is_number(line) and 0 < int(line) < 10**9):
            raise NeedsHuman("A remark needs a file, the number of a line in it, and words.")
        found.append(Remark(path, int(line), text))
    return found


_DEEDS: Mapping[str, Callable[[Deed], Awaitable[str]]] = {
    "say": _say, "order": _order, "budget": _budget, "ready": _ready, "merge": _merge, "close": _close,
    "review": _review,
}  # fmt: skip


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def act(request: Request) -> Response:
        run, form = await run_of(dashboard, request), await lists_of(request)
        name = request.path_params["deed"]
        if name not in _DEEDS:
            raise HTTPException(_NOT_FOUND, "There is nothing here by that name.")
        deed = Deed(dashboard.voice, run, form, request.state.person)
        try:
            done = await _DEEDS[name](deed)
        except (NeedsHuman, Retryable) as problem:
            return await shown(dashboard, request, run, trouble=Trouble(str(problem), {"deed": name, **form}))
        dashboard.hub.stir()
        return RedirectResponse(f"/runs/{key_in_url(run.key)}?done={done}", status_code=303)

    async def start(request: Request) -> Response:
        run, form = await run_of(dashboard, request), await lists_of(request)
        try:
            await dashboard.shows.start(run, form.get("name", [""])[-1], by=request.state.person)
        except (NeedsHuman, Retryable) as problem:
            return await shown(dashboard, request, run, trouble=Trouble(str(problem), {}))
        return RedirectResponse(f"/runs/{key_in_url(run.key)}?done=started#servers", status_code=303)

    async def stop(request: Request) -> Response:
        run = await run_of(dashboard, request)
        await dashboard.shows.stop(run)
        return RedirectResponse(f"/runs/{key_in_url(run.key)}?done=stopped#servers", status_code=303)

    return [
        Route("/runs/{key:path}/do/{deed:str}", act, methods=["POST"]),
        Route("/runs/{key:path}/show/start", start, methods=["POST"]),
        Route("/runs/{key:path}/show/stop", stop, methods=["POST"]),
    ]

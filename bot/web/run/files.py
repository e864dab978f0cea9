"""What a run changes, on its page: the list of files, and each file's difference when somebody opens it.

Rule: a page holds so many rows and no more, however much was changed; the rest is a step away.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.domain.diff_view import SeenFile, Sight
from bot.domain.run import Run
from bot.errors import BotError
from bot.web.dashboard import Dashboard
from bot.web.run.diff_rows import Shown, is_dull, rows_of
from bot.web.run.params import number_in, run_of
from bot.web.templating import page, rendered

FILES = 300
"""In a list at once."""
_OPEN_FILES = 4
_OPEN_LINES = 60
VIEW = "treehand-view"
VIEWS = ("unified", "split")
_YEAR = 365 * 86400
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in the list."""

    file: SeenFile
    dull: bool
    shown: Shown | None = None
    """Opened already: it is short."""

    @property
    def is_closed(self) -> bool:
        """There is nothing to open."""
        return self.file.is_binary or not (self.file.added or self.file.removed)


@dataclass(frozen=True, slots=True)
class FileList:
    sight: Sight
    files: Sequence[Listed]
    begin: int
    next: int
    """Where the next files begin; 0: there are none."""
    view: str


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def files(request: Request) -> Response:
        run = await run_of(dashboard, request)
        found = await list_of(dashboard, run, view_of(request), begin=number_in(request, "from"))
        return HTMLResponse(await asyncio.to_thread(partial(rendered, "files.html", run=run, changes=found)))

    async def file(request: Request) -> Response:
        run, view = await run_of(dashboard, request), view_of(request)
        sight = await dashboard.closeup.see(run)
        seen = sight.find(request.path_params["file"])
        if seen is None:
            raise HTTPException(_NOT_FOUND, "This file is not changed any more.")
        begin = number_in(request, "from")
        shown = await rows_of(dashboard.closeup, dashboard.painting, run, seen, view=view, begin=begin)
        if "part" in request.query_params:
            part = partial(rendered, "diff.html", run=run, file=seen, shown=shown, view=view)
            return HTMLResponse(await asyncio.to_thread(part))
        return page(request, "file.html", run=run, file=seen, shown=shown, view=view, begin=begin)

    return [
        Route("/runs/{key:path}/files", files),
        Route("/runs/{key:path}/diff/{file:str}", file),
    ]


def view_of(request: Request) -> str:
    """As asked for now, or else last."""
    asked = request.query_params.get("view") or request.cookies.get(VIEW, "")
    return asked if asked in VIEWS else VIEWS[0]


def remember_view(request: Request, response: Response) -> None:
    if request.query_params.get("view") in VIEWS:
        response.set_cookie(VIEW, view_of(request), max_age=_YEAR, httponly=True, samesite="lax")


async def list_of(dashboard: Dashboard, run: Run, view: str, *, begin: int = 0, lean: bool = False) -> FileList:
    """The first ones that are short are open; `lean`: none is even listed."""
    sight = await _seen(dashboard, run)
    if lean:
        return FileList(sight, (), 0, 0, view)
    end = begin + FILES
    listed = [Listed(file, is_dull(file.path)) for file in sight.files[begin:end]]
    short = [one for one in listed if not (one.dull or one.is_closed) and _lines(one) <= _OPEN_LINES]
    opened = {}
    for one in short[:_OPEN_FILES] if not begin else ():
        shown = await rows_of(dashboard.closeup, dashboard.painting, run, one.file, view=view)
        opened[one.file.id] = Listed(one.file, one.dull, shown)
    files = [opened.get(one.file.id, one) for one in listed]
    return FileList(sight, files, begin, end if end < len(sight.files) else 0, view)


async def _seen(dashboard: Dashboard, run: Run) -> Sight:
    """The rest of the page is of use without it."""
    try:
        return await dashboard.closeup.see(run)
    except BotError as problem:
        return Sight(trouble=f"It could not be looked at just now: {problem}")


def _lines(one: Listed) -> int:
    return one.file.added + one.file.removed

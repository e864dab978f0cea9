"""Changed files of a run: the list on the run page, and each file's diff when a person opens it.

Rule: a page lists a limited number of files and rows; a link leads to the next.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.domain.diff_view import DiffView, FileDiff
from bot.domain.run import Run
from bot.errors import BotError
from bot.web.dashboard import Dashboard
from bot.web.run.diff_page import DiffPage, diff_page_of
from bot.web.run.generated_files import is_generated
from bot.web.run.request_params import number_in, run_of
from bot.web.templating import page, render

MOST_FILES = 300
_OPEN_FILES = 4
_OPEN_LINES = 60
"""Limits of the diffs that are open at first."""
VIEW_COOKIE = "treehand-view"
VIEWS = ("unified", "split")
_YEAR = 365 * 86400
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class ListedFile:
    file: FileDiff
    is_generated: bool
    diff: DiffPage | None = None
    """Present if the diff is open at first."""

    @property
    def has_no_diff(self) -> bool:
        return self.file.is_binary or not (self.file.added or self.file.removed)


@dataclass(frozen=True, slots=True)
class FileList:
    changes: DiffView
    files: Sequence[ListedFile]
    begin: int
    next: int
    """First file of the next part; 0 in the last part."""
    view: str


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def files(request: Request) -> Response:
        run = await run_of(dashboard, request)
        file_list = await file_list_of(dashboard, run, view_of(request), begin=number_in(request, "from"))
        html = await asyncio.to_thread(partial(render, "run/changed_files.html", run=run, file_list=file_list))
        return HTMLResponse(html)

    async def file_diff(request: Request) -> Response:
        run, view = await run_of(dashboard, request), view_of(request)
        changes = await dashboard.details.changes(run)
        file = changes.find(request.path_params["file"])
        if file is None:
            raise HTTPException(_NOT_FOUND, "The run no longer changes this file.")
        begin = number_in(request, "from")
        diff = await diff_page_of(dashboard.details, dashboard.highlighter, run, file, view=view, begin=begin)
        if "part" in request.query_params:
            part = partial(render, "run/diff.html", run=run, file=file, diff=diff, view=view)
            return HTMLResponse(await asyncio.to_thread(part))
        return page(request, "run/file_diff.html", run=run, file=file, diff=diff, view=view, begin=begin)

    return [
        Route("/runs/{key:path}/files", files),
        Route("/runs/{key:path}/diff/{file:str}", file_diff),
    ]


def view_of(request: Request) -> str:
    """The view in the query, or else in the cookie."""
    view = request.query_params.get("view") or request.cookies.get(VIEW_COOKIE, "")
    return view if view in VIEWS else VIEWS[0]


def remember_view(request: Request, response: Response) -> None:
    if request.query_params.get("view") in VIEWS:
        response.set_cookie(VIEW_COOKIE, view_of(request), max_age=_YEAR, httponly=True, samesite="lax")


async def file_list_of(
    dashboard: Dashboard, run: Run, view: str, *, begin: int = 0, without_files: bool = False
) -> FileList:
    """Opens the diffs of the first short files."""
    changes = await _changes(dashboard, run)
    if without_files:
        return FileList(changes, (), 0, 0, view)
    end = begin + MOST_FILES
    files = [ListedFile(file, is_generated(file.path)) for file in changes.files[begin:end]]
    short = [file for file in files if not (file.is_generated or file.has_no_diff) and _lines(file.file) <= _OPEN_LINES]
    opened = {}
    for short_file in short[:_OPEN_FILES] if not begin else ():
        diff = await diff_page_of(dashboard.details, dashboard.highlighter, run, short_file.file, view=view)
        opened[short_file.file.id] = ListedFile(short_file.file, short_file.is_generated, diff)
    listed = [opened.get(file.file.id, file) for file in files]
    return FileList(changes, listed, begin, end if end < len(changes.files) else 0, view)


async def _changes(dashboard: Dashboard, run: Run) -> DiffView:
    """A problem is shown in place of the files, so the rest of the page stays usable."""
    try:
        return await dashboard.details.changes(run)
    except BotError as problem:
        return DiffView(trouble=f"The changes cannot be read: {problem}")


def _lines(file: FileDiff) -> int:
    return file.added + file.removed

"""Which run a request is about. Keys hold slashes and signs, so that they are whatever stands before the last words."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from bot.domain.run import Run
from bot.web.dashboard import Dashboard

_NOT_FOUND, _BAD = 404, 400
_MOST_DIGITS = 15


async def run_of(dashboard: Dashboard, request: Request) -> Run:
    key = request.path_params["key"]
    run = await asyncio.to_thread(dashboard.window.find_run, key)
    if run is None:
        raise HTTPException(_NOT_FOUND, f"There is no run for {key}.")
    return run


def number_in(request: Request, name: str) -> int:
    """0: none was given."""
    given = request.query_params.get(name, "")
    if given and not is_number(given):
        raise HTTPException(_BAD, f"{name} must be a number.")
    return int(given or 0)


def is_number(text: str) -> bool:
    """Python refuses those of thousands of digits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS

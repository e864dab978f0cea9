"""Request parameters of run pages: finds the run by the key in the path and parses numbers in the query.

Keys contain slashes and number signs, so a route takes everything before its own last words as the key.
"""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from bot.domain.run import Run
from bot.web.dashboard import Dashboard

_NOT_FOUND, _BAD_REQUEST = 404, 400
_MOST_DIGITS = 15


async def run_of(dashboard: Dashboard, request: Request) -> Run:
    key = request.path_params["key"]
    run = await asyncio.to_thread(dashboard.data.find_run, key)
    if run is None:
        raise HTTPException(_NOT_FOUND, f"There is no run for {key}.")
    return run


def number_in(request: Request, name: str) -> int:
    """Returns 0 if the parameter is missing."""
    text = request.query_params.get(name, "")
    if text and not is_number(text):
        raise HTTPException(_BAD_REQUEST, f"{name} must be a number.")
    return int(text or 0)


def is_number(text: str) -> bool:
    """Python refuses to parse thousands of digits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS

"""What people and programs are told when something cannot be done: in words, as a page or as JSON."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.errors import BotError, NeedsHuman, RateLimited
from bot.web.templating import page

_MEANINGS = {
    404: "There is nothing here by that name.",
    405: "That cannot be done with this address.",
}


async def refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    is_said = problem.detail != HTTPStatus(problem.status_code).phrase
    words = problem.detail if is_said else _MEANINGS.get(problem.status_code, problem.detail)
    return answer(request, problem.status_code, words, dict(problem.headers or {}))


async def failed(request: Request, problem: Exception) -> Response:
    """A person can mend the one; the other may pass."""
    if isinstance(problem, NeedsHuman):
        return answer(request, HTTPStatus.UNPROCESSABLE_ENTITY, str(problem))
    assert isinstance(problem, BotError)
    later = problem.retry_after if isinstance(problem, RateLimited) else 5.0
    return answer(request, HTTPStatus.SERVICE_UNAVAILABLE, str(problem), {"Retry-After": str(int(later) + 1)})


def answer(request: Request, status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    if is_page(request):
        shown = page(request, "problem.html", status_code=status, words=words)
        shown.headers.update(headers or {})
        return shown
    return JSONResponse({"error": words}, status_code=status, headers=headers)


def is_page(request: Request) -> bool:
    return not request.scope["path"].startswith("/api/") and "text/html" in request.headers.get("accept", "")

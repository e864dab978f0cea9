"""Error pages: renders an exception as a page for browsers or as JSON for programs."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.errors import BotError, NeedsHuman, RateLimited
from bot.web.templating import page

_MESSAGES = {
    404: "There is no page at this address.",
    405: "This address does not support this method.",
}


async def http_error(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    has_message = problem.detail != HTTPStatus(problem.status_code).phrase
    message = problem.detail if has_message else _MESSAGES.get(problem.status_code, problem.detail)
    return error_response(request, problem.status_code, message, dict(problem.headers or {}))


async def bot_error(request: Request, problem: Exception) -> Response:
    """422 if a person can fix the cause, else 503 with the time to try again."""
    if isinstance(problem, NeedsHuman):
        return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY, str(problem))
    assert isinstance(problem, BotError)
    seconds = problem.retry_after if isinstance(problem, RateLimited) else 5.0
    return error_response(request, HTTPStatus.SERVICE_UNAVAILABLE, str(problem), {"Retry-After": str(int(seconds) + 1)})


def error_response(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    if _wants_page(request):
        is_missing = status == HTTPStatus.NOT_FOUND
        response = page(request, "error.html", status_code=status, message=message, is_missing=is_missing)
        response.headers.update(headers or {})
        return response
    return JSONResponse({"error": message}, status_code=status, headers=headers)


def _wants_page(request: Request) -> bool:
    return not request.scope["path"].startswith("/api/") and "text/html" in request.headers.get("accept", "")

"""Where people show the token, once, and say what they are called."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.web.auth import COOKIE, SECONDS, Access, clean_name, place_in_here
from bot.web.forms import form_of
from bot.web.templating import page


def routes_of(access: Access) -> list[Route]:
    async def ask(request: Request) -> Response:
        if request.state.person and request.state.may_leave:
            return RedirectResponse(place_in_here(request.query_params.get("next", "/")), status_code=303)
        return _asked(request, access, request.query_params.get("next", "/"))

    async def enter(request: Request) -> Response:
        form = await form_of(request)
        there = place_in_here(form.get("next", "/"))
        if not access.opens_with(form.get("token", "").strip()):
            return _asked(request, access, there, problem="That is not the token.", status_code=401)
        answer = RedirectResponse(there, status_code=303)
        answer.set_cookie(
            COOKIE,
            access.cookie_for(clean_name(form.get("name", "")) or access.operator),
            max_age=int(SECONDS),
            httponly=True,
            samesite="strict",
            secure=_came_encrypted(request),
        )
        return answer

    async def leave(_request: Request) -> Response:
        answer = RedirectResponse("/login", status_code=303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    return [
        Route("/login", ask, methods=["GET"]),
        Route("/login", enter, methods=["POST"]),
        Route("/logout", leave, methods=["POST"]),
    ]


def _asked(request: Request, access: Access, there: str, *, problem: str = "", status_code: int = 200) -> Response:
    return page(
        request,
        "login.html",
        status_code=status_code,
        there=place_in_here(there),
        problem=problem,
        name=access.operator,
        wanted=bool(access.token),
    )


def _came_encrypted(request: Request) -> bool:
    """To us or to the proxy in front of us. Who lies here harms nobody but themselves."""
    return "https" in {request.url.scheme, request.headers.get("x-forwarded-proto", "")}

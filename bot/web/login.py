"""Login page: a person types the token and a name, or follows a login link, and gets the login cookie."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.web.auth import WAIT_AFTER_WRONG_TOKENS, Authenticator, clean_name, own_path
from bot.web.login_cookie import COOKIE, LIFETIME_SECONDS
from bot.web.request_body import read_form
from bot.web.templating import page


def routes_of(authenticator: Authenticator) -> list[Route]:
    async def show_form(request: Request) -> Response:
        if request.state.person and request.state.has_login:
            return RedirectResponse(own_path(request.query_params.get("next", "/")), status_code=303)
        query = request.query_params
        return _login_page(request, authenticator, query.get("next", "/"), code=query.get("code", ""))

    async def log_in(request: Request) -> Response:
        peer = request.client.host if request.client else ""
        if seconds := authenticator.throttle.seconds_to_wait(peer):
            problem = f"{WAIT_AFTER_WRONG_TOKENS} {seconds} s."
            return _login_page(request, authenticator, "/", problem=problem, status_code=429)
        form = await read_form(request)
        path, code = own_path(form.get("next", "/")), form.get("code", "")
        if not authenticator.try_login(peer, token=form.get("token", "").strip(), code=code):
            problem = (
                "This link has been used or has expired. `treehand login` prints another." if code else "Wrong token."
            )
            return _login_page(request, authenticator, path, problem=problem, status_code=401)
        response = RedirectResponse(path, status_code=303)
        response.set_cookie(
            COOKIE,
            authenticator.cookie_for(clean_name(form.get("name", "")) or authenticator.operator),
            max_age=int(LIFETIME_SECONDS),
            httponly=True,
            samesite="strict",
            secure=_is_https(request),
        )
        return response

    async def log_out(_request: Request) -> Response:
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    return [
        Route("/login", show_form, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]


def _login_page(
    request: Request,
    authenticator: Authenticator,
    path: str,
    *,
    code: str = "",
    problem: str = "",
    status_code: int = 200,
) -> Response:
    return page(
        request,
        "login.html",
        status_code=status_code,
        next_path=own_path(path),
        code=code,
        problem=problem,
        name=authenticator.operator,
        has_token=bool(authenticator.token),
    )


def _is_https(request: Request) -> bool:
    """Trusts the header of any client: a false one harms only its sender."""
    return "https" in {request.url.scheme, request.headers.get("x-forwarded-proto", "")}

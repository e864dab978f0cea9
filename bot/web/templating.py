"""Pages out of templates. Whatever they are given is text: escaped, and without letters that nobody sees.

Rule: no script and no style stands in a page. What pages load lies in `static/`, under a name that changes with it, so
that browsers may keep it for ever.
"""

import hashlib
import mimetypes
import time
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.text.visible import visible
from bot.web.board_cards import Card
from bot.web.markdown import to_html

_HERE = Path(__file__).parent
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


def rendered(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


def page(request: Request, template: str, *, status_code: int = 200, **values: object) -> HTMLResponse:
    """With what the layout needs: who is here, and where."""
    person = getattr(request.state, "person", "")
    path, leaves = request.scope["path"], bool(getattr(request.state, "may_leave", False))
    text = rendered(template, person=person, path=path, may_leave=leaves, **values)
    return HTMLResponse(text, status_code=status_code)


@lru_cache(maxsize=4096)
def card_html(card: Card) -> Markup:
    """The same wherever it is shown; hundreds of them stay the same from one page to the next."""
    return Markup(rendered("card.html", card=card))  # noqa: S704 - rendered by us


def key_in_url(key: str) -> str:
    return quote(key, safe="")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    made.filters |= {
        "card": card_html,
        "in_url": key_in_url,
        "money": _money,
        "moment": _moment,
        "machine_time": _machine_time,
        "prose": to_html,
    }
    made.globals |= {"static": static_url}
    return made


def _seen(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _money(usd: float) -> str:
    return f"${usd:.2f}"


def _machine_time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _moment(at: float) -> str:
    return time.strftime("%d %b %H:%M UTC", time.gmtime(at))


# What pages load


@cache
def _static() -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((_HERE / "static").iterdir()) if path.is_file()}


@cache
def _version() -> str:
    """Of all of it: a script finds the others beside it."""
    return hashlib.sha256(b"\0".join(name.encode() + body for name, body in _static().items())).hexdigest()[:16]


def static_url(name: str) -> str:
    if name not in _static():
        raise KeyError(name)
    return f"/static/{_version()}/{name}"


async def _serve(request: Request) -> Response:
    """Only the names that are there: no path is ever put together."""
    body = _static().get(request.path_params["name"])
    if body is None or request.path_params["version"] != _version():
        return PlainTextResponse("There is no such file.\n", status_code=404)
    kind = mimetypes.guess_type(request.path_params["name"])[0] or "application/octet-stream"
    return Response(body, media_type=kind, headers=_FOREVER)


STATIC = Route("/static/{version}/{name}", _serve)

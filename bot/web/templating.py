"""Templates: renders pages with Jinja2; escapes every value and drops its invisible characters.

Rule: a page holds no inline script and no inline style; the Content-Security-Policy forbids both.
"""

import time
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from bot.domain.price import why_guessed
from bot.text.invisible_characters import strip_invisible
from bot.text.money import dollars
from bot.web.board_cards import BoardCard
from bot.web.markdown import to_html
from bot.web.static_files import static_url


def render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


def page(request: Request, template: str, *, status_code: int = 200, **values: object) -> HTMLResponse:
    """Adds the values that the layout needs: the person, the path, and whether logging out is possible."""
    person = getattr(request.state, "person", "")
    path, has_login = request.scope["path"], bool(getattr(request.state, "has_login", False))
    text = render(template, person=person, path=path, has_login=has_login, **values)
    return HTMLResponse(text, status_code=status_code)


@lru_cache(maxsize=4096)
def card_html(card: BoardCard) -> Markup:
    """Cached, because hundreds of cards stay the same from one page to the next."""
    return Markup(render("board_card.html", card=card))  # noqa: S704 - the template escapes every value


def key_in_url(key: str) -> str:
    return quote(key, safe="")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_invisible,
    )
    environment.filters |= {
        "card": card_html,
        "in_url": key_in_url,
        "money": dollars,
        "why_guessed": why_guessed,
        "moment": _moment,
        "machine_time": _machine_time,
        "markdown": to_html,
    }
    environment.globals |= {"static": static_url}
    return environment


def _without_invisible(value: object) -> object:
    return strip_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _machine_time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _moment(at: float) -> str:
    return time.strftime("%d %b %H:%M UTC", time.gmtime(at))

"""REST API of GitHub Apps: JWT authentication, and short-lived tokens per installation."""

from typing import Any

import jwt

from tests.fakes.github.api_request import Ask, Refusal, Reply, invalid, paged, route
from tests.fakes.github.as_json import Shapes, node_id
from tests.fakes.github.model import App, Installation, Repository, iso

_LONGEST = 600


def app_of(ask: Ask) -> App:
    """Finds the App that signed the JWT; it may live ten minutes by our clock."""
    text = ask.headers.get("authorization", "").partition(" ")[2]
    try:
        claims = jwt.decode(text, options={"verify_signature": False})
        app = ask.world.apps[int(claims["iss"])]
        jwt.decode(text, app.public_key, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
    except (jwt.PyJWTError, KeyError, ValueError):
        raise Refusal(401, "A JSON web token could not be decoded") from None
    _timely(claims, ask.world.now)
    return app


def _timely(claims: dict[str, Any], now: float) -> None:
    if claims["iat"] > now + 1:
        raise Refusal(401, "'Issued at' claim ('iat') must be an Integer representing the time that it was issued")
    if claims["exp"] < now:
        raise Refusal(401, "'Expiration time' claim ('exp') must be a numeric value in the future")
    if claims["exp"] > now + _LONGEST:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")


def _installation(ask: Ask, number: int) -> Installation:
    app = app_of(ask)
    found = ask.world.installations.get(number)
    if found is None or found.app is not app:
        raise Refusal(404, "Not Found")
    return found


@route("GET", "/app", anonymous=True)
def app(ask: Ask) -> Reply:
    return Reply(200, {**_app(ask, app_of(ask)), "installations_count": 1})


def _app(ask: Ask, found: App) -> dict[str, Any]:
    return {
        "id": found.id, "slug": found.slug, "node_id": node_id("A", found.id), "name": found.slug,
        "owner": Shapes(ask.base).user(ask.world.user("acme")), "description": None,
        "external_url": "https://example.com", "html_url": f"{ask.site}/apps/{found.slug}", "created_at": iso(0),
        "updated_at": iso(0), "permissions": found.permissions, "events": [],
    }  # fmt: skip


@route("POST", "/app-manifests/{code}/conversions", anonymous=True)
def conversion(ask: Ask, code: str) -> Reply:
    """Exchanges a code once: a second request finds nothing."""
    found = ask.world.codes.pop(code, None)
    if found is None:
        raise Refusal(404, "Not Found")
    secrets = {"client_id": "Iv1.stand-in", "client_secret": "s" * 40, "webhook_secret": "w" * 40}
    return Reply(201, {**_app(ask, found), **secrets, "pem": found.private_key})


def _shape(ask: Ask, one: Installation) -> dict[str, Any]:
    url = f"{ask.base}/app/installations/{one.id}"
    account = (Shapes(ask.base).user(one.account) or {}) | {
        "name": one.account.login, "slug": one.account.login, "created_at": iso(0), "updated_at": iso(0),
    }  # fmt: skip
    return {
        "id": one.id, "app_id": one.app.id, "app_slug": one.app.slug, "target_id": one.account.id,
        "target_type": "Organization", "single_file_name": None, "repository_selection": "selected",
        "access_tokens_url": f"{url}/access_tokens", "html_url": f"{ask.site}/installations/{one.id}",
        "repositories_url": f"{ask.base}/installation/repositories", "events": [],
        "account": account, "permissions": one.permissions, "created_at": iso(0),
        "updated_at": iso(0), "suspended_by": None, "suspended_at": iso(ask.world.now) if one.suspended else None,
    }  # fmt: skip


@route("GET", "/app/installations", anonymous=True)
def installations(ask: Ask) -> Reply:
    found = app_of(ask)
    own = [one for one in ask.world.installations.values() if one.app is found]
    return paged(ask, own, lambda one: _shape(ask, one))


@route("GET", "/app/installations/{key}", anonymous=True)
def installation(ask: Ask, key: int) -> Reply:
    return Reply(200, _shape(ask, _installation(ask, key)))


@route("GET", "/repos/{account}/{name}/installation", anonymous=True)
def installation_of(ask: Ask, account: str, name: str) -> Reply:
    found = app_of(ask)
    for one in ask.world.installations.values():
        if one.app is found and any(h.full_name.lower() == f"{account}/{name}".lower() for h in one.repositories):
            return Reply(200, _shape(ask, one))
    raise Refusal(404, "Not Found")


@route("POST", "/app/installations/{key}/access_tokens", anonymous=True)
def access_token(ask: Ask, key: int) -> Reply:
    found = _installation(ask, key)
    if found.suspended:
        raise Refusal(403, "This installation has been suspended")
    homes = _chosen(ask, found)
    asked = ask.field("permissions", dict) or found.permissions
    order = ["none", "read", "write", "admin"]
    if any(order.index(level) > order.index(found.permissions.get(name, "none")) for name, level in asked.items()):
        raise invalid("Installation", "The permissions requested are not granted to this installation.")
    token = ask.world.mint(found, homes, {"metadata": "read", **asked})
    assert token.expires_at
    return Reply(201, {
        "token": token.text, "expires_at": iso(token.expires_at), "permissions": token.permissions,
        "repository_selection": "selected",
        "repositories": [Shapes(ask.base).repository(home, "write") for home in homes],
    })  # fmt: skip


def _chosen(ask: Ask, found: Installation) -> list[Repository]:
    names, ids = ask.field("repositories", list), ask.field("repository_ids", list)
    if not names and not ids:
        return list(found.repositories)
    homes = [h for h in found.repositories if h.name in (names or []) or h.id in (ids or [])]
    if len(homes) != len(names or ids):
        raise invalid("Installation", "There is at least one repository that does not exist or is not accessible.")
    return homes


@route("GET", "/installation/repositories")
def repositories(ask: Ask) -> Reply:
    if ask.token is None or ask.token.repositories is None:
        raise Refusal(403, "You must authenticate with an installation access token")
    shape = lambda home: Shapes(ask.base).repository(home, "write")  # noqa: E731
    return paged(ask, ask.token.repositories, shape, wrap="repositories")

"""GitHub's web page that creates an App from a manifest."""

import json
import re
from urllib.parse import parse_qs, urlencode

from tests.fakes.github.repository_actions import GitHubWorld

_NEW = re.compile(r"(?:/organizations/(?P<owner>[\w-]+))?/settings/apps/new")
_LEVELS = {"read", "write", "admin"}


def made_on_website(world: GitHubWorld, method: str, path: str, query: dict[str, str], body: bytes) -> str | None:
    """Returns the redirect after a person has agreed; None for another page."""
    if method != "POST" or not _NEW.fullmatch(path):
        return None
    manifest = json.loads(parse_qs(body.decode())["manifest"][0])
    assert manifest["url"]
    assert len(manifest["name"]) <= 34
    assert not manifest["default_events"] or manifest["hook_attributes"]["url"]
    assert set(manifest["default_permissions"].values()) <= _LEVELS
    slug = re.sub(r"[^a-z0-9]+", "-", manifest["name"].lower()).strip("-")
    app = world.create_app(slug, **manifest["default_permissions"])
    code = f"{app.id:040d}"
    world.codes[code] = app
    return f"{manifest['redirect_url']}?{urlencode({'code': code, 'state': query.get('state', '')})}"

"""Login cookie: holds a person's name and an end date, signed with the token. A new token makes all cookies invalid."""

import base64
import binascii
import hashlib
import hmac
import json

from bot.system.clock import DAY

COOKIE = "treehand"
LIFETIME_SECONDS = 14 * DAY


def make_cookie(person: str, token: str, *, now: float) -> str:
    content = json.dumps({"person": person, "until": now + LIFETIME_SECONDS}).encode()
    return f"{base64.urlsafe_b64encode(content).decode()}.{_signature(content, token)}"


def read_cookie(cookie: str, token: str, *, now: float) -> str:
    """Returns the person's name; empty if the cookie is malformed, forged or over."""
    encoded, _, signature = cookie.partition(".")
    try:
        content = base64.urlsafe_b64decode(encoded.encode())
    except (binascii.Error, ValueError):
        return ""
    if not hmac.compare_digest(signature.encode(), _signature(content, token).encode()):
        return ""
    login = json.loads(content)
    return str(login["person"]) if now < login["until"] else ""


def _signature(content: bytes, token: str) -> str:
    return hmac.new(token.encode(), b"treehand session\0" + content, hashlib.sha256).hexdigest()

"""Static files: serves styles, scripts and icons under a versioned address, so browsers may cache them for ever."""

import hashlib
import mimetypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

_FOLDER = Path(__file__).with_name("static")
_CACHE_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def _files() -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.is_file()}


@cache
def _version() -> str:
    """One version for all files, because scripts import each other by relative address."""
    return hashlib.sha256(b"\0".join(name.encode() + content for name, content in _files().items())).hexdigest()[:16]


def static_url(name: str) -> str:
    if name not in _files():
        raise KeyError(name)
    return f"/static/{_version()}/{name}"


async def _serve(request: Request) -> Response:
    """Looks the name up in the files read at start; never builds a path from it."""
    content = _files().get(request.path_params["name"])
    if content is None or request.path_params["version"] != _version():
        return PlainTextResponse("No such file.\n", status_code=404)
    media_type = mimetypes.guess_type(request.path_params["name"])[0] or "application/octet-stream"
    return Response(content, media_type=media_type, headers=_CACHE_FOR_EVER)


STATIC_ROUTE = Route("/static/{version}/{name}", _serve)

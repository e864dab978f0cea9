"""What people send us, as forms or as JSON: never longer than anybody types, never files."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST_BYTES = 1024 * 1024
_MOST_FIELDS = 1000
_BAD, _LONG = 400, 413


async def form_of(request: Request) -> Mapping[str, str]:
    """Of several fields by one name the last."""
    return {name: values[-1] for name, values in (await lists_of(request)).items()}


async def lists_of(request: Request) -> Mapping[str, list[str]]:
    body = await _body_of(request)
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as exc:
        raise HTTPException(_BAD, "This cannot be read as a form.") from exc


async def json_of(request: Request) -> Mapping[str, Any]:
    """An object; an empty body is an empty one."""
    body = await _body_of(request)
    try:
        told = json.loads(body.decode()) if body.strip() else {}
    except (ValueError, RecursionError) as exc:
        raise HTTPException(_BAD, "This cannot be read as JSON.") from exc
    if not isinstance(told, Mapping):
        raise HTTPException(_BAD, "A JSON object is wanted.")
    return told


async def _body_of(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(_LONG, "That is too long.")
    return bytes(body)

"""Request bodies: reads a form or JSON of limited length, and limits the memory of all bodies together."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

MOST_BYTES = 1024 * 1024
MOST_BYTES_OF_ALL = 16 * 1024 * 1024
_MOST_FIELDS = 1000
_BAD_REQUEST, _TOO_LONG, _BUSY = 400, 413, 503


@dataclass(slots=True)
class BodyMemory:
    """Memory of all bodies that are being read now. The app has one, in its state."""

    held: int = 0
    """In bytes."""


async def read_form(request: Request) -> Mapping[str, str]:
    """The last value of each field."""
    return {name: values[-1] for name, values in (await read_form_lists(request)).items()}


async def read_form_lists(request: Request) -> Mapping[str, list[str]]:
    content = await read_content(request)
    try:
        return parse_qs(content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as exc:
        raise HTTPException(_BAD_REQUEST, "The request is not a valid form.") from exc


async def read_content(request: Request, most_bytes: int = MOST_BYTES) -> bytes:
    """Raises HTTPException 413 for a longer body, 503 while other bodies take the memory."""
    too_long = HTTPException(_TOO_LONG, f"The request is too long. The limit is {most_bytes:,} bytes.")
    if _announced_bytes(request) > most_bytes:
        raise too_long
    memory: BodyMemory = request.app.state.bodies
    content = bytearray()
    try:
        async for chunk in request.stream():
            memory.held += len(chunk)
            content += chunk
            if len(content) > most_bytes:
                raise too_long
            if memory.held > MOST_BYTES_OF_ALL:
                raise HTTPException(_BUSY, "Too many long requests at the same time.", {"Retry-After": "30"})
        return bytes(content)
    except ClientDisconnect as exc:
        raise HTTPException(_BAD_REQUEST, "The request ended early.") from exc
    finally:
        memory.held -= len(content)


def _announced_bytes(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdigit() else 0

"""What a caller at the porch says first. Of a browser that is to which name it believes it speaks.

Rule: browsers send the cookies of a name to every port of it. So what runs in a sandbox is spoken to as `localhost`
alone: at `127.0.0.1` it would be shown what the dashboard's own pages left in the browser.
"""

import asyncio
import re

_MOST_BYTES = 1 << 16
_CHUNK = 1 << 16
_MAY_BECOME_HTTP = re.compile(rb"[A-Z]{0,20}(?: [^\n]*)?")
_HTTP = re.compile(rb"[A-Z]{1,20} [^\n]* HTTP/1\.[0-9]\r?\n")
_END = re.compile(rb"\r?\n\r?\n")
_HOST = re.compile(rb"^host[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(rb"(?:[a-z0-9-]+\.)*localhost(?::[0-9]{1,5})?", re.IGNORECASE)

REFUSAL = (
    b"HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"Use the name localhost: cookies of pages at other names of this machine are not for what runs here.\n"
)


async def read_greeting(reader: asyncio.StreamReader) -> bytes | None:
    """As far as it takes to tell. None: it is not for us to hand on."""
    said = b""
    while _is_undecided(said):
        if len(said) > _MOST_BYTES:
            return None
        more = await reader.read(_CHUNK)
        if not more:
            break
        said += more
    return None if _HTTP.match(said) and not _is_for_localhost(said) else said


def _is_undecided(said: bytes) -> bool:
    if _HTTP.match(said):
        return not _END.search(said)
    return b"\n" not in said and _MAY_BECOME_HTTP.fullmatch(said) is not None


def _is_for_localhost(said: bytes) -> bool:
    names = _HOST.findall(_END.split(said, maxsplit=1)[0])
    return len(names) == 1 and _NAME.fullmatch(names[0]) is not None

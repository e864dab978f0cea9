"""One request over the wire, and whatever came back. No patience, no judgement, no memory."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot import __version__
from bot.errors import BadSettings
from bot.services.linear.errors import Reply

_CONNECT, _READ, _WHOLE = 10.0, 30.0, 60.0  # seconds
_MOST = 20_000_000
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class NoAnswer(Exception):
    """Nothing came back, or only a part. `sent`: the server may have got the request."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Wire:
    def __init__(self, api_url: str, authorization: str) -> None:
        place = urlsplit(api_url)
        if not place.hostname or not (place.scheme == "https" or place.hostname in _LOOPBACK):
            raise BadSettings(f"linear.api_url must be an https:// address, and is {api_url!r}.")
        self._url = api_url
        self._http = httpx.AsyncClient(
            headers={"Authorization": authorization, "User-Agent": f"treehand/{__version__}"},
            timeout=httpx.Timeout(_READ, connect=_CONNECT),
            follow_redirects=False,  # the key is for this address
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, body: Mapping[str, Any], *, before: Callable[[], None]) -> Reply:
        """`before` is asked in the last moment, and may raise. Raises NoAnswer."""
        request = self._http.build_request("POST", self._url, json=body)
        before()
        try:
            async with asyncio.timeout(_WHOLE):
                return await self._received(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as exc:
            raise NoAnswer(f"Linear cannot be reached ({type(exc).__name__})", sent=False) from exc
        except (httpx.HTTPError, httpx.StreamError, TimeoutError) as exc:
            raise NoAnswer(f"Linear did not answer as a whole ({type(exc).__name__})", sent=True) from exc

    async def _received(self, request: httpx.Request) -> Reply:
        response = await self._http.send(request, stream=True)
        try:
            found = bytearray()
            async for chunk in response.aiter_bytes():
                found += chunk
                if len(found) > _MOST:
                    raise NoAnswer("The answer of Linear does not end", sent=True)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, headers, found.decode("utf-8", "replace"))
        finally:
            await response.aclose()

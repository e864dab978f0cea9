"""Sends one HTTP request to Linear. Rule: bounded time and size; no retry, pacing or cache."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot import __version__
from bot.errors import BadSettings
from bot.services.http.service_reply import NoAnswer, ServiceReply

_CONNECT_SECONDS, _READ_SECONDS, _TOTAL_SECONDS = 10.0, 30.0, 60.0
_MAX_BYTES = 20_000_000
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Transport:
    def __init__(self, api_url: str, authorization: str) -> None:
        place = urlsplit(api_url)
        if not place.hostname or not (place.scheme == "https" or place.hostname in _LOOPBACK):
            raise BadSettings(f"linear.api_url must be an https:// address; it is {api_url!r}.")
        self._url = api_url
        self._http = httpx.AsyncClient(
            headers={"Authorization": authorization, "User-Agent": f"treehand/{__version__}"},
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,  # the key is for this address
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, body: Mapping[str, Any], *, before: Callable[[], None]) -> ServiceReply:
        """`before` is called right before sending, and may raise. Raises NoAnswer."""
        request = self._http.build_request("POST", self._url, json=body)
        before()
        try:
            async with asyncio.timeout(_TOTAL_SECONDS):
                return await self._read(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as exc:
            raise NoAnswer(f"Linear cannot be reached ({type(exc).__name__})", sent=False) from exc
        except (httpx.HTTPError, httpx.StreamError, TimeoutError) as exc:
            raise NoAnswer(f"Linear's answer is incomplete ({type(exc).__name__})", sent=True) from exc

    async def _read(self, request: httpx.Request) -> ServiceReply:
        response = await self._http.send(request, stream=True)
        try:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise NoAnswer("Linear's answer is too long or too slow", sent=True)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return ServiceReply(response.status_code, headers, body.decode("utf-8", "replace"))
        finally:
            await response.aclose()

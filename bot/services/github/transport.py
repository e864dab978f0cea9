"""Sends one HTTP request through PyGithub's Requester. Rule: bounded time and size; no retry, pacing or cache."""

import json
import logging
import time
from collections.abc import ItemsView, Mapping
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from github.Auth import Auth
from github.Requester import HTTPRequestsConnectionClass, Requester, RequestsResponse

from bot import __version__
from bot.errors import NeedsHuman
from bot.services.http.service_reply import NoAnswer, ServiceReply

ACCEPT = "application/vnd.github+json"
CONNECTIONS = 8

_API_VERSION = "2022-11-28"
_CONNECT_SECONDS, _READ_SECONDS, _TOTAL_SECONDS = 10.0, 30.0, 90.0
_MAX_BYTES = 50_000_000
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_SHOWN_AS = {202: 200, 301: 308}
"""PyGithub repeats a GET after 202, and follows a 301 without its query. Both are ours to do, paced and fenced."""
_NUMBERS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}
"""PyGithub fails if one of these is no number: such a header is left out."""


class Transport:
    """Used from several threads at once."""

    def __init__(self, api_url: str) -> None:
        self.api_url = api_url.rstrip("/")
        self._root = urlsplit(self.api_url)
        if self._root.scheme not in _PORTS or not self._root.hostname:
            raise NeedsHuman(f"github.api_url must be an http(s) address; it is {api_url!r}.")
        self._session = requests.Session()
        self._session.auth = Requester.noopAuth  # otherwise requests reads ~/.netrc
        adapter = requests.adapters.HTTPAdapter(max_retries=0, pool_maxsize=CONNECTIONS)
        for scheme in _PORTS:
            self._session.mount(f"{scheme}://", adapter)
        # Debug lines of urllib3 contain complete answers, and an answer may be a token.
        logging.getLogger("github.Requester").setLevel(logging.INFO)

    def close(self) -> None:
        self._session.close()

    def send(
        self, verb: str, path: str, *, auth: Auth | None, headers: Mapping[str, str], body: Any = None
    ) -> ServiceReply:
        """Raises NoAnswer. Redirects are answers like any other."""
        requester = Requester(
            auth=auth,
            base_url=self.api_url,
            timeout=int(_READ_SECONDS),
            user_agent=f"treehand/{__version__}",
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            api_version=_API_VERSION,
        )
        address = requester.graphql_url if path == "/graphql" else path
        connection = _Connection(self._session, f"{self._root.scheme}://{self._root.netloc}")
        status, names, text = requester.requestJson(
            verb, address, headers={"Accept": ACCEPT, **headers}, input=body, cnx=connection
        )
        return ServiceReply(connection.status or status, names, text)

    def fetch(self, url: str) -> ServiceReply:
        """Reads from any host, without a credential."""
        return _read(self._session, "GET", url, headers={}, data=None)

    def relative(self, url: str) -> str:
        """A URL of the server as a path below the API's root. Raises NeedsHuman if it leads elsewhere."""
        target = urlsplit(url)
        if not target.netloc:
            target = target._replace(scheme=self._root.scheme, netloc=self._root.netloc)
        prefix = self._root.path
        if _place(target) != _place(self._root) or not target.path.startswith(f"{prefix}/"):
            raise NeedsHuman(
                f"GitHub at {self.api_url} redirects to {target.scheme}://{target.netloc}{target.path}. "
                "Set github.api_url to the address that the server itself uses."
            )
        path = target.path.removeprefix(prefix)
        return f"{path}?{target.query}" if target.query else path

    def absolute(self, url: str) -> str:
        return urljoin(self.api_url, url)


class _Connection(HTTPRequestsConnectionClass):
    """PyGithub's connection, over our own session: bounded, without retries, and keeping the status as it was sent."""

    def __init__(self, session: requests.Session, root: str) -> None:
        self.session, self._root = session, root
        self.status = 0

    def getresponse(self) -> RequestsResponse:
        reply = _read(self.session, self.verb, self._root + self.url, headers=self.headers, data=self.input)
        self.status = reply.status
        return _BoundedResponse(reply)


class _BoundedResponse(RequestsResponse):
    def __init__(self, reply: ServiceReply) -> None:
        self._reply = reply
        self.status = _SHOWN_AS.get(reply.status, reply.status)

    def getheaders(self) -> ItemsView[str, str]:
        names = self._reply.headers.items()
        return {name: value for name, value in names if name not in _NUMBERS or _is_number(value)}.items()

    def read(self) -> str:
        return self._reply.text


def _is_number(value: str) -> bool:
    try:
        int(float(value))
    except (ValueError, OverflowError):
        return False
    return True


def _read(session: requests.Session, verb: str, url: str, *, headers: Mapping[str, str], data: Any) -> ServiceReply:
    try:
        with session.request(
            verb,
            url,
            headers=headers,
            data=data,
            timeout=(_CONNECT_SECONDS, _READ_SECONDS),
            allow_redirects=False,
            stream=True,
        ) as response:
            names = {name.lower(): value for name, value in response.headers.items()}
            return ServiceReply(response.status_code, names, _read_body(response).decode("utf-8", "replace"))
    except requests.RequestException as exc:
        raise NoAnswer(_explain(exc), sent=not _never_left(exc)) from exc


def _read_body(response: requests.Response) -> bytes:
    """Gives up on a server that sends a byte at a time as well."""
    body, ends = bytearray(), time.monotonic() + _TOTAL_SECONDS
    for chunk in response.iter_content(65536):
        body += chunk
        if len(body) > _MAX_BYTES or time.monotonic() > ends:
            raise requests.ReadTimeout("the answer does not end")
    return bytes(body)


def _never_left(exc: requests.RequestException) -> bool:
    if isinstance(exc, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    return isinstance(exc, requests.ConnectionError) and "NewConnectionError" in repr(exc)


def _explain(exc: requests.RequestException) -> str:
    if isinstance(exc, requests.Timeout):
        return "GitHub did not answer in time"
    if isinstance(exc, requests.exceptions.ChunkedEncodingError | requests.exceptions.ContentDecodingError):
        return "The connection to GitHub broke during the answer"
    return f"GitHub cannot be reached ({type(exc).__name__})"


def _place(url: SplitResult) -> tuple[str, str, int | None]:
    host = (url.hostname or "").lower()
    return url.scheme, "loopback" if host in _LOOPBACK else host, url.port or _PORTS.get(url.scheme)


def parse_json(reply: ServiceReply) -> Any:
    """Returns None for an empty text. Raises NoAnswer if the text is not JSON: half an answer is none."""
    if not reply.text.strip():
        return None
    try:
        return json.loads(reply.text)
    except (ValueError, RecursionError) as exc:
        raise NoAnswer("GitHub's answer cannot be read", sent=True) from exc


def next_link(reply: ServiceReply) -> str:
    """Empty on the last page."""
    links = requests.utils.parse_header_links(reply.headers.get("link", ""))
    return next((str(link["url"]) for link in links if link.get("rel") == "next"), "")

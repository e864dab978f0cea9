"""One request over the wire, through PyGithub, and whatever came back. No patience, no judgement, no memory."""

import json
import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from github.Auth import Auth
from github.Requester import HTTPRequestsConnectionClass, Requester

from bot import __version__
from bot.errors import NeedsHuman
from bot.services.github.errors import Reply

ACCEPT = "application/vnd.github+json"
CONNECTIONS = 8

_API_VERSION = "2022-11-28"
_CONNECT, _READ, _WHOLE = 10.0, 30.0, 90.0  # seconds
_MOST = 50_000_000
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class NoAnswer(Exception):
    """Nothing came back, or only a part. `sent`: the server may have got the request."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Wire:
    """Used from several threads at once."""

    def __init__(self, api_url: str) -> None:
        self.api_url = api_url.rstrip("/")
        self._root = urlsplit(self.api_url)
        if self._root.scheme not in _PORTS or not self._root.hostname:
            raise NeedsHuman(f"github.api_url is not an address: {api_url}")
        self._session = requests.Session()
        self._session.auth = Requester.noopAuth  # else requests looks into ~/.netrc
        adapter = requests.adapters.HTTPAdapter(max_retries=0, pool_maxsize=CONNECTIONS)
        for scheme in _PORTS:
            self._session.mount(f"{scheme}://", adapter)
        # Its debug lines hold whole answers, and an answer may be a token.
        logging.getLogger("github.Requester").setLevel(logging.INFO)

    def close(self) -> None:
        self._session.close()

    def send(self, verb: str, path: str, *, auth: Auth | None, headers: Mapping[str, str], body: Any = None) -> Reply:
        """Raises NoAnswer. Redirects are answers like any other."""
        requester = Requester(
            auth=auth,
            base_url=self.api_url,
            timeout=int(_READ),
            user_agent=f"treehand/{__version__}",
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            api_version=_API_VERSION,
        )
        address = requester.graphql_url if path == "/graphql" else path
        connection = _Connection(self._session, self.api_url)
        requester.requestJson(verb, address, headers={"Accept": ACCEPT, **headers}, input=body, cnx=connection)
        assert connection.reply is not None
        return connection.reply

    def fetch(self, url: str) -> Reply:
        """From any host, and as nobody."""
        return _received(self._session, "GET", url, headers={}, data=None)

    def relative(self, url: str) -> str:
        """An address of the server's as a path below the API's root. Raises NeedsHuman when it leads elsewhere."""
        target = urlsplit(url)
        if not target.netloc:
            target = target._replace(scheme=self._root.scheme, netloc=self._root.netloc)
        prefix = self._root.path
        if _place(target) != _place(self._root) or not target.path.startswith(f"{prefix}/"):
            raise NeedsHuman(
                f"GitHub at {self.api_url} sends us to {target.scheme}://{target.netloc}{target.path}: "
                "github.api_url must be the address it goes by itself."
            )
        path = target.path.removeprefix(prefix)
        return f"{path}?{target.query}" if target.query else path

    def absolute(self, url: str) -> str:
        return urljoin(self.api_url, url)


class _Connection(HTTPRequestsConnectionClass):
    """What PyGithub takes for a connection.

    It keeps the answer for us and shows PyGithub a bland one: PyGithub would ask again for ever after a 202, and
    follow a redirect without its query.
    """

    def __init__(self, session: requests.Session, api_url: str) -> None:
        root = urlsplit(api_url)
        self.session, self._host = session, f"{root.scheme}://{root.netloc}"
        self.reply: Reply | None = None

    def getresponse(self) -> "_Bland":  # type: ignore[override]
        self.reply = _received(self.session, self.verb, self._host + self.url, headers=self.headers, data=self.input)
        return _Bland()


class _Bland:
    status = 200

    def getheaders(self) -> list[tuple[str, str]]:
        return []

    def read(self) -> str:
        return ""


def _received(session: requests.Session, verb: str, url: str, *, headers: Mapping[str, str], data: Any) -> Reply:
    try:
        with session.request(
            verb, url, headers=headers, data=data, timeout=(_CONNECT, _READ), allow_redirects=False, stream=True
        ) as response:
            names = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, names, _whole(response).decode("utf-8", "replace"))
    except requests.RequestException as exc:
        raise NoAnswer(_why(exc), sent=not _never_left(exc)) from exc


def _whole(response: requests.Response) -> bytes:
    """A server that gives a byte at a time is given up on as well."""
    found, ends = bytearray(), time.monotonic() + _WHOLE
    for chunk in response.iter_content(65536):
        found += chunk
        if len(found) > _MOST or time.monotonic() > ends:
            raise requests.ReadTimeout("the answer does not end")
    return bytes(found)


def _never_left(exc: requests.RequestException) -> bool:
    if isinstance(exc, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    return isinstance(exc, requests.ConnectionError) and "NewConnectionError" in repr(exc)


def _why(exc: requests.RequestException) -> str:
    if isinstance(exc, requests.Timeout):
        return "GitHub did not answer in time"
    if isinstance(exc, requests.exceptions.ChunkedEncodingError | requests.exceptions.ContentDecodingError):
        return "The answer of GitHub broke off"
    return f"GitHub cannot be reached ({type(exc).__name__})"


def _place(url: SplitResult) -> tuple[str, str, int | None]:
    host = (url.hostname or "").lower()
    return url.scheme, "loopback" if host in _LOOPBACK else host, url.port or _PORTS.get(url.scheme)


def parsed(reply: Reply) -> Any:
    """Raises NoAnswer: half an answer is none."""
    if not reply.text.strip():
        return None
    try:
        return json.loads(reply.text)
    except ValueError as exc:
        raise NoAnswer("The answer of GitHub cannot be read", sent=True) from exc


def next_link(reply: Reply) -> str:
    """Empty: this is the last page."""
    links = requests.utils.parse_header_links(reply.headers.get("link", ""))
    return next((str(link["url"]) for link in links if link.get("rel") == "next"), "")

"""HTTP access: loopback unless a token is set, only under its own name, and not from pages of other sites."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.routing import Route

from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.server import serving
from tests.fakes.webhooks import webhooks

pytestmark = pytest.mark.attack("T17", "Another site's page, or another machine, uses the daemon's pages")

SECRET = "a secret of two"
BODY = json.dumps({"repository": {"full_name": "acme/shop"}}).encode()
SIGNATURE = "sha256=" + hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
SIGNED = {"X-Hub-Signature-256": SIGNATURE, "Content-Type": "application/json"}
GUARDS = ("content-security-policy", "x-content-type-options", "referrer-policy", "x-frame-options", "cache-control")


class Visitor:
    """Requests over the real server; counts what they trigger."""

    def __init__(self, client: httpx.AsyncClient, woken: list[str], port: int) -> None:
        self.client, self.woken, self.port = client, woken, port

    async def wakes(self, **headers: str) -> int:
        named = {name.replace("_", "-"): value.replace("PORT", str(self.port)) for name, value in headers.items()}
        before = len(self.woken)
        answer = await self.client.post("/api/v1/wake", headers=named)
        assert (answer.status_code == 202) == (len(self.woken) > before)
        return answer.status_code


@asynccontextmanager
async def visiting(token: str = "", **more) -> AsyncIterator[Visitor]:
    woken: list[str] = []
    config = AppConfig(
        wake=woken.append,
        webhooks=webhooks(woken.append, github=SECRET),
        authenticator=Authenticator(token),
        **more,
    )
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield Visitor(client, woken, port)


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT"])
async def test_loopback_names_are_accepted(host):
    async with visiting() as visitor:
        assert await visitor.wakes(Host=host) == 202


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:PORT", "localhost", "localhost:1", "127.0.0.1", "127.0.0.1:1", "10.0.0.1:PORT",
        "localhost.evil.example:PORT", "evil.example@localhost:PORT", "localhost:PORT@evil.example", "localhost:PORT/x",
        "localhost.:PORT", "127.1:PORT", "2130706433:PORT", "0.0.0.0:PORT", "[::ffff:127.0.0.1]:PORT", "", ":PORT",
        "localhost:PORT,evil.example", "localhost:99999999", "[::1", "bound\u00e9.example:PORT",
    ],
)  # fmt: skip
async def test_another_host_name_is_refused(host):
    async with visiting() as visitor:
        named = host.replace("PORT", str(visitor.port)).encode()
        for ask in (visitor.client.post, visitor.client.get):
            assert (await ask("/api/v1/wake", headers=[(b"Host", named)])).status_code in {400, 403}
        assert (await visitor.client.get("/healthz", headers=[(b"Host", named)])).status_code in {400, 403}
        assert visitor.woken == []


async def test_two_host_headers_are_refused():
    async with visiting() as visitor:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        names = f"Host: 127.0.0.1:{visitor.port}\r\nHost: evil.example\r\n"
        writer.write(f"POST /api/v1/wake HTTP/1.1\r\n{names}Content-Length: 0\r\n\r\n".encode())
        assert (await reader.readline()).split()[1] in {b"400", b"403"}
        writer.close()
        await writer.wait_closed()
        assert visitor.woken == []


async def test_the_name_of_a_reverse_proxy_is_accepted_once_it_is_set():
    async with visiting() as visitor:
        assert await visitor.wakes(Host="bot.example.com") == 403
    async with visiting(hosts=("bot.example.com", "other.example:8443"), token="t") as visitor:
        let_in = {"Authorization": "Bearer t"}
        assert await visitor.wakes(Host="Bot.Example.com", Origin="https://bot.example.com", **let_in) == 202
        assert await visitor.wakes(Host="bot.example.com:443", Origin="https://bot.example.com", **let_in) == 202
        assert await visitor.wakes(Host="other.example:8443", **let_in) == 202
        assert await visitor.wakes(Host="other.example", **let_in) == 403
        assert await visitor.wakes(Host="sub.bot.example.com", **let_in) == 403
    async with visiting(hosts=("[2001:DB8::7]", "[2001:db8::8]:8443"), token="t") as visitor:
        assert await visitor.wakes(Host="[2001:db8::7]:443", **let_in) == 202
        assert await visitor.wakes(Host="[2001:db8::8]:8443", **let_in) == 202
        assert await visitor.wakes(Host="[2001:db8::8]", **let_in) == 403


async def test_with_a_wildcard_bind_addresses_are_accepted_and_names_are_refused():
    async with visiting(bind_host="0.0.0.0", token="t") as visitor:
        let_in = {"Authorization": "Bearer t"}
        assert await visitor.wakes(Host="192.0.2.7:PORT", **let_in) == 202
        assert await visitor.wakes(Host="evil.example:PORT", **let_in) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://evil.example:PORT"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost:PORT"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "file://"},
        {"Origin": "http://127.0.0.1:PORT.evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site", "Origin": "http://127.0.0.1:PORT"},
        {"Sec_Fetch_Site": "same-origin", "Origin": "https://evil.example"},
    ],
)
@pytest.mark.parametrize("token", ["", "t"])
async def test_a_request_from_a_page_of_another_site_is_refused_with_and_without_a_token(headers, token):
    async with visiting(token=token) as visitor:
        assert await visitor.wakes(Authorization="Bearer t", **headers) == 403


@pytest.mark.parametrize("headers", [{}, {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-origin"}])
async def test_our_own_page_and_clients_that_are_no_browser_are_accepted(headers):
    async with visiting() as visitor:
        assert await visitor.wakes(**headers) == 202
        assert await visitor.wakes(Origin="http://127.0.0.1:PORT", **headers) == 202


@pytest.mark.parametrize(
    "shown",
    [
        b"",
        b"Bearer",
        b"Bearer wrong",
        b"Bearer \xff\xfe",
        "Bearer geh\u00e9im".encode("latin-1"),
        b"Basic t",
    ],
)
async def test_a_wrong_token_with_any_characters_is_refused_without_a_crash(shown):
    async with visiting(token="gehéim") as visitor:
        answer = await visitor.client.post("/api/v1/wake", headers=[(b"Authorization", shown)])
        assert (answer.status_code, visitor.woken) == (401, [])
        right = await visitor.client.post("/api/v1/wake", headers=[(b"Authorization", "bearer gehéim".encode())])
        assert (right.status_code, visitor.woken) == (202, [""])


async def test_a_token_without_its_scheme_is_refused():
    async with visiting(token="t") as visitor:
        assert await visitor.wakes(Authorization="t") == 401


async def test_a_webhook_needs_its_signature_and_no_host_or_origin():
    async with visiting() as visitor:
        strange = {"Host": "hooks.example.com", "Origin": "https://github.example"}
        ask = visitor.client.post
        assert (await ask("/webhooks/github", content=BODY, headers={**SIGNED, **strange})).status_code == 202
        assert visitor.woken == ["acme/shop"]
        unsigned = {**SIGNED, "X-Hub-Signature-256": "sha256=\u00e9"}.items()
        headers = [(name.encode(), value.encode()) for name, value in unsigned]
        assert (await ask("/webhooks/github", content=BODY, headers=headers)).status_code == 401
        assert visitor.woken == ["acme/shop"]


async def test_a_get_request_wakes_nothing_at_any_path():
    async with visiting() as visitor:
        paths = [
            route.path
            for route in build_app(AppConfig(print, webhooks=webhooks(print, github=SECRET))).routes
            if isinstance(route, Route)
        ]
        assert len(paths) >= 4
        for method in ("GET", "HEAD", "OPTIONS"):
            for path in (*paths, "/webhooks/../api/v1/wake", "/webhooks/", "/nowhere"):
                answer = await visitor.client.request(method, path, headers={"X-HTTP-Method-Override": "POST"})
                assert answer.status_code in {200, 403, 404, 405}
        assert visitor.woken == []


async def test_every_response_has_the_security_headers():
    async with visiting() as visitor:
        ask = visitor.client.request
        for method, path, headers in (
            ("GET", "/healthz", {}), ("GET", "/nowhere", {}), ("GET", "/api/v1/wake", {}), ("POST", "/api/v1/wake", {}),
            ("POST", "/webhooks/github", {}), ("GET", "/healthz", {"Host": "evil.example"}),
        ):  # fmt: skip
            answer = await ask(method, path, headers=headers)
            assert not set(GUARDS) - set(answer.headers), path
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers


@pytest.mark.attack("T17", "A request with two lengths hides a second one from a proxy before the dashboard")
@pytest.mark.parametrize("path", ["/api/v1/wake", "/webhooks/github"])
async def test_a_request_with_two_lengths_is_refused_with_what_follows_it(path):
    async with visiting() as visitor:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        name = f"Host: 127.0.0.1:{visitor.port}\r\n"
        hidden = f"POST /api/v1/wake HTTP/1.1\r\n{name}Content-Length: 0\r\n\r\n"
        lengths = f"Content-Length: {len(hidden) + 5}\r\nTransfer-Encoding: chunked\r\n"
        writer.write(f"POST {path} HTTP/1.1\r\n{name}{lengths}\r\n0\r\n\r\n{hidden}".encode())
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        assert answer.count(b"HTTP/1.1 ") == 1
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert visitor.woken == []


_SMUGGLED = {
    "line feeds alone": "POST {path} HTTP/1.1\nHost: {host}\nContent-Length: 0\n\n",
    "one line feed alone": "POST {path} HTTP/1.1\r\nHost: {host}\nX: y\r\nContent-Length: 0\r\n\r\n",
    "the last line feed alone": "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\n",
    "a folded header": "POST {path} HTTP/1.1\r\nHost: {host}\r\nX: y\r\n Content-Length: 5\r\n\r\n",
    "a header folded by a tab": "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length:\r\n\t0\r\n\r\n",
    "a folded first header": "POST {path} HTTP/1.1\r\n Host: {host}\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.attack("T17", "Line feeds alone or folded headers hide a request from a proxy before the dashboard")
@pytest.mark.parametrize("kind", _SMUGGLED)
@pytest.mark.parametrize("before", ["", "GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"], ids=["first", "second"])
async def test_a_request_that_a_proxy_could_read_differently_is_refused(kind, before):
    async with visiting() as visitor:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        text = (before + _SMUGGLED[kind]).format(path="/webhooks/github", host=f"127.0.0.1:{visitor.port}")
        writer.write(f"{text}GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{visitor.port}\r\n\r\n".encode())
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        assert answer.count(b"HTTP/1.1 ") == 1 + bool(before)
        assert answer.rpartition(b"HTTP/1.1 ")[2].startswith(b"400 ")


@pytest.mark.attack("T17", "Line feeds alone or folded headers hide a request from a proxy before the dashboard")
@pytest.mark.parametrize("end", ["0\r\nA: b\n\n", "0\r\nA: b\r\n c\r\n\r\n", "x\r\n"])
async def test_a_body_that_a_proxy_could_read_differently_ends_the_connection(end):
    async with visiting() as visitor:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        head = f"Host: 127.0.0.1:{visitor.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(f"POST /webhooks/github HTTP/1.1\r\n{head}{end}GET /healthz HTTP/1.1\r\n{head}".encode())
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        assert answer == b""

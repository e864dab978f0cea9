"""The HTTP proxy of the operator's network: hosts and the model are reached through it, and its password stays out."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import h11
import httpx
import pytest

from bot.errors import BadSettings
from bot.sandbox.proxy.grant import Grant, ModelUpstream
from bot.sandbox.proxy.http_proxy import HttpProxy, parse_http_proxy
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from bot.sandbox.proxy.model import model_client
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.server import SandboxProxy
from tests.sandbox.fake_network import Sandbox, client_hello, serving
from tests.sandbox.fake_registry import Company

HOST = "pypi.test"
PASSWORD = "pr0xy%21pass"


@dataclass
class CompanyProxy:
    """Records what it was asked for, and connects everything to one server."""

    status: int = 200
    more: bytes = b""
    inside: tuple[str, int] = ("", 0)
    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def known(self) -> HttpProxy:
        found = parse_http_proxy(f"http://ana:{PASSWORD}@127.0.0.1:{self.port}", ".corp.test,direct.test")
        assert found
        return found

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            head = h11.Connection(h11.SERVER)
            head.receive_data(await reader.readuntil(b"\r\n\r\n"))
            request = head.next_event()
            sent = dict(request.headers)
            self.asked.append((request.target.decode(), sent.get(b"proxy-authorization", b"").decode()))
            writer.write(f"HTTP/1.1 {self.status} Fine\r\n\r\n".encode() + self.more)
            if self.status == 200 and self.inside[1]:
                far_reader, far_writer = await asyncio.open_connection(*self.inside)
                await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
            elif self.status == 200:
                await _copy(reader, writer)
        writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    target.close()


@contextlib.asynccontextmanager
async def company_proxy(**more) -> AsyncIterator[CompanyProxy]:
    made = CompanyProxy(**more)
    server = await asyncio.start_server(made.receive, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@contextlib.asynccontextmanager
async def confined(folder: Path, proxy: CompanyProxy, *hosts: str):
    async def resolve(host: str, _port: int) -> list[str]:
        raise AssertionError(host)

    network = Network(resolve, http_proxy=proxy.known)
    async with SandboxProxy(None, network=network).open(folder / "proxy", Grant("", frozenset(hosts))) as usage:
        yield Sandbox(folder / "proxy", usage)


async def test_a_host_is_reached_through_the_proxy_which_resolves_it(tmp_path):
    hello = client_hello(HOST)
    async with (
        company_proxy() as proxy,
        confined(tmp_path, proxy, HOST) as box,
        box.tunnel(f"{HOST}:443", hello) as (reader, _),
    ):
        assert await reader.readexactly(len(hello)) == hello

    assert proxy.asked == [(f"{HOST}:443", "Basic YW5hOnByMHh5IXBhc3M=")]


@pytest.mark.parametrize("target", ["evil.test:443", f"{HOST}:8443", "10.0.0.1:443"])
async def test_t8_the_proxy_is_asked_for_no_other_host(tmp_path, target):
    async with company_proxy() as proxy, confined(tmp_path, proxy, HOST) as box:
        assert b" 403 " in await box.connect(target)

    assert proxy.asked == []


async def test_t8_a_listed_address_is_checked_and_not_asked_of_the_proxy(tmp_path):
    async with company_proxy() as proxy, confined(tmp_path, proxy, "10.0.0.1") as box:
        assert b" 403 " in await box.connect("10.0.0.1:443")

    assert proxy.asked == []


async def test_t8_tls_for_another_host_is_refused_through_the_proxy(tmp_path):
    async with (
        company_proxy() as proxy,
        confined(tmp_path, proxy, HOST) as box,
        box.tunnel(f"{HOST}:443", client_hello("evil.test")) as (reader, _),
    ):
        assert await reader.read() == b""


@pytest.mark.parametrize(("status", "more"), [(407, b"<h1>pr0xy!pass</h1>"), (403, b""), (503, b""), (200, b"SSH-2.0")])
async def test_t6_a_refusal_of_the_proxy_is_reported_without_its_text(tmp_path, status, more):
    async with company_proxy(status=status, more=more) as proxy, confined(tmp_path, proxy, HOST) as box:
        answer = await box.connect(f"{HOST}:443")

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"pass" not in answer
    if status != 200:
        assert box.usage.refusals == (
            f"reach {HOST}:443 through the HTTP proxy of this network, which answers {status}",
        )


async def test_a_proxy_that_does_not_answer_is_reported(tmp_path):
    async with company_proxy() as proxy:
        pass
    async with confined(tmp_path, proxy, HOST) as box:
        assert b" 502 " in await box.connect(f"{HOST}:443")


@pytest.mark.parametrize("host", ["npm.corp.test", "corp.test", "direct.test", "localhost"])
def test_hosts_in_no_proxy_are_reached_without_it(host):
    proxy = parse_http_proxy("proxy.test:3128", ".corp.test,direct.test")

    assert proxy
    assert (proxy.host, proxy.port) == ("proxy.test", 3128)
    assert not proxy.covers(host)
    assert proxy.covers("pypi.test")


@pytest.mark.parametrize(
    "url", ["socks5://proxy.test:1080", "https://a:secret@proxy.test", "http://a:secret@proxy.test:x"]
)
def test_another_kind_of_proxy_is_refused_without_repeating_its_password(url):
    with pytest.raises(BadSettings, match="HTTPS_PROXY") as refused:
        parse_http_proxy(url, "")
    assert "secret" not in str(refused.value)


def test_no_variable_is_no_proxy():
    assert parse_http_proxy("", "") is None


def test_t6_the_password_is_not_in_the_text_of_the_proxy():
    assert PASSWORD not in repr(CompanyProxy(port=3128).known)


async def test_the_model_is_reached_through_the_proxy(tmp_path, monkeypatch):
    company = Company(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(company.ca_file))
    async with serving() as service:
        server = await asyncio.start_server(service.receive, "127.0.0.1", 0, ssl=company.server("model.test"))
        async with (
            company_proxy(inside=server.sockets[0].getsockname()) as proxy,
            model_client(ModelUpstream("https://model.test", {}), proxy.known) as client,
        ):
            assert (await client.post("/v1/messages", json={})).status_code == 200
        server.close()

    assert proxy.asked == [("model.test:443", "Basic YW5hOnByMHh5IXBhc3M=")]


@pytest.mark.parametrize("address", ["http://model.test", "https://direct.test", "https://localhost:8443"])
async def test_a_model_in_the_operators_network_is_reached_without_the_proxy(address):
    async with (
        company_proxy() as proxy,
        model_client(ModelUpstream(address.replace("model.test", "127.0.0.1:9"), {}), proxy.known) as client,
    ):
        with pytest.raises((httpx.ConnectError, ssl.SSLError)):
            await client.get("/")

    assert proxy.asked == []


@pytest.mark.parametrize("answers", [["10.0.0.7"], []])
async def test_t8_learning_asks_the_proxy_for_no_host_that_may_be_private(tmp_path, answers):
    """The proxy would reach it: a host that this machine does not know to be public is refused."""

    async def resolve(_host: str, _port: int) -> list[str]:
        return answers

    learned = LearnedHosts()
    async with company_proxy() as proxy:
        network = Network(resolve, http_proxy=proxy.known)
        grant = Grant("", frozenset(), learned=learned)
        async with SandboxProxy(None, network=network).open(tmp_path / "proxy", grant) as usage:
            answer = await Sandbox(tmp_path / "proxy", usage).connect("wiki.inside.test:443")
    assert b" 403 " in answer or b" 502 " in answer
    assert (proxy.asked, list(learned.reached)) == ([], [])
    assert list(learned.private) == (["wiki.inside.test"] if answers else [])

"""Registries: the proxy adds a token to downloads from exactly one host, and lets nothing else through."""

import asyncio
import contextlib
import json
import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.proxy.grant import Grant, SandboxUsage
from bot.sandbox.proxy.host_and_port import HostPort
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry import Registry
from bot.sandbox.proxy.registry_route import RegistryAccess, registry_access
from bot.sandbox.proxy.secret_echo import EchoGuard, SecretEchoed
from bot.sandbox.proxy.server import SandboxProxy
from tests.sandbox.fake_network import Internet, Sandbox, answer_of, client_hello
from tests.sandbox.fake_registry import HOST, PRIVATE, TOKEN, Company, registry

pytestmark = pytest.mark.attack("T6", "A program uses the token of a private registry for itself")

TARGET = f"{HOST}:443"


@dataclass
class Tool:
    """A package manager in the sandbox, which trusts the authority of its sandbox."""

    box: Sandbox
    access: RegistryAccess

    @property
    def usage(self) -> SandboxUsage:
        return self.box.usage

    @contextlib.asynccontextmanager
    async def connected(self, trusting: str | None = None, name: str = HOST):
        context = ssl.create_default_context(cadata=trusting or self.access.authority.certificate)
        async with self.box.tunnel(TARGET, b"") as (reader, writer):
            await writer.start_tls(context, server_hostname=name)
            yield reader, writer

    async def send(self, *requests: bytes) -> bytes:
        async with self.connected() as (reader, writer):
            received = b""
            for request in requests:
                writer.write(request)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(10):
                    while data := await reader.read(65536):
                        received += data
                        if received.count(b"HTTP/1.1") == len(requests) and received.endswith(END):
                            break
            return received

    async def get(self, target: str, *headers: str, method: str = "GET", host: str = HOST) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, "", ""]
        return await self.send("\r\n".join(lines).encode())


END = b"the end"


def echoing(heard) -> bytes:
    """Answers with what it got."""
    return answer_of(200, json.dumps([heard.method, heard.target, heard.headers]).encode() + END)


def quiet(_heard) -> bytes:
    return answer_of(200, END)


@contextlib.asynccontextmanager
async def confined(folder: Path, net: Internet, company: Company, *, trusting: bool = True, **more):
    known = Registry(HostPort(HOST, 443), TOKEN, **more)
    grant = Grant("", frozenset({HOST}), private_hosts=frozenset({HOST}))
    access = registry_access([known], grant, TrustedAuthorities(company.ca_file if trusting else None))
    proxy = SandboxProxy(None, network=Network(net.resolve, dial=net.dial))
    async with proxy.open(folder / "proxy", grant, registries=access) as usage:
        yield Tool(Sandbox(folder / "proxy", usage), access)


@contextlib.asynccontextmanager
async def scene(folder: Path, answer=quiet, **more):
    company = Company(folder)
    async with registry(company, answer) as server, confined(folder, server.net(), company, **more) as tool:
        yield server, tool


async def test_a_download_gets_the_token_and_the_sandbox_gets_the_answer(tmp_path):
    async with scene(tmp_path) as (server, tool):
        answer = await tool.get("/npm/left-pad?write=true")

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(END)
    assert server.heard[0].target == "/npm/left-pad?write=true"
    assert server.heard[0].header("authorization") == [f"Bearer {TOKEN}"]
    assert server.heard[0].header("host") == [HOST]
    assert tool.usage.refusals == ()


@pytest.mark.parametrize(
    ("auth", "token", "name", "value"),
    [
        ("basic", "me:secret", "authorization", "Basic bWU6c2VjcmV0"),
        ("X-Api-Key", TOKEN, "x-api-key", TOKEN),
    ],
)
def test_the_token_is_sent_as_the_operator_says(auth, token, name, value):
    known = Registry(HostPort(HOST, 443), token, auth)

    assert [(key.decode(), text.decode()) for key, text in known.credential_for("/x")] == [(name, value)]


async def test_several_downloads_use_one_connection(tmp_path):
    async with scene(tmp_path) as (server, tool):
        one = f"GET /a HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
        answers = await tool.send(one, one, one)

    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert len(server.heard) == 3


async def test_a_connection_that_the_registry_has_closed_is_made_again(tmp_path):
    def closing(_heard) -> bytes:
        return answer_of(200, END, "connection: close")

    async with scene(tmp_path, closing) as (server, tool):
        one = f"GET /a HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
        answers = await tool.send(one, one)

    assert answers.count(b"HTTP/1.1 200 ") == 2
    assert len(server.heard) == 2


async def test_t6_what_the_sandbox_sends_as_a_credential_is_dropped(tmp_path):
    async with scene(tmp_path) as (server, tool):
        await tool.get(
            "/a", "Authorization: Bearer mine", "Cookie: session=1", "X-Original-URL: /admin", "Range: bytes=0-9"
        )

    assert server.heard[0].names == {"host", "accept-encoding", "authorization"}
    assert server.heard[0].header("authorization") == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_t8_nothing_is_published(tmp_path, method):
    async with scene(tmp_path) as (server, tool):
        answer = await tool.get("/npm/left-pad", "Content-Length: 0", method=method)

    assert answer.startswith(b"HTTP/1.1 405 ")
    assert server.heard == []
    assert tool.usage.refusals == (f"send {method} to {TARGET}",)


@pytest.mark.parametrize(
    "host", ["evil.test", f"{HOST}:8443", f"{HOST}.evil.test", f"evil.test@{HOST}", f"{HOST}, evil.test", "10.20.30.40"]
)
async def test_t8_a_request_for_another_host_is_refused(tmp_path, host):
    async with scene(tmp_path) as (server, tool):
        answer = await tool.get("/npm/left-pad", host=host)

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert server.heard == []


@pytest.mark.parametrize("target", ["https://evil.test/x", f"https://{HOST}/x", "//evil.test/x", "*", "evil.test:443"])
async def test_t8_an_absolute_address_is_refused(tmp_path, target):
    async with scene(tmp_path) as (server, tool):
        answer = await tool.get(target)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert server.heard == []


SMUGGLED = f"GET /admin HTTP/1.1\r\nHost: {HOST}\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked"],
        [f"Content-Length: {len(SMUGGLED)}"],
        ["Content-Length: 0", "Content-Length: 5"],
        ["Transfer-Encoding: xchunked"],
        [f"Host: {HOST}"],
        ["Host: evil.test"],
        ["Content-Length : 5"],
    ],
    ids=" ".join,
)
async def test_t8_a_request_with_a_body_or_two_lengths_reaches_nothing(tmp_path, headers):
    async with scene(tmp_path) as (server, tool):
        lines = ["GET /npm/left-pad HTTP/1.1", f"Host: {HOST}", *headers, "", SMUGGLED]
        answer = await tool.send("\r\n".join(lines).encode())

    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
    assert server.heard == []


@pytest.mark.parametrize(
    "target",
    [
        "/npm/../admin",
        "/npm/./x",
        "/npm/%2e%2e/admin",
        "/npm/..%2fadmin",
        "/npm/%252e%252e/admin",
        "/npm/..;/admin",
        "/npm/..\\admin",
        "/npm/%5c..%5cadmin",
        "/npm/%25252525252e%25252525252e/admin",
    ],
)
async def test_t8_a_path_does_not_lead_out_of_the_registrys_own(tmp_path, target):
    async with scene(tmp_path, path="/npm/") as (server, tool):
        answer = await tool.get(target)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert server.heard == []


@pytest.mark.parametrize("target", ["/admin", "/npmx/left-pad", "/?/npm/"])
async def test_t6_requests_outside_of_its_path_carry_no_token(tmp_path, target):
    async with scene(tmp_path, path="/npm/") as (server, tool):
        await tool.get(target)
        await tool.get("/npm/@corp%2fwords")

    assert server.heard[0].header("authorization") == []
    assert server.heard[1].header("authorization") == [f"Bearer {TOKEN}"]


async def test_t6_a_redirect_to_another_host_is_passed_on_and_not_followed(tmp_path):
    def redirecting(_heard) -> bytes:
        return answer_of(302, END, "location: https://storage.evil.test/x", "set-cookie: session=1")

    async with scene(tmp_path, redirecting) as (server, tool):
        answer = await tool.get("/npm/left-pad")

    assert b"location: https://storage.evil.test/x" in answer.lower()
    assert b"cookie" not in answer.lower()
    assert TOKEN.encode() not in answer
    assert len(server.heard) == 1


async def test_t6_an_error_page_with_the_token_does_not_reach_the_sandbox(tmp_path):
    def failing(heard) -> bytes:
        return answer_of(403, f"not allowed: {heard.headers}".encode(), f"x-checksum-a: {TOKEN}")

    async with scene(tmp_path, failing) as (_, tool):
        answer = await tool.get("/npm/left-pad")

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert f"{TARGET} answers 403.".encode() in answer
    assert TOKEN.encode() not in answer
    assert tool.usage.refusals == (f"download from {TARGET}, which answers 403 to its token",)


@pytest.mark.parametrize("padding", [0, 65_536 - len(TOKEN) // 2, 200_000])
async def test_t6_an_answer_that_repeats_the_token_is_cut_off_before_it(tmp_path, padding):
    async with scene(tmp_path, lambda heard: answer_of(200, b"x" * padding + str(heard.headers).encode())) as (_, tool):
        answer = await tool.get("/echo")

    assert TOKEN[:6].encode() not in answer
    assert tool.usage.refusals == (f"download the token of {TARGET}",)


async def test_t6_a_header_that_repeats_the_token_does_not_reach_the_sandbox(tmp_path):
    async with scene(tmp_path, lambda _: answer_of(302, END, f"location: https://a.test/?{TOKEN}")) as (_, tool):
        assert await tool.get("/echo") == b""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_an_answer_is_passed_on_unchanged_in_pieces_of_any_size(size):
    text = b"a secret is not here: secre, ecret, " * 10
    guard = EchoGuard([b"secret!", b"other"])
    passed = b"".join(guard.feed(text[at : at + size]) for at in range(0, len(text), size)) + guard.finish()

    assert passed == text
    with pytest.raises(SecretEchoed):
        EchoGuard([b"secret"]).feed(text)


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_t6_a_secret_in_several_pieces_is_found_before_its_first_letter_has_passed(size):
    guard, text, passed = EchoGuard([b"secret"]), b"here: secret", b""
    with pytest.raises(SecretEchoed):
        for at in range(0, len(text), size):
            passed += guard.feed(text[at : at + size])
    assert b"here: ".startswith(passed)


async def test_t6_the_token_is_not_sent_to_a_server_with_an_unknown_authority(tmp_path):
    async with scene(tmp_path, trusting=False) as (server, tool):
        answer = await tool.get("/npm/left-pad")

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert server.heard == []
    assert f"download from {TARGET}, whose certificate is not trusted" in tool.usage.refusals[0]


async def test_t6_the_token_is_not_sent_to_a_server_with_another_name(tmp_path):
    company = Company(tmp_path)
    async with (
        registry(company, quiet, name="other.corp.test") as server,
        confined(tmp_path, server.net(), company) as tool,
    ):
        answer = await tool.get("/npm/left-pad")

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert server.heard == []


async def test_t8_tls_for_another_host_is_refused_in_a_tunnel_to_a_registry(tmp_path):
    async with (
        scene(tmp_path) as (server, tool),
        tool.box.tunnel(TARGET, client_hello("evil.test")) as (reader, _),
    ):
        assert await reader.read() == b""

    assert server.heard == []
    assert tool.usage.refusals == (f"reach evil.test through a connection to {TARGET}",)


async def test_t8_the_certificate_of_the_proxy_is_worth_nothing_elsewhere(tmp_path):
    company = Company(tmp_path)
    async with registry(company) as server, confined(tmp_path, server.net(), company) as tool:
        for trusting in (company.ca_file.read_text(), registry_access_for(company).authority.certificate):
            with pytest.raises(ssl.SSLCertVerificationError):  # neither the host nor another sandbox trusts it
                async with tool.connected(trusting):
                    pass
        with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
            await answered_by(tool.access, "other.corp.test")


def registry_access_for(company: Company) -> RegistryAccess:
    grant = Grant("", frozenset({HOST}))
    access = registry_access([Registry(HostPort(HOST, 443), TOKEN)], grant, TrustedAuthorities(company.ca_file))
    assert access
    return access


async def answered_by(access: RegistryAccess, name: str) -> None:
    """Connects to a server that uses the certificate of the proxy for another name."""
    server = await asyncio.start_server(
        lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=access.authority.contexts[HOST]
    )
    context = ssl.create_default_context(cadata=access.authority.certificate)
    try:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=context, server_hostname=name)
        writer.close()
    finally:
        server.close()


async def test_t8_a_registry_that_is_not_granted_is_not_reached(tmp_path):
    company = Company(tmp_path)
    async with registry(company) as server:
        net = server.net()
        grant = Grant("", private_hosts=frozenset({HOST}))
        assert registry_access([Registry(HostPort(HOST, 443), TOKEN)], grant, TrustedAuthorities()) is None
        proxy = SandboxProxy(None, network=Network(net.resolve, dial=net.dial))
        async with proxy.open(tmp_path / "proxy", grant) as usage:
            assert b" 403 " in await Sandbox(tmp_path / "proxy", usage).connect(TARGET)

    assert net.resolved == net.dialled == []


async def test_t8_a_registry_is_dialled_at_the_address_that_was_checked(tmp_path):
    company = Company(tmp_path)
    async with registry(company, quiet) as server:
        net = server.net()
        net.names[HOST] = [[PRIVATE], ["169.254.169.254"], ["169.254.169.254"]]
        async with confined(tmp_path, net, company) as tool:
            assert END in await tool.get("/a")

    assert net.dialled == [(PRIVATE, 443)]
    assert net.resolved == [HOST]


def test_the_token_is_not_in_the_text_of_any_object(tmp_path):
    assert TOKEN not in repr(registry_access_for(Company(tmp_path)))

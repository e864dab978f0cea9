"""The proxy itself: it keeps running and responds correctly to any hostile input."""

import asyncio
import contextlib
import random

import httpx
import pytest

from bot.sandbox.proxy.grant import Grant, SandboxUsage
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.public_addresses import is_public
from bot.sandbox.proxy.server import SandboxProxy
from tests.sandbox.fake_network import TOKEN, Sandbox, sandbox, serving


async def test_the_socket_exists_while_the_proxy_is_open_and_every_user_may_connect(tmp_path):
    async with sandbox(tmp_path) as box:
        assert box.socket.stat().st_mode & 0o777 == 0o666
        async with box.client() as client:
            assert (await client.head("/")).status_code == 200

    assert not box.socket.exists()


async def test_an_error_inside_the_proxy_context_is_raised_unchanged(tmp_path):
    with pytest.raises(LookupError):
        async with SandboxProxy(None).open(tmp_path / "proxy", Grant("")):
            raise LookupError


@pytest.mark.expects_errors
async def test_a_bug_in_one_connection_affects_no_other_and_logs_only_its_class(tmp_path, caplog):
    async def broken(host, _port):
        raise LookupError(host)

    async with SandboxProxy(None, network=Network(broken)).open(
        tmp_path / "proxy", Grant("", frozenset({"a.test"}))
    ) as usage:
        box = Sandbox(tmp_path / "proxy", usage)
        assert await box.raw(b"CONNECT a.test:443 HTTP/1.1\r\nHost: g\r\n\r\n") == b""
        assert (await box.raw(b"HEAD / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 200")

    assert caplog.messages == ["proxy connection failed error=LookupError"]


async def test_closing_the_proxy_cuts_open_requests(tmp_path):
    asked = asyncio.Event()

    async def play(_heard, _write):
        asked.set()
        await asyncio.Event().wait()

    async with serving(play) as service, asyncio.TaskGroup() as group:
        async with sandbox(tmp_path, service) as box:
            asking_on = group.create_task(_asked(box))
            await asked.wait()
        assert isinstance(await asking_on, httpx.TransportError)
        await asyncio.wait_for(service.hung_up.wait(), 5)


async def _asked(box) -> object:
    try:
        return await box.ask()
    except httpx.TransportError as exc:
        return exc


POST = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\0" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\nHost: g\r\n\r\n",
        b"HEAD /\r\n\r\n",
        b"HEAD / HTTP/1.1\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: g\r\nX: a\rY: b\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: g\r\nX y: b\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: g\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HEAD /" + b"a" * 100_000,
        b"HEAD / HTTP/1.1\r\nHost: g\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        POST.encode() + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /v1/files",
        POST.encode() + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        POST.encode() + b"Content-Length: -1\r\n\r\n",
        POST.encode() + b"Content-Length: 1e9\r\n\r\n",
        POST.encode() + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST.encode() + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        POST.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n",
        b"CONNECT  HTTP/1.1\r\nHost: g\r\n\r\n",
        b"CONNECT a.test:443 HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\n\r\nabc",
    ],
    ids=range(20),
)
async def test_invalid_http_is_refused_and_not_forwarded(tmp_path, sent):
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(sent)
        assert (await box.ask()).status_code == 200

    assert answer.split(b" ")[1][:1] in {b"4", b"5"}
    assert len(service.heard) == 1
    assert box.usage.refusals


async def test_a_request_hidden_in_a_body_stays_a_body(tmp_path):
    hidden = b"POST /v1/messages/batches HTTP/1.1\r\nHost: g\r\n\r\n"
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(POST.encode() + b"Content-Length: %d\r\n\r\n" % len(hidden) + hidden)

    assert answer.startswith(b"HTTP/1.1 400")
    assert service.heard == []


async def test_random_input_neither_stops_the_proxy_nor_appears_in_the_log(tmp_path, caplog):
    dice = random.Random(4)
    words = [b"POST /v1/messages HTTP/1.1\r\n", b"CONNECT ", b"a.test:443 ", b"HTTP/1.1\r\n", b"Host: g\r\n", b"\r\n",
             b"x-api-key: pass-1\r\n", b"Content-Length: 4\r\n", b"Transfer-Encoding: chunked\r\n", b"{}", b"\xff\0", b"0\r\n\r\n"]  # fmt: skip  # noqa: E501
    async with serving() as service, sandbox(tmp_path, service, hosts=["b.test"]) as box:
        for _ in range(150):
            async with box.connection() as (reader, writer):
                with contextlib.suppress(OSError):
                    writer.write(b"".join(dice.choices(words, k=dice.randrange(1, 12))))
                    writer.write_eof()
                    await reader.read()
        assert (await box.ask()).status_code == 200

    assert "pass-1" not in caplog.text
    assert len(box.usage.refusals) <= 21


async def test_silent_connections_do_not_block_others_for_ever(tmp_path):
    async with serving() as service, sandbox(tmp_path, service) as box:
        opened = [await asyncio.open_unix_connection(str(box.socket)) for _ in range(260)]
        try:
            async with asyncio.timeout(5):
                assert [await reader.read() for reader, _ in opened[256:]] == [b""] * 4
        finally:
            for _, writer in opened:
                writer.close()
        async with asyncio.timeout(5):
            while not await box.raw(b"GET / HTTP/1.1\r\nHost: g\r\n\r\n"):
                await asyncio.sleep(0)

    assert box.usage.refusals[0].startswith("hold more than 256 connections to the proxy")


# Reported refusals


def test_refusals_are_counted_by_kind_and_limited_in_number():
    usage = SandboxUsage()
    for _ in range(3):
        usage.record_refusal("reach evil.test:443")
    for number in range(25):
        usage.record_refusal(f"reach {number}.test:443")

    assert usage.refusals[0] == "reach evil.test:443 (3 times)"
    assert len(usage.refusals) == 21
    assert usage.refusals[-1] == "and 6 more"


def test_each_refusal_is_one_harmless_line():
    usage = SandboxUsage()
    usage.record_refusal("reach \x1b[31mevil\x1b[0m\r\n::error::\u202ex\U000e0041" + "a" * 5_000)

    (told,) = usage.refusals
    assert told.startswith("reach evil ::error::xaaa")
    assert len(told) == 101


async def test_a_target_with_unusual_characters_is_escaped(tmp_path):
    async with sandbox(tmp_path) as box:
        await box.raw(b"CONNECT user:pass@evil.test:443 HTTP/1.1\r\nHost: g\r\n\r\n")
        await box.raw(b"CONNECT e\xc2\x9bvil:443 HTTP/1.1\r\nHost: g\r\n\r\n")

    assert box.usage.refusals == ("reach user:pass@evil.test:443", "send invalid HTTP")


# Addresses


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_addresses_of_the_internet_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "233.252.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "168.63.129.16", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1",
        "2002:a9fe:a9fe::1", "2001::1", "2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
        "fec0::1", "ff02::1", "100::1", "4000::1", "2606:4700::1111%1", "", "localhost", "127.1", "2130706433",
        "0x7f.0.0.1", "0177.0.0.1", "93.184.215.14 ", "8.8.8.8.",
    ],
)  # fmt: skip
def test_other_addresses_are_not_public(address):
    assert not is_public(address)

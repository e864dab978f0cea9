"""T8, T9: the proxy of a sandbox reaches only listed hosts and the model, for any request.

Other tests show that the socket is the only way out. One server of the test stands for the internet, private networks
and the metadata address, behind a dialler of the test: if a guard failed, the test would see the connection, and no
packet would leave the machine.
"""

import asyncio
import contextlib
import json
import socket

import httpx
import pytest

from bot.sandbox.proxy.grant import UsedUp
from tests.sandbox.fake_network import (
    KEY,
    PUBLIC,
    TOKEN,
    asking,
    client_hello,
    internet,
    sandbox,
    serving,
    usage,
    whole,
)

pytestmark = pytest.mark.attack("T8", "A program in the sandbox sends something to another host than the listed ones")

HOST = "allowed.test"
METADATA = "169.254.169.254"


@contextlib.asynccontextmanager
async def confined(folder, *hosts: str, service=None, **names):
    async with internet(**names) as net, sandbox(folder, service, net, hosts=hosts) as box:
        yield net, box


async def is_shut(net, box, target: str) -> bool:
    """Checks that the target is refused and reported, and that no host was contacted."""
    answer = await box.connect(target)
    return answer.split()[1] in {b"400", b"403"} and not net.dialled and bool(box.usage.refusals)


async def test_t8_a_listed_host_is_reached(tmp_path):
    async with (
        confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box),
        box.tunnel(f"{HOST}:443", client_hello(HOST)) as (reader, _),
    ):
        assert await reader.read(1)

    assert net.dialled == [(PUBLIC, 443)]
    assert box.usage.refusals == ()


# A1-A12, as requests to a proxy


async def test_t8_a1_an_unlisted_host_is_refused_and_reported(tmp_path):
    async with confined(tmp_path, HOST, evil_test=[[PUBLIC]]) as (net, box):
        assert await is_shut(net, box, "evil.test:443")

    assert net.resolved == []
    assert box.usage.refusals == ("reach evil.test:443",)


@pytest.mark.parametrize("target", [f"{PUBLIC}:443", "8.8.8.8:53", "1.1.1.1:853", "[2606:4700::1111]:443"])
async def test_t8_a2_an_ip_address_is_refused_in_both_families(tmp_path, target):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        assert await is_shut(net, box, target)


@pytest.mark.parametrize("target", ["8.8.8.8:53", "allowed.test:53", "dns.test:853", "c2VjcmV0.evil.test:443"])
async def test_t8_a3_only_listed_names_are_ever_resolved(tmp_path, target):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        assert await is_shut(net, box, target)

    assert net.resolved == []


@pytest.mark.parametrize("port", [22, 25, 53, 80, 8080, 8443, 65535])
async def test_t8_a4_another_port_of_a_listed_host_is_refused(tmp_path, port):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        assert await is_shut(net, box, f"{HOST}:{port}")


@pytest.mark.parametrize("named", ["evil.test", "sub.allowed.test", "allowed.test.evil.test", "notallowed.test", None])
async def test_t8_a5_a_tunnel_for_one_host_does_not_carry_tls_for_another(tmp_path, named):
    async with (
        confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box),
        box.tunnel(f"{HOST}:443", client_hello(named)) as (reader, _),
    ):
        assert await reader.read() == b""

    assert bytes(net.received) == b""
    assert "through a connection to allowed.test:443" in box.usage.refusals[0]


async def test_t8_a5_a_wrong_server_name_is_refused_if_sent_with_the_request_or_byte_by_byte(tmp_path):
    evil, good = client_hello("evil.test"), client_hello(HOST)
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        await box.raw(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode() + evil)
        async with box.tunnel(f"{HOST}:443", b"") as (reader, writer):
            for byte in evil:
                writer.write(bytes([byte]))
                await writer.drain()
            assert await reader.read() == b""
        assert bytes(net.received) == b""
        async with box.tunnel(f"{HOST}:443", good[:7]) as (reader, writer):
            writer.write(good[7:])
            assert await reader.readexactly(len(good)) == good


async def test_t8_a5_a_host_header_does_not_change_the_target(tmp_path):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        answer = await box.raw(b"CONNECT evil.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 403")
    assert net.dialled == []


@pytest.mark.parametrize(
    "opening", [b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"SSH-2.0-x\r\n", b"\x05\x01\x00" * 9]
)
async def test_t8_a6_a_tunnel_carries_only_tls(tmp_path, opening):
    async with (
        confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box),
        box.tunnel(f"{HOST}:443", opening) as (reader, _),
    ):
        assert await reader.read() == b""

    assert bytes(net.received) == b""
    assert box.usage.refusals == ("use a protocol other than TLS with allowed.test:443",)


async def test_t8_a7_a_redirect_to_another_host_is_not_followed(tmp_path):
    async def play(_heard, write):
        await write(b"HTTP/1.1 302 Found\r\nlocation: https://evil.test/\r\ncontent-length: 0\r\n\r\n")

    async with serving(play) as service, confined(tmp_path, HOST, service=service) as (net, box):
        answer = await box.ask()
        assert "location" not in answer.headers
        assert await is_shut(net, box, "evil.test:443")

    assert len(service.heard) == 1


@pytest.mark.parametrize(
    "target", [f"{METADATA}:80", f"{METADATA}:443", "metadata.google.internal:443", "[fd00:ec2::254]:80"]
)
async def test_t8_a8_the_metadata_address_is_refused(tmp_path, target):
    async with confined(tmp_path, HOST) as (net, box):
        assert await is_shut(net, box, target)


INSIDE = [
    METADATA, "127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "224.0.0.1",
    "255.255.255.255", "192.0.0.192", "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%lo", "fd00:ec2::254", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
async def test_t8_a9_a_listed_name_with_any_internal_address_is_refused(tmp_path, address):
    async with confined(tmp_path, HOST, allowed_test=[[address], [PUBLIC, address], [address, PUBLIC]]) as (net, box):
        for _ in range(3):
            assert await is_shut(net, box, f"{HOST}:443")

    assert box.usage.refusals == ("reach allowed.test:443, which is not on the public internet (3 times)",)


@pytest.mark.parametrize("address", ["127.0.0.1", METADATA, "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])
async def test_t8_a9_a_listed_internal_address_is_refused(tmp_path, address):
    async with confined(tmp_path, address) as (net, box):
        assert await is_shut(net, box, f"[{address}]:443" if ":" in address else f"{address}:443")


async def test_t8_a10_a_name_is_dialled_at_the_address_that_was_checked(tmp_path):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC], ["127.0.0.1"]]) as (net, box):
        assert b" 200 " in await box.connect(f"{HOST}:443")
        assert net.resolved == [HOST]
        assert b" 403 " in await box.connect(f"{HOST}:443")

    assert net.dialled == [(PUBLIC, 443)]


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.0.1.", "0", "017700000001", "2852039166",
        "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::1%25lo]", "[::1]",
        "localhost", "LOCALHOST.", "localhost.localdomain", "ip6-localhost",
    ],
)  # fmt: skip
async def test_t8_a11_an_internal_address_is_refused_in_every_spelling(tmp_path, host):
    bare = host.strip("[]")
    async with confined(tmp_path, HOST) as (net, box):
        assert await is_shut(net, box, f"{host}:443")
    again = tmp_path / "listed"
    again.mkdir()
    async with confined(again, bare) as (net, box):
        net.names = {bare.lower().removesuffix("."): [["127.0.0.1"]]}
        assert await is_shut(net, box, f"{host}:443")


@pytest.mark.parametrize(
    "target",
    [
        "allowed.test@evil.test:443", "evil.test:443@allowed.test:443", "allowed.test:443@evil.test",
        "u:p@allowed.test:443",
        "allowed.test:443/../evil.test", "allowed.test..:443", ".allowed.test:443", "allowed.test", "allowed.test:",
        "allowed.test:0", "allowed.test:65979", "allowed.test:443:443", "allowed.test:+443", "allowed.test:4_43",
        "allowed.test#evil.test:443", "allowed.test%00.evil.test:443", "allowed.test\\.evil.test:443", "*.test:443",
        "https://allowed.test:443", "evil.allowed.test:443", "allowed.test.evil.test:443", ":443", "[]:443",
        "[allowed.test]:443", "xn--allowed-.test:443", "*:443",
    ],
)  # fmt: skip
async def test_t8_a12_a_name_similar_to_a_listed_host_is_refused(tmp_path, target):
    names = {name: [[PUBLIC]] for name in ("allowed.test", "evil.test", "evil.allowed.test")}
    async with confined(tmp_path, HOST) as (net, box):
        net.names = names
        assert await is_shut(net, box, target)


@pytest.mark.parametrize("target", ["allowed.test:٤٤٣", "аllowed.test:443", "allowed。test:443", "ａllowed.test:443"])
async def test_t8_a12_homoglyphs_of_a_listed_host_are_refused(tmp_path, target):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        answer = await box.raw(f"CONNECT {target} HTTP/1.1\r\nHost: g\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400")
    assert net.dialled == []


# Other ways to use a proxy


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize(
    "target", ["http://allowed.test/", f"http://{METADATA}/latest/meta-data/", "ftp://allowed.test/"]
)
async def test_t8_unencrypted_requests_are_refused(tmp_path, method, target):
    sent = f"{method} {target} HTTP/1.1\r\nHost: allowed.test\r\nProxy-Authorization: Bearer {TOKEN}\r\n\r\n"
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]]) as (net, box):
        answer = await box.raw(sent.encode())

    assert answer.startswith(b"HTTP/1.1 403")
    assert (net.resolved, net.dialled) == ([], [])
    assert box.usage.refusals == (f"reach {target}",)


async def test_t8_the_daemons_own_port_is_unreachable_by_any_name(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as ours:
        ours.settimeout(0)
        port = ours.getsockname()[1]
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]", "me.test")]
        async with sandbox(tmp_path, hosts=hosts[:3]) as box:  # with the machine's own names, and a real dialler
            for host in hosts:
                assert b" 403 " in await box.connect(host)
            for line in (f"GET http://127.0.0.1:{port}/ HTTP/1.1", "GET /status HTTP/1.1"):
                assert b" 403 " in await box.raw(f"{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        with pytest.raises(BlockingIOError):
            ours.accept()


@pytest.mark.parametrize(
    "lines",
    [
        "CONNECT allowed.test:443\tevil.test:443 HTTP/1.1",
        "CONNECT allowed.test:443 evil.test:443 HTTP/1.1",
        "CONNECT allowed.test:443\rCONNECT evil.test:443 HTTP/1.1",
        "CONNECT evil.test:443 HTTP/1.1\r\nX: y\rHost: allowed.test:443",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: a\r\n b",
        "CONNECT evil.test:443 HTTP/1.1\nHost: allowed.test:443\n",
    ],
)
async def test_t8_line_breaks_in_a_request_line_are_refused(tmp_path, lines):
    async with confined(tmp_path, HOST, allowed_test=[[PUBLIC]], evil_test=[[PUBLIC]]) as (net, box):
        answer = await box.raw(lines.encode() + b"\r\nHost: g\r\n\r\n")

    assert answer.split()[1] in {b"400", b"403"}
    assert net.dialled == []


SMUGGLED = b"POST /v1/files HTTP/1.1\r\nHost: g\r\nx-api-key: pass-1\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 6\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 6",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\x0bchunked",
        "Content-Length: 6\r\nContent-Length: 0",
        "Content-Length: 6, 0",
        "Content-Length: +6",
        "Content-Length: 0x6",
    ],
)
async def test_t9_no_request_is_smuggled_to_the_model_inside_another(tmp_path, headers):
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\n{headers}\r\n\r\n".encode()
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(head + b"0\r\n\r\nX" + SMUGGLED)

    assert answer.split()[1] in {b"400", b"501"}
    assert service.heard == []


async def test_t9_a_request_with_two_lengths_is_refused_even_if_one_is_right(tmp_path):
    body = json.dumps(asking()).encode()
    lengths = f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n\r\n"
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\n{lengths}".encode()
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    assert answer.split()[1] == b"400"
    assert service.heard == []


async def test_t9_a_pipelined_request_does_not_reach_the_model(tmp_path):
    body = json.dumps(asking()).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(head.encode() + body + SMUGGLED)

    assert (answer.count(b" 200 "), answer.count(b"HTTP/1.1 403")) == (1, 1)
    assert [heard.target for heard in service.heard] == ["/v1/messages"]


@pytest.mark.parametrize("name", ["x-forwarded-for", "forwarded", "x-anthropic-admin", "anthropic-organization", "via"])
async def test_t9_unknown_headers_do_not_go_to_the_model(tmp_path, name):
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        await client.post("/v1/messages", json=asking(), headers={name: "x", "connection": f"x-api-key, {name}"})

    assert name not in service.heard[0].names
    assert service.heard[0].header("x-api-key") == [KEY]


async def test_t9_the_key_is_in_no_response_to_the_sandbox(tmp_path):
    async def play(_heard, write):
        await write(whole(usage=usage()))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        heard = [await box.raw(f"{line}\r\nHost: g\r\nConnection: close\r\n\r\n".encode()) for line in (
            "HEAD / HTTP/1.1", "GET / HTTP/1.1", "TRACE / HTTP/1.1", "GET /v1/messages HTTP/1.1",
            "CONNECT x:443 HTTP/1.1",
        )]  # fmt: skip
        answer = await box.ask()

    told = b"".join(heard).decode() + str(answer.headers) + answer.text + repr(box.usage.refusals)
    assert KEY not in told


async def test_t9_the_token_of_another_run_is_refused_for_models_and_tunnels(tmp_path):
    async with serving() as service, confined(tmp_path, HOST, service=service, allowed_test=[[PUBLIC]]) as (net, box):
        async with box.client(**{"x-api-key": "pass-2"}) as client:
            assert (await client.post("/v1/messages", json=asking())).status_code == 403
        sent = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: g\r\nProxy-Authorization: Basic eDpwYXNzLTI=\r\n\r\n"
        assert (await box.raw(sent.encode())).startswith(b"HTTP/1.1 403")
        ours = sent.replace("eDpwYXNzLTI=", "eDpwYXNzLTE=")
        async with box.connection() as (reader, writer):
            writer.write(ours.encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")

    assert service.heard == []
    assert len(net.dialled) == 1


async def test_t9_a_token_limit_applies_to_parallel_requests_too(tmp_path):
    async def play(_heard, write):
        await asyncio.sleep(0)
        await write(whole(usage=usage(10, 1_000)))

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=3_000) as box:
        answers: list[httpx.Response] = await asyncio.gather(*(box.ask(max_tokens=1_000) for _ in range(20)))

    assert sum(answer.status_code == 200 for answer in answers) == 3
    assert box.usage.used_up is UsedUp.TOKENS

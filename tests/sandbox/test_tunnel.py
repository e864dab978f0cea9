"""Tunnels to listed hosts: bytes both ways, and TLS to the named host."""

import asyncio
import datetime as dt
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.sandbox.proxy.tls_hello import NotTls, server_name
from tests.sandbox.fake_network import PUBLIC, client_hello, internet, sandbox

HOST = "pypi.test"


@pytest.fixture
def tls(tmp_path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    today = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(today).not_valid_after(today + dt.timedelta(1))
    certificate = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False).sign(
        key, hashes.SHA256()
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "pem").write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    return context


async def test_a_real_tls_connection_passes_end_to_end(tmp_path, tls):
    trusting = ssl.create_default_context(cafile=str(tmp_path / "pem"))
    async with (
        internet(tls, pypi_test=[[PUBLIC]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST]) as box,
        box.tunnel(f"{HOST}:443", b"") as (reader, writer),
    ):
        await writer.start_tls(trusting, server_hostname=HOST)
        writer.write(b"hello " * 50_000)
        assert await reader.readexactly(300_000) == b"hello " * 50_000

    assert net.dialled == [(PUBLIC, 443)]
    assert box.usage.refusals == ()


async def test_one_side_may_finish_before_the_other(tmp_path):
    hello = client_hello(HOST)
    async with (
        internet(pypi_test=[[PUBLIC]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST]) as box,
        box.tunnel(f"{HOST}:443", hello) as (reader, writer),
    ):
        assert await reader.readexactly(len(hello)) == hello
        writer.write_eof()
        assert await reader.read() == b"bye"


@pytest.mark.parametrize("listed", ["pypi.test", "PyPI.test", "pypi.test.", "pypi.test:443"])
@pytest.mark.parametrize("asked", ["pypi.test:443", "PYPI.TEST:443", "pypi.test.:443", "pypi.test:0443"])
async def test_spellings_of_a_host_are_equal(tmp_path, listed, asked):
    async with internet(pypi_test=[[PUBLIC]]) as net, sandbox(tmp_path, net=net, hosts=[listed]) as box:
        assert b" 200 " in await box.connect(asked)


async def test_an_international_host_name_is_matched_by_its_punycode_name(tmp_path):
    async with internet() as net, sandbox(tmp_path, net=net, hosts=["bücher.test", "x" * 70 + "é.test"]) as box:
        net.names["xn--bcher-kva.test"] = [[PUBLIC]]
        assert b" 200 " in await box.connect("xn--bcher-kva.test:443")


async def test_the_port_is_part_of_a_listed_host(tmp_path):
    async with internet(pypi_test=[[PUBLIC]]) as net, sandbox(tmp_path, net=net, hosts=["pypi.test:8443"]) as box:
        assert b" 200 " in await box.connect("pypi.test:8443")
        assert b" 403 " in await box.connect("pypi.test:443")


async def test_an_ip_address_is_reached_only_if_it_is_listed(tmp_path):
    async with internet() as net, sandbox(tmp_path, net=net, hosts=[PUBLIC, "2606:4700::1111"]) as box:
        net.names = {PUBLIC: [[PUBLIC]], "2606:4700::1111": [["2606:4700::1111"]]}
        async with box.tunnel(f"{PUBLIC}:443", client_hello(None)) as (reader, _):
            assert await reader.read(1)
        assert b" 200 " in await box.connect("[2606:4700::1111]:443")
        assert b" 403 " in await box.connect("93.184.215.15:443")


async def test_an_unresolvable_name_is_reported(tmp_path):
    async with internet() as net, sandbox(tmp_path, net=net, hosts=[HOST]) as box:
        assert b" 502 " in await box.connect(f"{HOST}:443")

    assert box.usage.refusals == ()


async def test_an_unreachable_host_is_reported(tmp_path):
    async with internet(pypi_test=[[PUBLIC]]) as net:
        pass
    async with sandbox(tmp_path, net=net, hosts=[HOST]) as box:
        assert b" 502 " in await box.connect(f"{HOST}:443")


async def test_the_number_of_simultaneous_connections_is_limited(tmp_path):
    async with internet(pypi_test=[[PUBLIC]]) as net, sandbox(tmp_path, net=net, hosts=[HOST]) as box:
        opened = [await asyncio.open_unix_connection(str(box.socket)) for _ in range(65)]
        answers = []
        for reader, writer in opened:
            writer.write(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            answers.append(await reader.readuntil(b"\r\n\r\n"))
        for _, writer in opened:
            writer.close()

    assert [b" 200 " in answer for answer in answers] == [True] * 64 + [False]
    assert box.usage.refusals == ("hold more than 64 connections",)


# The server name


@pytest.mark.parametrize("name", [HOST, "A.b-c.Test", "x" * 60 + ".test"])
def test_the_server_name_is_found_only_in_a_complete_client_hello(name):
    hello = client_hello(name)

    assert server_name(hello) == name.lower()
    assert all(server_name(hello[:end]) is None for end in range(len(hello)))
    assert server_name(hello + b"more") == name.lower()


def test_the_server_name_is_found_in_a_client_hello_spread_over_records():
    hello = client_hello(HOST)
    message = hello[5:]
    pieces = [message[start : start + 7] for start in range(0, len(message), 7)]
    spread = b"".join(hello[:3] + len(piece).to_bytes(2) + piece for piece in pieces)

    assert server_name(spread) == HOST
    assert server_name(spread[:-1]) is None


def test_the_server_name_of_a_tls_1_2_client_is_found():
    older = ssl.create_default_context()
    older.maximum_version = ssl.TLSVersion.TLSv1_2

    assert server_name(client_hello(HOST, tls=older)) == HOST


def test_a_client_hello_without_a_server_name_has_none():
    assert server_name(client_hello(None)) == ""


def test_a_corrupted_client_hello_gives_a_name_or_is_refused():
    hello = client_hello(HOST)
    for place in range(len(hello)):
        for value in (0, 1, 127, 255):
            odd = hello[:place] + bytes([value]) + hello[place + 1 :]
            try:
                assert isinstance(server_name(odd), str | None)
            except NotTls:
                continue


@pytest.mark.parametrize(
    "received",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-",
        b"\x16\x02\x00\x00\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x01\x02",
        b"\x15\x03\x01\x00\x02\x01\x00",
        b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",
        b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + b"\0" * 17_000,
        b"\x16\x03\x01\x00\x01\x01" * 4_000,
    ],
)
def test_data_that_is_no_client_hello_is_refused_at_once(received):
    with pytest.raises(NotTls):
        server_name(received)


def with_names(*listed: bytes) -> bytes:
    """Makes a ClientHello with these server name extensions."""
    extensions = b"".join(b"\0\0" + len(content).to_bytes(2) + content for content in listed)
    body = b"\x03\x03" + b"\0" * 32 + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + len(extensions).to_bytes(2) + extensions
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


def one(name: bytes, kind: bytes = b"\0") -> bytes:
    entry = kind + len(name).to_bytes(2) + name
    return len(entry).to_bytes(2) + entry


def test_a_client_hello_made_by_hand_is_parsed():
    assert server_name(with_names(one(b"a.test"))) == "a.test"


@pytest.mark.parametrize(
    "listed",
    [
        (one(b"a.test"), one(b"b.test")),
        (b"\0\x12" + one(b"a.test")[2:] * 2,),
        (one(b"a.test", kind=b"\x01"),),
        (one(b"a.test") + b"\0",),
        (one("ä.test".encode()),),
    ],
)
def test_two_server_names_or_invalid_ones_are_refused(listed):
    with pytest.raises(NotTls):
        server_name(with_names(*listed))

"""Port forwarding: connects people to servers in a sandbox, through connections that the sandbox opens."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from bot.errors import NeedsHuman
from bot.sandbox.port_forward import forward_ports


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.asynccontextmanager
async def offering(path, port: int) -> AsyncIterator[list[int]]:
    """Stands for the first program in the sandbox: responds to each connection with the bytes it got."""
    told: list[int] = []

    async def offer() -> None:
        while True:
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                told.append(int.from_bytes(await reader.readexactly(2)))
                writer.write((await reader.readline()).upper())
            finally:
                writer.close()

    async with forward_ports(path, [port]), asyncio.TaskGroup() as group:
        task = group.create_task(offer())
        yield told
        task.cancel()


async def ask(port: int, said: bytes, *, ends: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    if ends:
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_client_is_connected_and_the_sandbox_learns_the_port(tmp_path):
    port = free_port()
    async with asyncio.timeout(30), offering(tmp_path / "ports", port) as told:
        assert await ask(port, b"hello\n") == b"HELLO\n"
        assert await ask(port, b"again\n") == b"AGAIN\n"
    assert told == [port, port]
    with pytest.raises(OSError):
        await ask(port, b"late\n")


async def test_a_connection_that_the_sandbox_withdrew_is_skipped(tmp_path):
    port, path = free_port(), tmp_path / "ports"
    async with asyncio.timeout(30), forward_ports(path, [port]):
        for _ in range(3):
            _, gone = await asyncio.open_unix_connection(str(path))
            gone.close()
            await gone.wait_closed()
        reader, writer = await asyncio.open_unix_connection(str(path))
        calling = asyncio.ensure_future(ask(port, b"hello\n"))
        await reader.readexactly(2)
        writer.write(await reader.readline())
        writer.close()
        assert await calling == b"hello\n"


async def test_the_first_port_in_use_is_reported_and_others_are_skipped(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NeedsHuman, match=f"Port {port} is in use"):
            async with forward_ports(tmp_path / "ports", [port]):
                pass
        async with forward_ports(tmp_path / "ports", [free_port(), port]):
            pass


async def test_clients_on_other_machines_cannot_connect(tmp_path):
    port = free_port()
    async with forward_ports(tmp_path / "ports", [port]):
        with socket.create_server(("127.0.0.2", port)):  # it would be in use, were it open for all addresses
            pass


async def lead(tmp_path, said: bytes) -> tuple[bytes, bytes]:
    """Returns the bytes that arrived in the sandbox, and the response."""
    port, path = free_port(), tmp_path / "ports"
    async with asyncio.timeout(30), forward_ports(path, [port]):
        reader, writer = await asyncio.open_unix_connection(str(path))
        calling = asyncio.ensure_future(ask(port, said, ends=True))
        await reader.readexactly(2)
        heard = await reader.read()
        writer.write(b"answer")
        writer.close()
        return heard, await calling


@pytest.mark.parametrize(
    "name", ["127.0.0.1:20000", "127.1:20000", "[::1]:20000", "mylaptop", "localhost.evil.example"]
)
async def test_a_browser_with_another_host_name_is_refused_before_any_byte_is_forwarded(tmp_path, name):
    path = "/" + "x" * 30_000
    said = f"GET {path} HTTP/1.1\r\nHost: {name}\r\nCookie: treehand=secret\r\n\r\n".encode()
    heard, answer = await lead(tmp_path, said)
    assert heard == b""
    assert b"421" in answer
    assert b"localhost" in answer


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\nHost: localhost\r\n\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_two_hosts_no_host_and_a_late_host_are_refused(tmp_path, said):
    heard, answer = await lead(tmp_path, said)
    assert (heard, b"421" in answer) == (b"", True)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nhost: LOCALHOST:20000\r\nCookie: a=b\r\n\r\nand more",
        b"POST /x HTTP/1.0\nHost: shop.localhost\n\nHost: 127.0.0.1\n\n",
        b"\x16\x03\x01 HTTP/1.1\n",
        b"SELECT 1\r\nHost: 127.0.0.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PING",
        b"",
    ],
)
async def test_requests_for_localhost_and_other_protocols_are_forwarded_unchanged(tmp_path, said):
    assert await lead(tmp_path, said) == (said, b"answer")


async def test_the_server_may_send_first(tmp_path):
    port, path = free_port(), tmp_path / "ports"
    async with asyncio.timeout(30), forward_ports(path, [port]):
        reader, writer = await asyncio.open_unix_connection(str(path))
        caller, caller_writer = await asyncio.open_connection("127.0.0.1", port)
        await reader.readexactly(2)
        writer.write(b"welcome\n")
        assert await caller.readline() == b"welcome\n"
        caller_writer.close()
        writer.close()

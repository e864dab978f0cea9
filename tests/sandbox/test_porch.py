"""The porch: people's connections are handed to programs in a sandbox, which have dialled out for them."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from bot.errors import NeedsHuman
from bot.sandbox.porch import porch


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.asynccontextmanager
async def offering(path, port: int) -> AsyncIterator[list[int]]:
    """What stands for the first program in there: answers one caller after the other with what it heard."""
    told: list[int] = []

    async def offer() -> None:
        while True:
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                told.append(int.from_bytes(await reader.readexactly(2)))
                writer.write((await reader.readline()).upper())
            finally:
                writer.close()

    async with porch(path, [port]), asyncio.TaskGroup() as group:
        task = group.create_task(offer())
        yield told
        task.cancel()


async def ask(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_caller_is_led_in_and_those_in_there_are_told_for_which_port(tmp_path):
    port = free_port()
    async with asyncio.timeout(30), offering(tmp_path / "porch", port) as told:
        assert await ask(port, b"hello\n") == b"HELLO\n"
        assert await ask(port, b"again\n") == b"AGAIN\n"
    assert told == [port, port]
    with pytest.raises(OSError):
        await ask(port, b"late\n")


async def test_an_offer_that_was_withdrawn_is_passed_over(tmp_path):
    port, path = free_port(), tmp_path / "porch"
    async with asyncio.timeout(30), porch(path, [port]):
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


async def test_a_port_that_is_taken_is_named_and_one_of_the_others_may_be(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NeedsHuman, match=f"Port {port} is in use"):
            async with porch(tmp_path / "porch", [port]):
                pass
        async with porch(tmp_path / "porch", [free_port(), port]):
            pass


async def test_nobody_comes_in_from_another_machine(tmp_path):
    port = free_port()
    async with porch(tmp_path / "porch", [port]):
        with socket.create_server(("127.0.0.2", port)):  # it would be in use, were it open for all addresses
            pass

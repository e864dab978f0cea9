"""The web server under load: half requests, long requests and wrong tokens do not block other clients."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from bot.web import connection_limits
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.login_throttle import LoginThrottle
from bot.web.request_body import MOST_BYTES_OF_ALL
from bot.web.server import serving
from tests.fakes.webhooks import webhooks
from tests.web.running_dashboard import PAGE, open_dashboard

TOKEN = "hunter2"
FORGED = f"X-Hub-Signature-256: sha256={'0' * 64}"
_HOOK = b"POST /webhooks/github HTTP/1.1\r\nHost: a\r\n" + FORGED.encode()


@pytest.fixture
def time() -> list[float]:
    return [1000.0]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    app = build_app(AppConfig(wake=print, webhooks=webhooks(print, github="a secret of two")))
    async with serving(app, "127.0.0.1:0") as port:
        yield port
        assert app.state.bodies.held == 0


@pytest.fixture
async def client(port) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        yield client


@pytest.fixture
async def locked(tmp_path, time) -> AsyncIterator[httpx.AsyncClient]:
    clock = lambda: time[0]  # noqa: E731
    access = Authenticator(TOKEN, clock=clock, throttle=LoginThrottle(clock))
    async with open_dashboard(tmp_path, access=access) as web:
        yield web.client


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """Sets a limit of descriptors that is easily reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def half_open(port: int, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.sendall(sent)
            opened.append(one)
        yield opened


HALVES = {
    "nothing": b"",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "half a body": b"%s\r\nContent-Length: 900000\r\n\r\n{" % _HOOK,
    "an answer, and half a head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\nGET /heal",
}


@pytest.mark.attack("T16", "Half requests take all descriptors, so that nobody else is served and no run starts")
@pytest.mark.parametrize("half", HALVES)
async def test_half_requests_leave_room_for_complete_requests(port, client, few_descriptors, half):
    sent = HALVES[half].replace(b"%d", b"%d" % port)
    with half_open(port, 120, sent):
        for _ in range(20):
            await asyncio.sleep(0)
            assert (await client.get("/healthz")).text == "ok\n"
        with open("/dev/null"):  # noqa: ASYNC230, PTH123 - the files of a run can be opened
            pass


@pytest.mark.attack("T16", "Half requests are held open for ever")
@pytest.mark.parametrize("half", HALVES)
async def test_a_half_request_is_closed_after_its_time_limit(port, monkeypatch, half):
    for state in list(connection_limits._SECONDS):
        monkeypatch.setitem(connection_limits._SECONDS, state, 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HALVES[half].replace(b"%d", b"%d" % port))
    async with asyncio.timeout(20):
        with contextlib.suppress(ConnectionResetError):
            while await reader.read(65536):
                pass
    writer.close()


@pytest.mark.attack("T16", "A client sends a byte now and then, so that its time never ends")
async def test_a_request_that_trickles_in_gets_no_extra_time(port, monkeypatch):
    monkeypatch.setitem(connection_limits._SECONDS, connection_limits.h11.IDLE, 0.3)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(20):
        with pytest.raises(ConnectionError):
            while not reader.at_eof():
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(0.02)
            raise ConnectionResetError
    writer.close()


@pytest.mark.attack("T16", "Unsigned webhooks of 20 MB are kept in memory")
@pytest.mark.parametrize("signature", ["", "X-Hub-Signature-256:\r\n", "X-Hub-Signature-256: sha256=00\r\n"])
async def test_the_body_of_an_unsigned_webhook_is_not_read(port, signature):
    head = f"POST /webhooks/github HTTP/1.1\r\nHost: a\r\n{signature}Content-Length: 1000000\r\n\r\n"
    assert (await _first_line(port, head)).startswith("HTTP/1.1 401 ")


@pytest.mark.attack("T16", "A webhook with a made-up signature announces 20 MB")
async def test_a_long_body_is_refused_by_its_content_length(port):
    head = f"POST /webhooks/github HTTP/1.1\r\nHost: a\r\n{FORGED}\r\nContent-Length: 20000000\r\n\r\n"
    assert (await _first_line(port, head)).startswith("HTTP/1.1 413 ")


async def _first_line(port: int, head: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode())
    async with asyncio.timeout(20):
        line = await reader.readline()
    writer.close()
    return line.decode()


@pytest.mark.attack("T16", "Sixty webhooks with made-up signatures hold 1.3 GB")
async def test_request_bodies_share_one_memory_limit(port):
    head = f"POST /webhooks/github HTTP/1.1\r\nHost: a\r\n{FORGED}\r\nContent-Length: 5000000\r\n\r\n".encode()
    answers = await asyncio.gather(*(_send_most(port, head, b" " * 4_000_000) for _ in range(20)))
    busy = [line for line in answers if line.startswith("HTTP/1.1 503 ")]
    assert len(busy) >= 20 - MOST_BYTES_OF_ALL // 4_000_000 - 1


async def _send_most(port: int, head: bytes, body: bytes) -> str:
    """Sends most of a body; returns the first line of the response, or nothing if there is none yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head + body)
    try:
        async with asyncio.timeout(3):
            return (await reader.readline()).decode()
    except (TimeoutError, ConnectionError):
        return ""
    finally:
        writer.transport.abort()


@pytest.mark.attack("T17", "Somebody tries hundreds of tokens a second on the login page")
@pytest.mark.parametrize("way", ["form", "bearer", "link"])
async def test_wrong_tokens_are_slowed_down_and_logged_once(locked, time, caplog, way):
    async def attempt(token: str) -> int:
        if way == "bearer":
            return (await locked.get("/api/v1/state", headers={"Authorization": f"Bearer {token}"})).status_code
        return (await locked.post("/login", data={"token" if way == "form" else "code": token})).status_code

    statuses = [await attempt(f"guess {number}") for number in range(30)]
    assert statuses == [401] * 10 + [429] * 20
    if way != "link":
        assert await attempt(TOKEN) == 429, "not even the right one is told apart"
    time[0] += 6
    assert [await attempt("another"), await attempt("another")] == [401, 429]
    assert len([line for line in caplog.messages if "wrong tokens" in line]) == 1


async def test_a_person_who_is_logged_in_is_not_slowed_down_by_wrong_tokens_of_others(locked):
    await locked.post("/login", data={"token": TOKEN})
    for number in range(30):
        await locked.post("/login", data={"token": f"guess {number}"})
    assert (await locked.get("/", headers=PAGE)).status_code == 200


@pytest.mark.attack("T17", "Somebody tries tokens from many addresses")
def test_many_addresses_are_slowed_down_together(time):
    throttle = LoginThrottle(lambda: time[0])
    tried = 0
    for number in range(1000):
        if not throttle.seconds_to_wait(f"10.0.{number // 250}.{number % 250}"):
            throttle.add_failure(f"10.0.{number // 250}.{number % 250}")
            tried += 1
    assert tried == 60
    assert throttle.seconds_to_wait("192.0.2.1") == 1


@pytest.mark.attack("T17", "Somebody tries tokens from all addresses of their network")
def test_all_addresses_of_an_ipv6_network_count_as_one(time):
    throttle = LoginThrottle(lambda: time[0])
    for number in range(10):
        throttle.add_failure(f"2001:db8::{number}")
    assert throttle.seconds_to_wait("2001:db8::ffff") > 0
    assert throttle.seconds_to_wait("2001:db8:0:1::1") == 0


@pytest.mark.attack("T17", "Somebody who guesses the token forges a login cookie, which is not slowed down")
async def test_a_cookie_made_with_the_token_alone_is_refused(tmp_path):
    access = Authenticator(TOKEN, cookie_key="a key of 32 bytes")
    forged = {"treehand": Authenticator(TOKEN).cookie_for("eve")}
    headers = httpx.Headers()
    assert access.find_person(headers, "127.0.0.1", forged) == ""
    assert access.find_person(headers, "127.0.0.1", {"treehand": access.cookie_for("ana")}) == "ana"

"""Webhooks of Linear: a signed, recent message wakes the poll of Linear and does nothing else."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from bot.web.app import AppConfig, build_app
from bot.web.server import serving
from tests.fakes.webhooks import webhooks

SECRET, NOW = "a secret of two", 1_000_000.0


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
async def daemon(woken) -> AsyncIterator[httpx.AsyncClient]:
    config = AppConfig(
        wake=lambda _: None, clock=lambda: NOW,
        webhooks=webhooks(lambda _: woken.append("linear"), linear=SECRET),
    )  # fmt: skip
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


def told(seconds_ago: float = 0.0, **more: object) -> bytes:
    return json.dumps({"type": "Issue", "webhookTimestamp": (NOW - seconds_ago) * 1000, **more}).encode()


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"Linear-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


@pytest.mark.parametrize("seconds_ago", [0, 59, -59])
async def test_a_signed_recent_webhook_wakes_the_poll(daemon, woken, seconds_ago):
    body = told(seconds_ago)
    answer = await daemon.post("/webhooks/linear", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (200, ["linear"])


@pytest.mark.parametrize("seconds_ago", [61, 86400, -61])
async def test_an_old_or_future_webhook_is_refused(daemon, woken, seconds_ago):
    body = told(seconds_ago)
    answer = await daemon.post("/webhooks/linear", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (401, [])


@pytest.mark.parametrize(
    "headers",
    [{}, {"Linear-Signature": ""}, {"Linear-Signature": "00"}, signed(told(), "another"), signed(b"{}")],
    ids=["none", "empty", "short", "of another secret", "of another body"],
)
async def test_a_webhook_with_a_wrong_signature_is_refused(daemon, woken, headers):
    answer = await daemon.post("/webhooks/linear", content=told(), headers=headers)
    assert (answer.status_code, woken) == (401, [])


@pytest.mark.parametrize(
    "body",
    [b"", b"[1]", b"\xff", b"{}", b'{"webhookTimestamp": "now"}', b'{"webhookTimestamp": true}', b"[" * 100_000],
    ids=["empty", "list", "bytes", "no time", "words", "truth", "deep"],
)
async def test_an_invalid_webhook_is_refused_even_if_signed(daemon, woken, body):
    answer = await daemon.post("/webhooks/linear", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (400, [])


async def test_without_a_secret_webhooks_are_refused(woken):
    config = AppConfig(wake=print, webhooks=webhooks(woken.append, linear=""))
    body = told()
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        answer = await client.post("/webhooks/linear", content=body, headers=signed(body, ""))
    assert (answer.status_code, woken) == (503, [])
    assert "TREEHAND_LINEAR__WEBHOOK_SECRET" in answer.text

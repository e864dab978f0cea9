"""Webhooks: a signed message wakes the poll of its repository and does nothing else."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from bot.errors import CannotStart
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.server import serving
from tests.fakes.webhooks import webhooks

SECRET = "a secret of two"
ABOUT = {"action": "labeled", "repository": {"full_name": "acme/shop"}}


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
async def daemon(woken) -> AsyncIterator[httpx.AsyncClient]:
    config = AppConfig(wake=woken.append, webhooks=webhooks(woken.append, github=SECRET))
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


async def test_a_signed_webhook_wakes_its_repository(daemon, woken):
    body = json.dumps(ABOUT).encode()
    answer = await daemon.post("/webhooks/github", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (202, ["acme/shop"])


async def test_a_webhook_sent_as_a_form_is_accepted(daemon, woken):
    body = str(httpx.QueryParams({"payload": json.dumps(ABOUT)})).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded", **signed(body)}
    answer = await daemon.post("/webhooks/github", content=body, headers=form)
    assert (answer.status_code, woken) == (202, ["acme/shop"])


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Hub-Signature-256": ""}, {"X-Hub-Signature-256": "sha256=00"}, signed(b"{}", "another")],
    ids=["none", "empty", "short", "of another secret"],
)
async def test_a_webhook_with_a_wrong_signature_is_refused(daemon, woken, headers):
    answer = await daemon.post("/webhooks/github", content=json.dumps(ABOUT).encode(), headers=headers)
    assert (answer.status_code, woken) == (401, [])


@pytest.mark.parametrize("body", [b"", b"[1]", b"\xff", b"[" * 100_000], ids=["empty", "list", "bytes", "deep"])
async def test_an_invalid_webhook_is_refused_even_if_signed(daemon, woken, body):
    answer = await daemon.post("/webhooks/github", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (400, [])


@pytest.mark.parametrize("told", [{}, {"repository": None}, {"repository": {"full_name": 7}}, {"zen": "Keep it"}])
async def test_a_webhook_without_a_repository_wakes_nothing(daemon, woken, told):
    body = json.dumps(told).encode()
    answer = await daemon.post("/webhooks/github", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (202, [])


async def test_a_webhook_that_is_too_long_is_not_read(daemon, woken):
    body = b" " * (6 * 1024 * 1024)
    answer = await daemon.post("/webhooks/github", content=body, headers=signed(body))
    assert (answer.status_code, woken) == (413, [])


async def test_a_webhook_cannot_be_sent_with_get(daemon):
    assert (await daemon.get("/webhooks/github")).status_code == 405


async def test_without_a_secret_webhooks_are_refused(woken):
    config = AppConfig(wake=woken.append, webhooks=webhooks(woken.append, github=""))
    body = json.dumps(ABOUT).encode()
    async with serving(build_app(config), "127.0.0.1:0") as port, httpx.AsyncClient() as client:
        where = f"http://127.0.0.1:{port}/webhooks/github"
        answer = await client.post(where, content=body, headers=signed(body, ""))
    assert (answer.status_code, woken) == (503, [])
    assert "TREEHAND_GITHUB__WEBHOOK_SECRET" in answer.text


async def test_every_local_client_may_wake_the_daemon(daemon, woken):
    assert (await daemon.post("/api/v1/wake")).status_code == 202
    assert woken == [""]


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}])
async def test_a_web_page_of_another_site_may_not_wake_the_daemon(daemon, woken, headers):
    assert (await daemon.post("/api/v1/wake", headers=headers)).status_code == 403
    assert woken == []


async def test_waking_needs_the_token_if_one_is_set(woken):
    config = AppConfig(wake=woken.append, ready=_never, authenticator=Authenticator("open sesame"))
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert (await client.post("/api/v1/wake")).status_code == 401
        assert (await client.post("/api/v1/wake", headers={"Authorization": "Bearer close"})).status_code == 401
        assert (await client.post("/api/v1/wake", headers={"Authorization": "Bearer open sesame"})).status_code == 202
        assert [(await client.get(page)).status_code for page in ("/healthz", "/readyz")] == [200, 503]


async def test_a_port_in_use_is_reported_with_the_fix(daemon):
    port = daemon.base_url.port
    with pytest.raises(CannotStart, match=r"web\.bind"):
        async with serving(build_app(AppConfig(wake=print)), f"127.0.0.1:{port}"):
            pass


async def _never() -> bool:
    return False

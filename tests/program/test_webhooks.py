"""A webhook triggers a poll of its repository at once, with the installed command."""

import asyncio
import hashlib
import hmac
import json
import signal
import socket

import httpx

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.fakes.github import ServedGitHub
from tests.program.conftest import SECONDS, Person, model_env, script_of, write
from tests.program.test_github import SHOP, shop  # noqa: F401 - a fixture

SECRET = "between the two of us"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def hook(repository: str) -> tuple[bytes, dict[str, str]]:
    body = json.dumps({"action": "labeled", "repository": {"full_name": repository}}).encode()
    return body, {"X-Hub-Signature-256": f"sha256={hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}"}


async def test_a_webhook_shows_a_label_long_before_the_next_poll(shop: Person, github: ServedGitHub):  # noqa: F811
    address = f"127.0.0.1:{free_port()}"
    env = {"TREEHAND_POLL__INTERVAL": "3600", "TREEHAND_WEB__BIND": address, "TREEHAND_GITHUB__WEBHOOK_SECRET": SECRET}
    issue = github.world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana")
    async with (
        ScriptedModel(script_of((write("answer = 42"),), (SayText("Done."),))) as model,
        httpx.AsyncClient() as client,
    ):
        daemon = await shop.start("run", **model_env(model), **env)
        async with asyncio.timeout(SECONDS):
            while await status_of(client, f"http://{address}/readyz") != 200 or not github.calls("GET", "/issues"):
                await asyncio.sleep(0.1)
        await asyncio.sleep(1)  # its first look is over
        github.world.label(SHOP, issue.number, "ai", by="ana")

        looks = len(github.history)
        body, headers = hook("acme/another")
        assert (
            await client.post(f"http://{address}/webhooks/github", content=body, headers=headers)
        ).status_code == 202
        await asyncio.sleep(1)
        assert len(github.history) == looks

        body, headers = hook(SHOP)
        assert (
            await client.post(f"http://{address}/webhooks/github", content=body, headers=headers)
        ).status_code == 202
        await shop.until(f"{SHOP}#{issue.number}", "review")
        daemon.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(daemon.wait(), SECONDS) == 0


async def status_of(client: httpx.AsyncClient, url: str) -> int:
    try:
        return (await client.get(url)).status_code
    except httpx.TransportError:
        return 0

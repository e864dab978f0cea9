"""Notifications and metrics of the installed daemon: killed in the middle, with slow channels."""

import asyncio
import json
import signal

import httpx

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.notifications.stand_ins import Hook, hook
from tests.program.conftest import SECONDS, model_env, script_of, write
from tests.program.test_webhooks import free_port
from tests.web.test_metrics import read

WORK = ((write("answer = 42"),), (SayText("Done."),))


async def until_told(web: Hook, messages: int) -> None:
    async with asyncio.timeout(SECONDS):
        while len(web.got) < messages:
            await asyncio.sleep(0.05)


async def test_people_are_notified_once_by_repeated_calls_of_once(ready):
    await ready.does("issue", "new", "The answer is @wrong", "--label", "ai")
    with hook() as web:
        async with ScriptedModel(script_of(*WORK)) as model:
            env = {**model_env(model), "TREEHAND_NOTIFY__URLS": web.url}
            for _ in range(3):
                await ready.does("once", **env)
        assert [one["title"] for one in web.got] == ["Treehand: shop#1 is in review"]
        assert web.bodies[0].splitlines()[0] == "shop#1 is in review: The answer is ＠wrong"
    assert "a1b2c3d4e5f6" not in (ready.state_dir / "treehand.log").read_text()


async def test_a_notification_interrupted_by_a_kill_is_repeated_once_and_marked(ready):
    address = f"127.0.0.1:{free_port()}"
    await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
    with hook() as web:
        web.let_go.clear()
        async with ScriptedModel(script_of(*WORK)) as model, httpx.AsyncClient(base_url=f"http://{address}") as client:
            env = {**model_env(model), "TREEHAND_NOTIFY__URLS": web.url, "TREEHAND_WEB__BIND": address,
                   "TREEHAND_LOG__FORMAT": "json"}  # fmt: skip
            daemon = await ready.start("run", **env)
            await until_told(web, 1)
            assert (await client.get("/readyz")).status_code == 200, "a channel that hangs holds up nothing"
            daemon.send_signal(signal.SIGKILL)
            await daemon.wait()
            web.let_go.set()
            daemon = await ready.start("run", **env)
            await until_told(web, 2)
            async with asyncio.timeout(SECONDS):
                while (await figures(client)).get("treehand_notifications_sent_total") != {("json",): 1}:
                    await asyncio.sleep(0.1)
            found = await figures(client)
            assert found["treehand_turns_ended_total"]["succeeded", "shop"] == 1
            assert found["treehand_runs"]["review", "shop"] == 1
            assert found["treehand_spent_usd_total"]["shop",] > 0
            daemon.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(daemon.wait(), SECONDS) == 0
            await ready.does("once", **env)
    assert [body.startswith("(Possibly a repeat: ") for body in web.bodies] == [False, True]
    lines = [json.loads(line) for line in (ready.state_dir / "treehand.log").read_text().splitlines()]
    assert [one for one in lines if "turn 1 started" in one["message"] and one["run"] != "shop#1/1"] == []
    assert any(one.get("turn") == "1" for one in lines)


async def figures(client: httpx.AsyncClient) -> dict[str, dict[tuple[str, ...], float]]:
    try:
        return read((await client.get("/metrics")).content)
    except httpx.TransportError:
        return {}  # it is starting


async def test_a_hanging_channel_does_not_delay_the_shutdown(ready):
    await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
    with hook() as web:
        web.let_go.clear()
        async with ScriptedModel(script_of(*WORK)) as model:
            daemon = await ready.start("run", **model_env(model), TREEHAND_NOTIFY__URLS=web.url)
            await until_told(web, 1)
            daemon.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(daemon.wait(), SECONDS) == 0

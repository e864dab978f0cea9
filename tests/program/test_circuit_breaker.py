"""The installed command while the model's service refuses all requests."""

import re
import time

from bot.demo.scripted_model import RefuseWith, ScriptedModel
from tests.program.conftest import model_env, script_of

REASON = "the model's usage limit is reached; the run continues at "


async def test_an_exhausted_usage_limit_ends_once_without_an_error_and_shows_its_end(ready):
    over = int(time.time()) + 7200
    headers = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(over)}
    async with ScriptedModel(script_of((RefuseWith(429, headers),))) as model:
        ready.env |= model_env(model) | {"TREEHAND_LIMITS__WORKING": "1"}
        for number in range(2):
            await ready.does("issue", "new", f"Issue {number}", "--label", "ai")
        await ready.does("once")

    state = await ready.state()
    assert [run["reason"].startswith(REASON) for run in state["runs"]] == [True, True]
    assert state["health"]["model"]["ok"] is False
    assert state["health"]["model"]["detail"].startswith(REASON)
    assert f"The run waits: {REASON}" in await ready.does("why", "shop#1")
    assert REASON in await ready.does("issue", "show", "shop#2")


async def test_a_model_outage_pauses_the_project_and_ends_once(ready):
    async with ScriptedModel(script_of((RefuseWith(400),))) as model:
        ready.env |= model_env(model) | {"TREEHAND_LIMITS__WORKING": "5", "TREEHAND_LIMITS__WORKING_PER_PROJECT": "5"}
        for number in range(5):
            await ready.does("issue", "new", f"Issue {number}", "--label", "ai")
        await ready.does("once")

    state = await ready.state()
    detail = state["health"]["project shop"]["detail"]  # on a slow machine a run has tried again before the fifth fails
    assert re.match(r"paused after \d+ turns failed in the same way: the agent", detail)

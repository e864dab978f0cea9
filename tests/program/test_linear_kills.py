"""Issues in Linear, and a daemon that is killed repeatedly while responses are lost: nothing twice, nothing lost."""

import asyncio
import os
import random
import signal

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.fakes.github import ServedGitHub
from tests.fakes.github.fixtures import github
from tests.fakes.linear.server import ServedLinear, served
from tests.fakes.linear.world import LinearWorld
from tests.program.conftest import SECONDS, Person, model_env, script_of, write
from tests.program.test_linear import BOT, pulls, shop

__all__ = ["github", "shop"]

ISSUES, KILLS = 3, 8


@pytest.fixture
def linear():
    """A Linear whose clock moves and whose lists lag, like the real one."""
    world = LinearWorld(ticking=True)
    world.lag = 0.3
    ana = world.add_user("ana", "ana@acme.example")
    world.add_team("ENG", "Engineering", members=[ana, world.add_user(BOT, "bot@acme.example", app=True)])
    with served(world) as linear:
        yield linear
    assert not linear.violations, "\n".join(linear.violations)


async def test_a_repeatedly_killed_daemon_posts_and_opens_nothing_twice(
    shop: Person, github: ServedGitHub, linear: ServedLinear
):
    dice = random.Random(6)
    keys = [linear.world.open_issue("ENG", f"Fix {n}", "Make it 42.", by="ana", labels=["ai"]) for n in range(ISSUES)]
    async with ScriptedModel(script_of((write("answer = 42"),), (SayText("Done."),))) as model:
        env = {"TREEHAND_POLL__INTERVAL": "1", **model_env(model)}
        for number in range(KILLS):
            if number % 2:
                linear.faults.drop(
                    dice.choice(["CreateComment", "UpdateComment", "UpdateIssue", "CreateAttachment", "CreateReaction"])
                )
            daemon = await shop.start("run", **env)
            await asyncio.sleep(dice.uniform(1.0, 4.0))
            os.killpg(daemon.pid, signal.SIGKILL)
            await daemon.wait()
        daemon = await shop.start("run", **env)
        for issue in keys:
            await shop.until(issue.identifier, "review")
        async with asyncio.timeout(SECONDS):
            while any("ai:review" not in linear.world.labels(issue.identifier) for issue in keys):
                await asyncio.sleep(0.2)
        daemon.terminate()
        assert await daemon.wait() == 0
    assert len(pulls(github)) == ISSUES
    for issue in keys:
        assert len(linear.world.comments(issue.identifier, by=BOT)) == 1
        assert len(linear.world.attachments(issue.identifier)) == 2
        assert linear.world.state(issue.identifier) == "In Review"
    assert {pull.title for pull in pulls(github)} == {f"Fix {number}" for number in range(ISSUES)}

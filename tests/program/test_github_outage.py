"""The daemon ends on SIGTERM whatever GitHub does."""

import asyncio

from tests.fakes.github import ServedGitHub
from tests.program.conftest import Person
from tests.program.test_github import SHOP, shop

__all__ = ["shop"]


async def test_a_daemon_ends_while_github_does_not_respond(shop: Person, github: ServedGitHub):
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    github.world.open_issue(SHOP, "The answer is wrong", by="ana", labels=["ai"])
    github.faults.add("GET /repos/*/issues", times=100, delay=60.0, before=lambda: loop.call_soon_threadsafe(asked.set))
    daemon = await shop.start("run", ANTHROPIC_API_KEY="stand-in")
    await asyncio.wait_for(asked.wait(), 30)
    daemon.terminate()
    assert await asyncio.wait_for(daemon.wait(), 10) == 0

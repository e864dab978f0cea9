"""What somebody typed into the dashboard becomes an issue where the project has its own, and work begins."""

from bot.services.linear.routing import Route
from tests.clients.grounds import REPO
from tests.clients.linear_grounds import SHOP, LinearBot
from tests.fakes.linear.fixtures import linear

__all__ = ["linear"]


async def test_on_github_it_has_its_labels_from_the_first_moment_and_is_asked_for(bot):
    key = await bot.tracker.file("Add a cart", "Please.\n\nAsked for by ana.", ["AI", "ai:plan"])
    issue = bot.world.issue(REPO, bot.repository.access.number(key))
    assert (issue.title, issue.body) == ("Add a cart", "Please.\n\nAsked for by ana.")
    seen = (await bot.tracker.look([])).issues[key]
    assert (seen.title, sorted(seen.labels)) == ("Add a cart", ["ai", "ai:plan"])
    assert (seen.asked_by.name, seen.asked_by.trusted) == ("treehand-bot", True)


async def test_in_linear_it_goes_to_the_project_it_is_for_and_is_asked_for(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, routes=(SHOP, Route("docs", "acme/docs")))
    try:
        key = await bot.trackers["docs"].file("Add a page", "Please.", ["AI", "ai:plan"])
        seen = (await bot.trackers["docs"].look([])).issues[key]
        assert (seen.title, seen.body) == ("Add a page", "Please.")
        assert {"ai", "ai:plan"} <= seen.labels
        assert key not in (await bot.trackers["shop"].look([])).issues
    finally:
        await bot.close()

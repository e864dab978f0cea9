"""An issue typed into the dashboard is created in the project's tracker, and its run starts."""

from bot.services.linear.team_routing import TeamRoute
from tests.fakes.linear.fixtures import linear
from tests.services.github.github_bot import REPO
from tests.services.linear.linear_bot import SHOP, LinearBot

__all__ = ["linear"]


async def test_a_new_github_issue_has_its_labels_from_the_start_and_is_requested(bot):
    key = await bot.tracker.open_issue("Add a cart", "Please.", ["AI", "ai:plan"], by="ana")
    issue = bot.world.issue(REPO, bot.repository.api.number(key))
    assert (issue.title, issue.body) == ("Add a cart", "Please.\n\nAsked for by `ana`.")
    seen = (await bot.tracker.snapshot([])).issues[key]
    assert (seen.title, sorted(seen.labels)) == ("Add a cart", ["ai", "ai:plan"])
    assert (seen.requester.name, seen.requester.trusted) == ("treehand-bot", True)


async def test_a_new_linear_issue_gets_the_label_of_its_project_and_is_requested(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, routes=(SHOP, TeamRoute("docs", "acme/docs")))
    try:
        key = await bot.trackers["docs"].open_issue("Add a page", "Please.", ["AI", "ai:plan"], by="ana")
        seen = (await bot.trackers["docs"].snapshot([])).issues[key]
        assert (seen.title, seen.body) == ("Add a page", "Please.\n\nAsked for by `ana`.")
        assert {"ai", "ai:plan"} <= seen.labels
        assert key not in (await bot.trackers["shop"].snapshot([])).issues
    finally:
        await bot.close()

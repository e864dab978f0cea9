"""What people say on the dashboard of a project on GitHub is said there, and in whose name."""

import pytest

from bot.control.user_actions import Speaking
from bot.domain.wish import Wish
from bot.errors import NeedsHuman
from bot.settings import GitHubSettings, ProjectSettings, Settings
from tests.clients.grounds import REPO
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def speaking(github, tmp_path, told) -> Speaking:
    (tmp_path / "token").write_text(github.token_for("treehand-bot"))
    settings = Settings(
        state_dir=tmp_path / "state",
        github=GitHubSettings(api_url=github.url, token_file=tmp_path / "token"),
        projects=(ProjectSettings(name="shop", tracker="github", repository=REPO),),
    )
    return Speaking(settings, told.extend)


async def test_work_is_filed_and_an_order_is_a_comment_that_we_know_again(speaking, github, told):
    key = await speaking.ask(Wish("shop", "Add a cart", "Please.", ("ai",)), by="@acme/team")
    await speaking.order(key, "budget 10", by="Mira")
    (issue,) = [one for one in github.world.repository(REPO).issues.values() if one.title == "Add a cart"]
    assert issue.body == "Please.\n\nAsked for by `@acme/team`."
    assert told == ["shop", "shop"]
    (said,) = github.world.repository(REPO).comments.values()
    assert said.body.startswith("/ai budget 10")


async def test_what_is_nothing_is_not_said(speaking, github):
    with pytest.raises(NeedsHuman, match="A comment needs some text"):
        await speaking.say(f"{REPO}#1", " \n ", by="Mira")


async def test_pull_requests_on_github_are_merged_there(speaking):
    with pytest.raises(NeedsHuman, match="The pull requests of shop are not kept here"):
        await speaking.merge(f"{REPO}#1", by="Mira")

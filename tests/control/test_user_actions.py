"""Dashboard actions on a project on GitHub become issues and comments there, in the person's name."""

import pytest

from bot.control.user_actions import UserActionService
from bot.domain.issue import NewIssue
from bot.errors import NeedsHuman
from bot.settings.schema import GitHubSettings, ProjectSettings, Settings
from tests.fakes.github.fixtures import github
from tests.services.github.github_bot import REPO

__all__ = ["github"]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def actions(github, tmp_path, told) -> UserActionService:
    (tmp_path / "token").write_text(github.token_for("treehand-bot"))
    settings = Settings(
        state_dir=tmp_path / "state",
        github=GitHubSettings(api_url=github.url, token_file=tmp_path / "token"),
        projects=(ProjectSettings(name="shop", tracker="github", repository=REPO),),
    )
    return UserActionService(settings, told.extend)


async def test_a_new_task_becomes_an_issue_and_a_command_becomes_our_signed_comment(actions, github, told):
    key = await actions.file_issue(NewIssue("shop", "Add a cart", "Please.", ("ai",)), by="@acme/team")
    await actions.command(key, "budget 10", by="Mira")
    (issue,) = [one for one in github.world.repository(REPO).issues.values() if one.title == "Add a cart"]
    assert issue.body == "Please.\n\nAsked for by `@acme/team`."
    assert told == ["shop", "shop"]
    (said,) = github.world.repository(REPO).comments.values()
    assert said.body.startswith("/ai budget 10")


async def test_an_empty_comment_is_refused(actions, github):
    with pytest.raises(NeedsHuman, match="A comment needs some text"):
        await actions.comment(f"{REPO}#1", " \n ", by="Mira")


async def test_pull_requests_on_github_cannot_be_merged_here(actions):
    with pytest.raises(NeedsHuman, match="The pull requests of shop are not on the local forge"):
        await actions.merge(f"{REPO}#1", by="Mira")

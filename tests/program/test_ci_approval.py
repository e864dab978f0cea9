"""CI after approval: GitHub starts no workflow for an agent's commit before a person with push permission approves."""

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.fakes.github import gits
from tests.program.conftest import model_env
from tests.program.test_github import SHOP, content, follow, pulls, shop  # noqa: F401 - for the tests here

WAITS = "CI waits for approval"


@pytest.fixture
def held(shop):  # noqa: F811
    settings = shop.repository / "treehand.toml"
    settings.write_text(f'{settings.read_text()}ci = "after-approval"\n')
    return shop


def started(github) -> list[str]:
    """Returns the subjects of the commits whose workflows have started."""
    home = github.world.repository(SHOP)
    return [gits.git(home.path, "show", "--no-patch", "--format=%s", sha) for sha in home.workflows]


@pytest.mark.attack("T8", "Workflows with secrets run what an agent wrote before anybody has looked at it")
async def test_no_workflow_starts_before_an_approval_or_for_later_commits(held, github):
    world = github.world
    issue = world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        env = model_env(model)
        await held.does("once", **env)
        (pull,) = pulls(github)
        assert content(github, pull.pull.head).startswith("answer = 42")
        assert (started(github), WAITS in pull.body) == ([], True)
        assert any(WAITS in one.body for one in world.repository(SHOP).comments.values())

        world.comment(SHOP, pull.number, "/ai approve", by="eve")
        await held.does("once", **env)
        assert started(github) == [], "a stranger starts nothing"

        world.comment(SHOP, issue.number, "/ai approve", by="ana")
        await held.does("once", **env)
        await held.does("once", **env)
        assert started(github) == ["Start CI, which a person has approved"]
        assert WAITS not in pull.body
        assert content(github, pull.pull.head).startswith("answer = 42")

        world.comment(SHOP, pull.number, "Make it 43.", by="ana")
        await held.does("once", **env)
        assert content(github, pull.pull.head).startswith("answer = 43")
        assert (len(started(github)), WAITS in pull.body) == (1, True)
        world.comment(SHOP, pull.number, "/ai approve", by="ana")
        await held.does("once", **env)
    assert len(started(github)) == 2


async def test_ci_starts_at_once_by_default_without_an_extra_commit(shop, github):  # noqa: F811
    github.world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
    (pull,) = pulls(github)
    assert github.world.repository(SHOP).workflows == [pull.pull.head]
    assert (WAITS in pull.body, "CI" in started(github)[0]) == (False, False)

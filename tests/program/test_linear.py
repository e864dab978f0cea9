"""The user's story with issues in Linear and code on GitHub, through the installed command."""

import pytest

from bot.demo.model import Say, ScriptedModel
from tests.fakes.github import ServedGitHub, gits
from tests.fakes.linear.fixtures import linear
from tests.fakes.linear.server import ServedLinear
from tests.program.conftest import Person, model_env, write

__all__ = ["linear"]

SHOP, BOT = "acme/shop", "treehand-bot"


def follow(request):
    """Writes 42; 43 once somebody says so."""
    text = "answer = 43" if "43" in request.last_said else "answer = 42"
    return ((write(text),), (Say("Done as asked."),))[min(request.answers_since_said, 1)]


@pytest.fixture
def shop(person: Person, github: ServedGitHub, linear: ServedLinear) -> Person:
    """A person whose issues are in Linear and whose code is on GitHub."""
    settings = (
        f'state_dir = "{person.home}/state"\n[github]\napi_url = "{github.url}"\n[linear]\napi_url = "{linear.url}"\n'
        f"[limits]\nquiet_seconds = 0\n"
        f'[[projects]]\nname = "shop"\ntracker = "linear"\nteam = "ENG"\nrepository = "{SHOP}"\n'
    )
    (person.repository / "treehand.toml").write_text(settings)
    person.env["GITHUB_TOKEN"] = github.token_for(BOT)
    person.env["LINEAR_API_KEY"] = linear.token_for(BOT)
    return person


def pulls(github: ServedGitHub):
    return [issue for issue in github.world.repository(SHOP).issues.values() if issue.pull]


def content(github: ServedGitHub, ref: str, path: str = "app.py") -> str:
    return gits.git(github.world.repository(SHOP).path, "show", f"{ref}:{path}")


async def test_label_draft_comments_on_both_sides_merge_and_nothing_is_left(shop, github, linear):
    world = linear.world
    issue = world.open_issue("ENG", "The answer is wrong", "Make it 42.", by="gus")
    world.label(issue, "ai", by="ana")
    async with ScriptedModel(follow) as model:
        env = model_env(model)
        await shop.does("once", **env)
        (pull,) = pulls(github)
        assert (pull.pull.draft, pull.author.login, pull.state) == (True, BOT, "open")
        assert content(github, pull.pull.head) == "answer = 42"
        assert "Closes ENG-1" in pull.body
        assert world.state("ENG-1") == "In Review"
        assert "ai:review" in world.labels("ENG-1")
        assert [one.url for one in world.attachments("ENG-1") if "/pull/" in one.url]

        said = world.comment("ENG-1", "make it 43", by="bob")
        await shop.does("once", **env)
        assert content(github, pull.pull.head) == "answer = 43"
        assert world.reactions(said) == {("eyes", BOT), ("rocket", BOT)}

        github.world.merge(SHOP, pull.number, "squash", by="ana")
        await shop.does("once", **env)
    run = await shop.run("ENG-1")
    assert (run["phase"], run["worktree"], run["title"]) == ("done", "", "The answer is wrong")
    assert world.state("ENG-1") == "Done"
    assert world.labels("ENG-1") == set()
    assert len(pulls(github)) == 1
    ours = world.comments("ENG-1", by=BOT)
    assert len([one for one in ours if "Done" in one.body or "progress" in one.body]) >= 1
    assert len(ours) == 2  # progress, and the answer to bob
    assert list((shop.home / "state" / "worktrees" / "shop").iterdir()) == []
    assert shop.agents_alive() == []

"""A person force-pushes the branch while the agent works, with the installed command, on a stand-in for GitHub."""

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from tests.fakes.github import ServedGitHub, gits
from tests.program.conftest import Person, model_env, write

SHOP = "acme/shop"
BOT = "treehand-bot"
KEY = f"{SHOP}#1"


class Rewriting:
    """An issue whose agent does what the last text says, and a person who cleans up its branch."""

    def __init__(self, shop: Person, github: ServedGitHub) -> None:
        self.shop, self.world = shop, github.world
        self.path = github.world.repository(SHOP).path
        self.clean = ""

    def follow(self, request):
        step = request.answers_since_user_text
        for word, action in (
            ("WITHOUT", UseTool("Bash", {"command": "rm leak.py", "description": "Remove it"})),
            ("LEAK", write("password", "leak.py")),
            ("THIRD", write("3", "third.py")),
            ("AGAIN", write("another password", "leak.py")),
        ):
            if word in request.last_user_text:
                if step == 0 and word in {"THIRD", "AGAIN"}:
                    gits.git(self.path, "update-ref", f"refs/heads/{self.branch}", self.clean)
                return ((action,), (SayText(f"{word} done."),))[min(step, 1)]
        return ((write("answer = 42"),), (SayText("Done."),))[min(step, 1)]

    async def begin(self, env: dict[str, str]) -> None:
        issue = self.world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
        assert issue.number == 1
        await self.shop.does("once", **env)
        self.clean = self.tip()

    async def say(self, text: str, env: dict[str, str]) -> str:
        """Returns the phase afterwards."""
        self.world.comment_on_pull(SHOP, self.pull.number, text, by="ana")
        await self.shop.does("once", **env)
        return (await self.shop.run(KEY))["phase"]

    @property
    def pull(self):
        return next(one for one in self.world.repository(SHOP).issues.values() if one.pull)

    @property
    def branch(self) -> str:
        return self.pull.pull.head_ref

    def tip(self) -> str:
        return gits.git(self.path, "rev-parse", self.branch).strip()

    def history(self) -> list[str]:
        return gits.git(self.path, "rev-list", self.branch).split()

    def files(self) -> set[str]:
        return set(gits.git(self.path, "ls-tree", "-r", "--name-only", self.branch).split())

    def said(self) -> str:
        return "\n".join(comment.body for comment in self.world.repository(SHOP).comments.values())


@pytest.fixture
def story(person: Person, github: ServedGitHub) -> Rewriting:
    settings = (
        f'state_dir = "{person.home}/state"\n[github]\napi_url = "{github.url}"\n[limits]\nquiet_seconds = 0\n'
        f'[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "{SHOP}"\n'
    )
    (person.repository / "treehand.toml").write_text(settings)
    person.env["GITHUB_TOKEN"] = github.token_for(BOT)
    return Rewriting(person, github)


async def test_a_commit_that_a_person_drops_during_a_turn_is_not_published_again(story):
    async with ScriptedModel(story.follow) as model:
        env = model_env(model)
        await story.begin(env)
        assert await story.say("LEAK it.", env) == "review"
        leaked = story.tip()
        assert await story.say("Write THIRD.", env) == "review"

    assert leaked not in story.history()
    assert story.history()[1] == story.clean
    assert "third.py" in story.files()
    assert "leak.py" not in story.files()
    author = story.world.user(BOT)
    assert gits.git(story.path, "show", "--no-patch", "--format=%ae", story.branch).startswith(f"{author.id}+{BOT}@")
    assert f"Done in {story.tip()[:10]}." in story.said()


async def test_a_turn_that_does_not_fit_on_the_rewritten_branch_asks_and_goes_on_after_a_reply(story):
    async with ScriptedModel(story.follow) as model:
        env = model_env(model)
        await story.begin(env)
        await story.say("LEAK it.", env)
        leaked = story.tip()
        assert await story.say("Do it AGAIN.", env) == "asking"
        assert story.tip() == story.clean
        assert "has rewritten" in story.said()
        assert "refs/treehand/salvage/" in story.said()
        assert await story.say("Go on WITHOUT it.", env) == "review"

    assert leaked not in story.history()
    assert story.history()[1] == story.clean
    assert "leak.py" not in story.files()

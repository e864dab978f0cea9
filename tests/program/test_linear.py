"""The user's story with issues in Linear and code on GitHub, with the installed command."""

import json

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.fakes.github import ServedGitHub, gits
from tests.fakes.linear.fixtures import linear
from tests.fakes.linear.server import ServedLinear
from tests.program.conftest import Person, model_env, write

__all__ = ["linear"]

SHOP, BOT = "acme/shop", "treehand-bot"


def follow(request):
    """Writes 42; 43 after a comment in any turn asks for it."""
    text = "answer = 43" if "make it 43" in str(request.user_texts) else "answer = 42"
    return ((write(text),), (SayText("Done as asked."),))[min(request.answers_since_user_text, 1)]


@pytest.fixture
def shop(person: Person, github: ServedGitHub, linear: ServedLinear) -> Person:
    """A user whose issues are in Linear and whose code is on GitHub."""
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


async def test_a_run_from_label_over_comments_on_both_sides_to_merge_leaves_nothing_over(shop, github, linear):
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


async def test_comments_in_linear_and_on_the_pull_request_steer_the_same_run(shop, github, linear):
    linear.world.open_issue("ENG", "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
        (pull,) = pulls(github)
        linear.world.comment("ENG-1", "and a test, please", by="bob")
        github.world.comment_on_pull(SHOP, pull.number, "make it 43", by="ana")
        await shop.does("once", **model_env(model))
    assert content(github, pull.pull.head) == "answer = 43"
    told = json.dumps([request.user_texts for request in model.requests])
    assert "and a test, please" in told
    assert "make it 43" in told
    (in_linear,) = [one.body for one in linear.world.comments("ENG-1", by=BOT) if "and a test" in one.body]
    here = [one.body for one in github.world.repository(SHOP).comments.values() if one.author.login == BOT]
    assert [one for one in here if "make it 43" in one]
    assert "make it 43" not in in_linear
    assert len(pulls(github)) == 1


async def test_commands_of_a_guest_are_ignored_and_a_guests_label_is_asked_about(shop, github, linear):
    linear.world.open_issue("ENG", "The answer is wrong", "Make it 42.", by="ana")
    linear.world.label("ENG-1", "ai", by="gus")
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
        assert (pulls(github), model.requests) == ([], [])
        (question,) = linear.world.comments("ENG-1", by=BOT)
        assert "gus added the label `ai` but has no permission to request work here" in question.body

        linear.world.comment("ENG-1", "/ai approve", by="gus")
        await shop.does("once", **model_env(model))
        assert pulls(github) == []
        linear.world.comment("ENG-1", "/ai approve", by="ana")
        await shop.does("once", **model_env(model))
    assert len(pulls(github)) == 1


async def test_without_all_databases_a_run_continues_and_nothing_is_repeated(shop, github, linear):
    linear.world.open_issue("ENG", "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
        for file in (shop.home / "state").glob("*.db*"):
            file.unlink()
        asked = len(model.requests)
        await shop.does("once", **model_env(model))
        assert len(model.requests) == asked
        assert (await shop.run("ENG-1"))["phase"] == "review"

        linear.world.comment("ENG-1", "make it 43", by="ana")
        await shop.does("once", **model_env(model))
        (pull,) = pulls(github)
        assert content(github, pull.pull.head) == "answer = 43"
    assert len(linear.world.comments("ENG-1", by=BOT)) == 2


async def test_say_and_stop_become_comments_in_linear(shop, github, linear):
    linear.world.open_issue("ENG", "The answer is wrong", "Make it 42.", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
        await shop.does("say", "eng-1", "make it 43")
        await shop.does("once", **model_env(model))
        (pull,) = pulls(github)
        assert content(github, pull.pull.head) == "answer = 43"
        await shop.does("stop", "ENG-1")
        await shop.does("once", **model_env(model))
    assert (await shop.run("ENG-1"))["phase"] == "done"
    assert linear.world.state("ENG-1") == "Backlog"
    assert "ENG-1" in await shop.does("show", "#1")


async def test_one_team_serves_two_repositories_and_an_unassigned_issue_gets_one_question(shop, github, linear):
    github.world.add_repository("acme/blog", ana="write", **{BOT: "write"})
    file = shop.repository / "treehand.toml"
    file.write_text(
        f'{file.read_text()}[[projects]]\nname = "blog"\ntracker = "linear"\nteam = "ENG"\nrepository = "acme/blog"\n'
    )
    linear.world.open_issue("ENG", "Which one?", "Make it 42.", by="ana", labels=["ai"])
    linear.world.open_issue("ENG", "The blog", "Make it 42.", by="ana", labels=["ai", "repo:blog"])
    async with ScriptedModel(follow) as model:
        await shop.does("once", **model_env(model))
        await shop.does("once", **model_env(model))
        assert pulls(github) == []
        assert [one for one in github.world.repository("acme/blog").issues.values() if one.pull]
        (asked,) = linear.world.comments("ENG-1", by=BOT)
        assert "`repo:shop`, `repo:blog`" in asked.body

        linear.world.label("ENG-1", "repo:shop", by="ana")
        await shop.does("once", **model_env(model))
    assert len(pulls(github)) == 1


async def test_a_read_only_key_is_reported_without_a_crash(shop, github, linear):
    shop.env["LINEAR_API_KEY"] = linear.token_for(BOT, scopes=("read",))
    linear.world.open_issue("ENG", "The answer is wrong", by="ana", labels=["ai"])
    async with ScriptedModel(follow) as model:
        daemon = await shop.start("run", TREEHAND_POLL__INTERVAL="1", **model_env(model))
        await shop.until("ENG-1", "review")  # labels and comments only show the run
        daemon.terminate()
        await daemon.wait()
    said = (await daemon.stderr.read()).decode() + (await daemon.stdout.read()).decode()
    assert "Traceback" not in said
    assert "The key has no permission for this request" in await shop.does("show", "ENG-1")


async def test_init_reads_the_team_and_creates_its_labels(shop, github, linear):
    (shop.repository / "treehand.toml").unlink()
    env = {"TREEHAND_LINEAR__API_URL": linear.url, "TREEHAND_GITHUB__API_URL": github.url}
    wrong = await shop.treehand("init", "--team", "OPS", "--repository", SHOP, **env)
    assert (wrong.code, "The key sees no team OPS in Linear. It sees: ENG." in wrong.err) == (2, True)
    assert not (shop.repository / "treehand.toml").exists()

    assert "Issues are in Linear, team ENG" in await shop.does("init", "--team", "eng", "--repository", SHOP, **env)
    said = (await shop.treehand("check", "-v", **env)).out
    assert "team ENG (Engineering)" in said
    assert "when work begins: In Progress; when a pull request is open: In Review; when merged: Done" in said
    found = json.loads((await shop.treehand("check", "--json", **env)).out)
    assert found["shop/labels"]["ok"]
    assert found["shop/linear"]["detail"].startswith("treehand-bot in ")


async def test_check_reports_mistakes_in_linear_settings(shop, github, linear):
    file = shop.repository / "treehand.toml"
    file.write_text(file.read_text().replace("[limits]", 'started = "Doing"\n[limits]', 1))
    found = json.loads((await shop.treehand("check", "--json")).out)
    assert found["shop/states"]["detail"].startswith(
        "linear.started = 'Doing' is not a state of team ENG. Its states: "
    )
    assert "`treehand check --fix` creates them" in found["shop/labels"]["detail"]
    linear.world.revoke(shop.env["LINEAR_API_KEY"])
    found = json.loads((await shop.treehand("check", "--json")).out)
    assert found["shop/linear"]["detail"].startswith("Linear rejects the key")

"""A base that moves while a pull request waits, with the installed command and a scripted model."""

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, model_env, script_of, write


@pytest.fixture
async def offered(ready):
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        await ready.does("once", **model_env(model))
    assert (await ready.run("shop#1"))["phase"] == "review"
    return ready


def commits(person, text: str, path: str = "app.py") -> None:
    (person.repository / path).write_text(text)
    person.git("add", ".")
    person.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=More")


async def test_a_merge_refused_for_conflicts_works_after_the_agent_resolved_them(offered):
    commits(offered, "answer = 40\n")
    refused = await offered.treehand("pr", "merge", "2")
    assert "app.py" in refused.err
    asked = []

    def resolve(request):
        asked.append("".join(request.user_texts))
        return ((write("answer = 40 + 2"),), DONE)[min(request.answers_since_user_text, 1)]

    async with ScriptedModel(resolve) as model:
        await offered.does("once", **model_env(model))
        run = await offered.run("shop#1")
        assert (run["phase"], run["turns"]) == ("review", 2)
        assert "Merge conflict in app.py" in asked[-1]
        await offered.does("pr", "merge", "2")
        await offered.does("once", **model_env(model))
    assert offered.git("show", "main:app.py") == "answer = 40 + 2"
    assert (await offered.run("shop#1"))["phase"] == "done"


async def test_rebase_merges_the_base_without_a_model_if_git_can(offered):
    commits(offered, "more = 1\n", "more.py")
    await offered.does("say", "1", "/ai rebase")
    await offered.does("once", ANTHROPIC_BASE_URL="http://127.0.0.1:9", ANTHROPIC_API_KEY="stand-in")

    run = await offered.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 2)
    assert "more.py" not in await offered.does("pr", "show", "2")
    bare = offered.state_dir / "forge" / "shop.git"
    assert offered.git(f"--git-dir={bare}", "show", "treehand/shop-1:more.py") == "more = 1"

"""The user's story with the installed command; only the model is scripted."""

import json

from bot.demo.scripted_model import Pause, SayText, ScriptedModel
from tests.program.conftest import DONE, model_env, script_of, write


def follow(request):
    """Does the latest request: 42, or 43 after a comment asks for it."""
    answer = "43" if "43" in request.last_user_text else "42"
    return ((write(f"answer = {answer}"),), (SayText(f"The answer is {answer} now."),))[
        min(request.answers_since_user_text, 1)
    ]


async def test_a_run_from_label_over_a_comment_to_merge_leaves_nothing_over(ready):
    (ready.repository / "notes.txt").write_text("mine, not committed")
    before = ready.git("status", "--porcelain"), ready.git("symbolic-ref", "HEAD")
    async with ScriptedModel(follow) as model:
        env = model_env(model)
        assert await ready.does("issue", "new", "The answer is wrong", "--label", "ai", "--as", "bob") == "shop#1"
        await ready.does("once", **env)
        run = await ready.run("shop#1")
        assert (run["phase"], run["person"]) == ("review", "bob")
        assert run["changed"] == {"files": 1, "added": 1, "removed": 1}
        assert run["pull_request"] == {"number": 2, "url": run["pull_request"]["url"], "state": "open", "draft": True}
        assert "+answer = 42" in await ready.does("pr", "show", "2")

        await ready.does("pr", "comment", "2", "make it 43, please")
        await ready.does("once", **env)
        shown = await ready.does("pr", "show", "2")
        assert "+answer = 43" in shown
        assert "🚀" in shown
        assert "> make it 43, please" in shown
        proposal = json.loads(await ready.does("pr", "show", "2", "--json"))
        assert (proposal["number"], proposal["draft"]) == (2, True)
        assert "+answer = 43" in proposal["diff"]
        assert json.loads(await ready.does("pr", "list", "--json"))[0]["branch"] == run["branch"]

        await ready.does("pr", "merge", "2")
        await ready.does("once", **env)

    assert ready.git("show", "main:app.py") == "answer = 43"
    assert (ready.git("status", "--porcelain"), ready.git("symbolic-ref", "HEAD")) == before
    assert (ready.repository / "app.py").read_text() == "answer = 43\n"
    run = await ready.run("shop#1")
    assert (run["phase"], run["worktree"]) == ("done", "")
    assert [one["person"] for one in json.loads(await ready.does("cost", "--by", "person", "--json"))] == ["bob"]
    assert "[ai" not in await ready.does("issue", "list", "--all")
    assert list((ready.state_dir / "worktrees" / "shop").iterdir()) == []
    assert ready.agents_alive() == []


async def test_work_of_a_stopped_run_is_salvaged_and_can_be_restored(ready):
    slow = script_of((write("answer = 42"),), (Pause(60),), DONE)
    async with ScriptedModel(slow) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        daemon = await ready.start("run", **model_env(model))
        await model.wait_for_requests(2)
        await ready.does("stop", "1")
        await ready.until("shop#1", "done")
        daemon.terminate()
        assert await daemon.wait() == 0

    assert "refs/treehand/salvage/shop-1/1" in await ready.does("issue", "show", "1")
    homes = ready.state_dir / "homes" / "shop"
    assert f"would remove {homes / 'treehand-shop-1'}" in await ready.does("clean", "--dry-run")
    cleaned = await ready.does("clean")
    assert f"{homes / 'treehand-shop-1'} removed" in cleaned
    assert "refs/treehand/salvage/shop-1/1" in cleaned
    assert "(1 file, kept for 0 of 30 days, on this machine)" in cleaned
    for _ in range(2):
        await ready.does("restore", "1")
    assert ready.git("show", "restored/shop-1:app.py") == "answer = 42"
    assert ready.git("branch", "--format=%(refname:short)", "--list", "restored/*") == "restored/shop-1"


async def test_unusual_issue_titles_get_valid_branches_and_pull_requests(ready):
    titles = ["?!…", "🫖 emoji 👨‍👩‍👧", "tab\tand\x07bell", "../../etc --upload-pack=x", "ok"]
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        for title in titles:
            await ready.does("issue", "new", title, "--label", "ai")
        answer = await ready.treehand("issue", "new", "long", "--body", "-", "--label", "ai", stdin="x" * 60_000)
        assert answer.code == 0, answer
        await ready.does("once", **model_env(model))
    phases = [run["phase"] for run in (await ready.state())["runs"]]
    assert phases == ["review"] * 6
    branches = [run["branch"] for run in (await ready.state())["runs"]]
    assert branches == [f"treehand/shop-{number}" for number in range(1, 7)]


async def test_a_comment_reaches_the_working_agent(ready):
    def play(request):
        if "43" in "".join(request.user_texts):
            return follow(request)
        return ((write("answer = 42"),), (Pause(0.3), write("waiting", "log.txt")))[
            min(request.answers_since_user_text, 1)
        ]

    async with ScriptedModel(play) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        daemon = await ready.start("run", **model_env(model))
        await model.wait_for_requests(2)
        await ready.does("say", "1", "make it 43, please")
        run = await ready.until("shop#1", "review")
        daemon.terminate()
        assert await daemon.wait() == 0
    assert run["turns"] == 1
    assert "+answer = 43" in await ready.does("pr", "show", "1")

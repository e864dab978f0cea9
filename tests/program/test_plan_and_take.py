"""Planning and takeover of a worktree, with the installed command and a scripted model."""

import subprocess
from pathlib import Path

from bot.demo.scripted_model import Pause, SayText, ScriptedModel
from tests.program.conftest import DONE, model_env, script_of, write


def commit_all(folder: Path, env: dict[str, str]) -> None:
    me = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
    for words in (("add", "."), (*me, "commit", "--quiet", "--message=mine")):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)


async def test_a_plan_is_shown_approved_and_carried_out(ready):
    def play(request):
        if "approved your plan" in request.last_user_text:
            return ((write("answer = 42"),), DONE)[min(request.answers_since_user_text, 1)]
        return ((write("answer = 0"),), (SayText("I would make it 42."),))[min(request.answers_since_user_text, 1)]

    async with ScriptedModel(play) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai", "--label", "ai:plan")
        await ready.does("once", **model_env(model))
        run = await ready.run("shop#1")
        assert (run["phase"], run["pull_request"]) == ("asking", None)
        shown = await ready.does("issue", "show", "1")
        assert "> I would make it 42." in shown
        assert "refs/treehand/salvage/shop-1/1" in shown

        await ready.does("say", "1", "/ai approve")
        await ready.does("once", **model_env(model))
    assert (await ready.run("shop#1"))["phase"] == "review"
    assert "+answer = 42" in await ready.does("pr", "show", "1")


async def test_a_person_takes_the_worktree_over_works_in_it_and_hands_it_back(ready):
    def play(request):
        if "How far" in request.last_user_text:
            return (SayText("Half-way."),)
        if "took over your worktree" in request.last_user_text:
            return DONE
        return ((write("answer = 42"),), (Pause(60),))[min(request.answers_since_user_text, 1)]

    async with ScriptedModel(play) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        daemon = await ready.start("run", **model_env(model))
        await model.wait_for_requests(2)
        folder, command = (await ready.does("take", "1", **model_env(model))).splitlines()
        assert ready.agents_alive() == []
        assert (await ready.run("shop#1"))["reason"] == "ana has taken over the worktree; `/ai give` gives it back"
        shown = await ready.does("issue", "show", "1")
        assert folder in shown
        assert command in shown

        assert (Path(folder) / "app.py").read_text() == "answer = 42\n"
        (Path(folder) / "by_hand.py").write_text("import app\n")
        commit_all(Path(folder), ready.env)
        (Path(folder) / "app.py").write_text("answer = 43\n")

        await ready.does("give", "1")
        await ready.until("shop#1", "review")
        daemon.terminate()
        assert await daemon.wait() == 0
        told = model.requests[-1].last_user_text
        assert "ana took over your worktree" in told
        assert "+answer = 43" in told
        assert "+import app" in told

    assert "+answer = 43" in await ready.does("pr", "show", "1")
    log = ready.git("--git-dir", str(ready.state_dir / "mirrors/shop.git"), "log", "--format=%s", "treehand/shop-1")
    assert log.splitlines() == ["Changes by ana", "One"]


async def test_take_is_refused_before_an_agent_has_started(ready):
    async with ScriptedModel(script_of(DONE)) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        answer = await ready.treehand("take", "1")
        assert (answer.code, answer.out) == (1, "")
        await ready.does("once", **model_env(model))
        answer = await ready.treehand("take", "1")
    assert answer.code == 0
    assert str(ready.state_dir / "worktrees/shop/shop-1") in answer.out
    assert "Do not change anything yet" in answer.err

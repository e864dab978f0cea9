"""The pool of worktrees with the installed command: filled, taken, shown, and killed in between."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, Person, model_env, script_of, write
from tests.program.test_setup import choose


async def until(there: Callable[[], object]) -> None:
    async with asyncio.timeout(90):
        while not there():
            await asyncio.sleep(0.05)


def waiting(person: Person) -> list[Path]:
    return list((person.state_dir / "pools" / "shop" / "ready").glob("*"))


async def test_a_run_takes_a_pooled_worktree_and_the_pool_is_refilled(ready):
    choose(ready, pool=1, setup=["echo once >> made.txt"])
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        daemon = await ready.start("run", **model_env(model))
        await until(lambda: waiting(ready))
        assert "1 of 1 worktrees are ready" in (await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")).out
        (first,) = [note.name for note in waiting(ready)]
        await ready.does("issue", "new", "Look", "--label", "ai")
        await ready.until("shop#1", "review")
        await until(lambda: [note.name for note in waiting(ready)] not in ([], [first]))
        daemon.terminate()
        assert await daemon.wait() == 0
    folder = Path((await ready.run("shop#1"))["worktree"])
    assert folder.name == first
    assert (folder / "made.txt").read_text() == "once\n"
    shown = await ready.does("pr", "show", "2")
    assert "made.txt" not in shown.replace("`made.txt`: written by setup or a server", "")


async def test_a_pooled_worktree_left_unfinished_by_a_kill_is_not_taken(ready):
    choose(ready, pool=1, setup=["echo half > half.txt; sleep 302"])
    there = ready.state_dir / "worktrees" / "shop"
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        daemon = await ready.start("run", **model_env(model))
        await until(lambda: list(there.glob("ready.*/half.txt")))
        daemon.kill()
        await daemon.wait()
        settings = ready.repository / "treehand.toml"
        settings.write_text(settings.read_text().replace("sleep 302", "rm half.txt"))
        await ready.does("issue", "new", "Look", "--label", "ai")
        await ready.does("once", **model_env(model))
    assert [path.name for path in there.iterdir()] == ["shop-1"]
    assert (await ready.run("shop#1"))["phase"] == "review"
    assert ready.agents_alive() == []


async def test_a_failure_to_fill_the_pool_is_shown_by_check_and_status(ready):
    choose(ready, pool=2, setup=["exit 3"])
    async with ScriptedModel(script_of(DONE)) as model:
        daemon = await ready.start("run", **model_env(model))
        await until((ready.state_dir / "pools" / "shop" / "trouble").exists)
        daemon.terminate()
        await daemon.wait()
    why = "exit 3 ended with exit code 3"
    lines = (await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")).out.splitlines()
    (line,) = [line for line in lines if "shop/pool" in line]
    assert line.startswith("failed")
    assert f"0 of 2 worktrees are ready. The pool is not filled: {why}" in line
    found = (await ready.state())["health"]["pool shop"]
    assert (found["ok"], found["detail"]) == (False, f"the pool is not filled: {why}")
    assert "runs start" in found["still"]

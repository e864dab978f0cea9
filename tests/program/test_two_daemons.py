"""Two installed daemons, each with its own state directory, on one repository (F17)."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.fakes.github import ServedGitHub, gits
from tests.program.conftest import SECONDS, Person, model_env, script_of, write

SHOP = "acme/shop"
BOT = "treehand-bot"
KEY = f"{SHOP}#1"
CLAIM = "refs/treehand/claim"


@pytest.fixture
def daemons(person: Person, github: ServedGitHub, program_seen: Path, tmp_path: Path) -> list[Person]:
    """Both use the same token, so each recognizes what the other wrote."""
    person.env["GITHUB_TOKEN"] = github.token_for(BOT)
    return [settled(person, github.url, program_seen, tmp_path / name) for name in ("one", "two")]


def settled(person: Person, url: str, program: Path, home: Path) -> Person:
    folder = home / "shop"
    folder.mkdir(parents=True)
    (folder / "treehand.toml").write_text(
        f'state_dir = "{home}/state"\n[github]\napi_url = "{url}"\n[poll]\ninterval = 0.5\n'
        '[limits]\nquiet_seconds = 0\nclaim_seconds = 6\n[sandbox]\nkind = "none"\n'
        f'[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "{SHOP}"\n'
    )
    shutil.copytree(program, home / "state" / "agent")
    env = {**person.env, "HOME": str(home)}
    return replace(person, home=home, repository=folder, env=env)  # who is started by either is ended with the person


async def comes_true(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not fact():
            await asyncio.sleep(0.05)


def log_of(daemon: Person) -> str:
    file = daemon.home / "state" / "treehand.log"
    return file.read_text() if file.exists() else ""


def writes(github: ServedGitHub) -> list[str]:
    calls = [(call.method, call.path) for call in list(github.history)]
    return [f"{verb} {path}" for verb, path in calls if verb != "GET" and "git-" not in path and "graphql" not in path]


@pytest.mark.timeout(300)
async def test_a_daemon_that_was_suspended_during_a_turn_does_nothing_twice(daemons, github):
    world, (one, two) = github.world, daemons
    issue = world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana")
    world.label(SHOP, issue.number, "ai", by="ana")
    home = world.repository(SHOP)
    async with ScriptedModel(script_of((write("answer = 42"),), (SayText("Done."),))) as model:
        first = await one.start("run", **model_env(model))
        await comes_true(lambda: one._phase(KEY) == "working")
        second = await two.start("run", **model_env(model))
        await comes_true(lambda: "lease held elsewhere" in log_of(two))
        assert two._phase(KEY) == ""
        os.kill(first.pid, signal.SIGSTOP)

        await comes_true(lambda: two._phase(KEY) == "review")
        os.kill(second.pid, signal.SIGSTOP)  # so that whatever is written from here on is written by the other
        await asyncio.sleep(0.5)
        before = len(writes(github))
        os.kill(first.pid, signal.SIGCONT)
        await comes_true(lambda: "lease held elsewhere" in log_of(one))
        assert writes(github)[before:] == []
        os.kill(second.pid, signal.SIGCONT)
        said = (await one.state())["health"]["lease shop"]
        assert (said["ok"], said["detail"].partition(" (")[0]) == (False, "another daemon holds it")

        pulls = [one for one in home.issues.values() if one.pull]
        world.merge(SHOP, pulls[0].number, "squash", by="ana")
        await comes_true(lambda: "done" in {one._phase(KEY), two._phase(KEY)})
        for daemon in (second, first):
            daemon.terminate()
            assert await asyncio.wait_for(daemon.wait(), 40) == 0
    assert len([one for one in home.issues.values() if one.pull]) == 1
    assert len([one for one in home.comments.values() if one.number == issue.number]) == 1
    assert gits.git(home.path, "show", "main:app.py").startswith("answer = 42")
    assert world.tip(SHOP, pulls[0].pull.head_ref) is None
    assert one.agents_alive() == two.agents_alive() == []


@pytest.mark.timeout(300)
async def test_an_orderly_shutdown_hands_the_lease_over_at_once_and_check_shows_the_holder(daemons, github):
    world, (one, two) = github.world, daemons
    issue = world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana")
    world.label(SHOP, issue.number, "ai", by="ana")
    async with ScriptedModel(script_of((write("answer = 42"),), (SayText("Done."),))) as model:
        env = {**model_env(model), "TREEHAND_LIMITS__CLAIM_SECONDS": "600"}
        first = await one.start("run", **env)
        await comes_true(lambda: one._phase(KEY) == "review")
        second = await two.start("run", **env)
        await comes_true(lambda: "lease held elsewhere" in log_of(two))
        assert "shop/lease   this daemon holds it (" in (await one.treehand("check", "-v", **env)).out
        assert "shop/lease   another daemon holds it (" in (await two.treehand("check", "-v", **env)).out

        first.terminate()
        assert await asyncio.wait_for(first.wait(), 40) == 0
        assert '"free": true' in gits.git(world.repository(SHOP).path, "log", "-1", "--format=%B", CLAIM)
        assert two._phase(KEY) == ""
        second.terminate()
        await second.wait()
        await two.does("once", **env)
        assert two._phase(KEY) == "review"

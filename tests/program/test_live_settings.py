"""Settings that change while the installed daemon runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, SECONDS, Person, model_env, script_of, write
from tests.program.test_setup import commit, package


async def logged(person: Person, words: str) -> str:
    """Waits for a line in the daemon's log."""
    file = person.state_dir / "treehand.log"
    async with asyncio.timeout(SECONDS):
        while True:
            lines = file.read_text().splitlines() if file.exists() else []
            if found := next((line for line in lines if words in line), ""):
                return found
            await asyncio.sleep(0.05)


def settings_of(person: Person) -> Path:
    return person.repository / "treehand.toml"


@pytest.fixture
async def running(ready: Person) -> AsyncIterator[Person]:
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        await ready.start("run", **model_env(model))
        await logged(ready, "sandbox self-test passed")
        yield ready


async def test_a_host_that_is_allowed_while_the_daemon_runs_counts_for_the_next_retry(running):
    """The proxy answers 502 for a host that it lets through and cannot find, and 403 for one that is not allowed."""
    ask = "node -e \"require('http').request({port: 3128, method: 'CONNECT', path: 'npm.invalid:443'})"
    ask += ".on('connect', it => process.exit(it.statusCode == 502 ? 0 : 3)).end()\""
    commit(running, package(prepare=ask))
    await running.does("issue", "new", "Look", "--label", "ai")
    await running.until("shop#1", "asking")
    assert "npm.invalid" in await running.does("issue", "show", "1")
    file = settings_of(running)
    file.write_text(f'{file.read_text()}\n[sandbox]\nsetup_hosts = ["npm.invalid"]\n')
    assert "settings: sandbox.setup_hosts += npm.invalid" in await logged(running, "settings: sandbox")
    assert "settings: sandbox.setup_hosts += npm.invalid" in await running.does("show", "1")
    await running.does("retry", "1")
    await running.until("shop#1", "review")


async def test_a_mistake_in_the_file_changes_nothing_and_is_shown_with_its_line(running):
    file = settings_of(running)
    before = file.read_text()
    file.write_text(f"{before}\n[sandbox]\nsetup_host = []\n")
    line = len(before.splitlines()) + 3
    told = await logged(running, "settings not changed")
    assert f"line {line}: sandbox.setup_host is not a setting. Did you mean `setup_hosts`?" in told
    answer = await running.treehand("status")
    assert answer.code == 2
    file.write_text(before)
    await logged(running, "settings: the file was saved without a change")
    await running.does("issue", "new", "Look", "--label", "ai")
    await running.until("shop#1", "review")


async def test_what_needs_a_restart_is_named(running):
    file = settings_of(running)
    text = file.read_text().replace('name = "shop"', 'name = "shop"\ntrusted = ["bea"]')
    file.write_text(text.replace("per_issue_usd = 5", "per_issue_usd = 6"))
    assert "projects.trusted" in await logged(running, "settings changed that take effect after a restart")
    await logged(running, "settings: budget.per_issue_usd = 6 (was 5)")
    async with asyncio.timeout(SECONDS):
        while "takes effect after a restart: projects.trusted" not in (await running.treehand("status")).out:
            await asyncio.sleep(0.5)

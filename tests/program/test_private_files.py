"""Files of Treehand are closed to other users of the machine; files of agents have ordinary modes."""

import asyncio
import os
import pty
import re
import stat
from pathlib import Path

import httpx
import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from tests.program.conftest import TREEHAND, model_env, script_of
from tests.program.test_webhooks import free_port

_MAKE = (
    "umask > umask.txt; touch made.txt; printf '#!/bin/sh\\n' > made.sh; chmod +x made.sh; mkdir folder; touch folder/x"
)
MAKE_FILES = UseTool("Bash", {"command": _MAKE, "description": "Make some files"})
STEPS = script_of((MAKE_FILES,), (SayText("Done."),))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.attack("T17", "Another user of the machine reads the state directory of a version before")
async def test_the_state_directory_is_closed_to_others_even_if_it_was_open(ready):
    ready.state_dir.chmod(0o755)
    async with ScriptedModel(STEPS) as model:
        await ready.does("issue", "new", "Make files", "--label", "ai")
        once = await ready.treehand("once", **model_env(model))
        assert once.code == 0, once.err
    assert mode(ready.state_dir) == 0o700
    assert re.findall(r"path=.* detail=was open to other users \(mode 0755\)", once.err) != []
    kept = [ready.state_dir / name for name in ("treehand.db", "treehand.log", "transcripts", "worktrees", "mirrors")]
    assert [path.name for path in kept if mode(path) & 0o077] == []
    assert "and is closed" not in (await ready.treehand("once", ANTHROPIC_API_KEY="k")).err


async def test_files_of_agents_have_ordinary_modes(ready):
    async with ScriptedModel(STEPS) as model:
        await ready.does("issue", "new", "Make files", "--label", "ai")
        await ready.does("once", **model_env(model))
    [worktree] = (ready.state_dir / "worktrees" / "shop").iterdir()
    assert (worktree / "umask.txt").read_text() == "0022\n"
    modes = {name: mode(worktree / name) for name in ("app.py", "made.txt", "made.sh", "folder", "folder/x")}
    assert modes == {"app.py": 0o644, "made.txt": 0o644, "made.sh": 0o755, "folder": 0o755, "folder/x": 0o644}
    await ready.does("pr", "merge", "1")
    files = ready.git("ls-tree", "-r", "main")
    assert re.findall(r"^(\d+) .*\t(made.*)$", files, re.MULTILINE) == [("100755", "made.sh"), ("100644", "made.txt")]


async def test_an_agent_can_read_the_commit_of_its_previous_turn(ready):
    def play(request):
        if "Look at it" in request.last_user_text:
            look = UseTool("Bash", {"command": "git show --stat HEAD > seen.txt 2>&1", "description": "Look"})
            return ((look,), (SayText("Done."),))[min(request.answers_since_user_text, 1)]
        return STEPS(request)

    async with ScriptedModel(play) as model:
        await ready.does("issue", "new", "Make files", "--label", "ai")
        await ready.does("once", **model_env(model))
        await ready.does("say", "1", "Look at it")
        await ready.does("once", **model_env(model), TREEHAND_LIMITS__QUIET_SECONDS="0")
    [worktree] = (ready.state_dir / "worktrees" / "shop").iterdir()
    assert "made.sh" in (worktree / "seen.txt").read_text()


async def test_files_written_into_the_users_repository_have_ordinary_modes(ready):
    assert mode(ready.repository / "treehand.toml") == 0o644
    async with ScriptedModel(STEPS) as model:
        await ready.does("issue", "new", "Make files", "--label", "ai")
        await ready.does("once", **model_env(model))
    before = _folders(ready.repository / ".git")
    await ready.does("pr", "merge", "1")
    new = _folders(ready.repository / ".git") - before
    assert {mode(path) for path in new} == {0o755}


def _folders(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_dir()}


async def test_check_closes_an_open_state_dir_and_reports_it(ready):
    ready.state_dir.chmod(0o750)
    checked = (await ready.treehand("check", "--json", ANTHROPIC_API_KEY="k")).json()
    assert "was open to other users (mode 0750), and is closed to them now" in checked["state_dir"]["detail"]
    assert mode(ready.state_dir) == 0o700


@pytest.mark.attack("T17", "Another user of the machine steers by the dashboard when no token is set")
async def test_the_dashboard_requires_a_login_and_the_link_of_treehand_login_gives_it(ready):
    port = free_port()
    env = {"TREEHAND_WEB__BIND": f"127.0.0.1:{port}", "TREEHAND_WEB__LOGIN": "always", "ANTHROPIC_API_KEY": "k"}
    daemon = await ready.start("run", **env)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", follow_redirects=False) as browser:
        await _until_up(browser)
        assert (await browser.get("/api/v1/state")).status_code == 401
        link = await ready.does("login", **env)
        page = await browser.get(link)
        code = re.findall(r'name="code" value="([^"]+)"', page.text)[0]
        for status in (303, 401):
            answer = await browser.post("/login", data={"code": code, "name": "Bo"})
            assert answer.status_code == status, "a link is good once"
        assert (await browser.get("/api/v1/state")).status_code == 200
    daemon.terminate()
    out, err = await daemon.communicate()
    token = (ready.state_dir / "web.token").read_text()
    assert (mode(ready.state_dir / "web.token"), len(token) > 40) == (0o600, True)
    printed = out.decode() + err.decode() + (ready.state_dir / "treehand.log").read_text()
    assert "code=" not in printed
    assert token not in printed
    assert "`treehand login` prints a link" in printed


async def _until_up(browser: httpx.AsyncClient) -> None:
    while True:
        try:
            await browser.get("/healthz")
        except httpx.ConnectError:
            continue
        return


async def test_on_a_terminal_the_daemon_prints_the_login_link(ready):
    ours, theirs = pty.openpty()
    env = {"TREEHAND_WEB__BIND": f"127.0.0.1:{free_port()}", "TREEHAND_WEB__LOGIN": "always", "ANTHROPIC_API_KEY": "k"}
    daemon = await asyncio.create_subprocess_exec(
        *TREEHAND, "run", cwd=ready.repository, env={**ready.env, **env}, start_new_session=True,
        stdout=theirs, stderr=theirs,
    )  # fmt: skip
    ready.started.append(daemon)
    os.close(theirs)
    printed = ""
    while "code=" not in printed:
        printed += (await asyncio.to_thread(os.read, ours, 4096)).decode()
    daemon.terminate()
    await daemon.wait()
    os.close(ours)
    assert "code=" not in (ready.state_dir / "treehand.log").read_text()

"""T22: no agent runs without a sandbox that passes its check."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, model_env, script_of, write

_NO_NAMESPACES = """
import ctypes, os, sys
from pathlib import Path
NEWUSER = 0x10000000

def begin():
    assert ctypes.CDLL(None).unshare(NEWUSER) == 0

def go_on():
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.execv(sys.argv[1], sys.argv[1:])

if user := os.geteuid():
    group = os.getegid()
    begin()
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    go_on()
ready, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    begin()
    os.write(ready[1], b"1")
    os.read(mapped[0], 1)
    go_on()
os.read(ready[0], 1)
for name in ("uid_map", "gid_map"):
    Path(f"/proc/{child}/{name}").write_text("0 0 65536")
os.write(mapped[1], b"1")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Runs a command in a user namespace of its own, in which no further one can be made."""
_LEAKY = """#!/bin/bash
[ "$1" = --version ] && exec {real} --version
words=()
for word; do [ "$word" = --unshare-net ] || words+=("$word"); done
exec {real} "${{words[@]}}"
"""
"""Forgets to take the network away."""


def without(name: str, folder: Path) -> str:
    """A PATH with all needed programs except one."""
    folder.mkdir()
    for program in {"git", "sh", "bash", "env", "ps", "bwrap"} - {name}:
        (folder / program).symlink_to(shutil.which(program))
    return str(folder)


async def asked_for(person, model) -> dict[str, str]:
    await person.does("issue", "new", "Raise the answer", "--label", "ai")
    return model_env(model)


@pytest.mark.parametrize("command", ["run", "once"])
async def test_t22_without_bubblewrap_no_agent_starts(ready, tmp_path, command):
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        env = await asked_for(ready, model)
        answer = await ready.treehand(command, PATH=without("bwrap", tmp_path / "bin"), **env)

    assert answer.code == 1
    assert "The self-test of the sandbox failed, so Treehand starts no agent. There is no bubblewrap" in answer.err
    assert "Traceback" not in answer.err
    assert model.requests == []


async def test_t22_with_a_leaking_bubblewrap_no_agent_starts_and_the_leaks_are_listed(ready):
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        env = await asked_for(ready, model)
        with tempfile.TemporaryDirectory() as folder:
            leaky = Path(folder, "bwrap")
            leaky.write_text(_LEAKY.format(real=shutil.which("bwrap")))
            for path in (leaky, leaky.parent):
                path.chmod(0o755)  # whoever is not root any more has to run it
            answer = await ready.treehand("once", PATH=f"{folder}:{os.environ['PATH']}", **env)

    assert answer.code == 1
    assert "The self-test of the sandbox failed" in answer.err
    assert "no ports of this machine" in answer.err
    assert model.requests == []


async def test_t22_without_namespaces_no_agent_starts_and_the_fix_is_shown(ready):
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        env = await asked_for(ready, model)
        answer = await ready.treehand("once", within=(sys.executable, "-c", _NO_NAMESPACES), **env)

    assert answer.code == 1, answer
    assert "The self-test of the sandbox failed" in answer.err
    assert "user.max_user_namespaces" in answer.err
    assert model.requests == []


async def test_t22_the_demo_says_why_it_runs_without_the_sandbox(person, tmp_path):
    demo = await person.start("demo", PATH=without("bwrap", tmp_path / "bin"))
    assert demo.stdout
    said = [(await demo.stdout.readline()).decode() for _ in range(3)]

    assert "The demo runs without the sandbox, which `treehand run` requires: There is no bubblewrap" in said[2]


async def test_check_lists_the_probes_of_the_sandbox(ready):
    found = (await ready.treehand("check", "--json", ANTHROPIC_API_KEY="x")).json()["sandbox"]

    assert found["ok"]
    assert "probes passed" in found["detail"]
    assert {"name": "no network", "ok": True, "detail": ""} in found["probes"]


async def test_check_reports_folders_on_the_path_that_the_sandbox_hides(ready, tmp_path):
    ready.env["PATH"] = f"{tmp_path}:{ready.env['PATH']}"
    answer = await ready.treehand("check", "-v", ANTHROPIC_API_KEY="x")

    assert answer.code == 0
    assert f"on your PATH, but not in the sandbox: {tmp_path}" in answer.out


async def test_check_does_not_report_its_own_folder_as_hidden(ready):
    ready.env["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    answer = await ready.treehand("check", "-v", ANTHROPIC_API_KEY="x")

    assert answer.code == 0
    assert "on your PATH, but not in the sandbox" not in answer.out


async def test_a_disabled_sandbox_is_reported_by_check_and_in_the_log(ready):
    chosen = {"TREEHAND_SANDBOX__KIND": "none", "ANTHROPIC_API_KEY": "x"}

    assert "none: agents run with your own permissions" in await ready.does("check", "-v", **chosen)
    await ready.does("once", **chosen)
    assert "sandbox off: agents run with the permissions of" in (ready.state_dir / "treehand.log").read_text()

"""Setup in the real sandbox: what it may do, and what it leaves behind."""

import asyncio
import os
import re
import shlex
import sys
import time
from pathlib import Path

import pytest

from bot.errors import Retryable
from bot.sandbox import resource_limits
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.none import NoSandbox
from bot.sandbox.resource_limits import ProcessLimits, ResourceLimits
from bot.system.processes import find_processes
from tests.setup.conftest import BRANCH, MARKER_PREFIX

OTHER = "treehand/shop-2"
FORKS = """\
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(25)"], {})
    os._exit(0)
"""


def living() -> int:
    return len(find_processes(lambda marker: marker.startswith(f"{MARKER_PREFIX}:")))


async def test_setup_has_its_variables_and_none_of_the_host(shop, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_of_the_host")
    ready = await shop.told("env > build.log; pwd >> build.log").ready()
    assert ready.obstacle is None
    seen = (shop.folder() / "build.log").read_text()
    assert f"PORT={ready.environment['PORT']}\n" in seen
    assert f"TREEHAND_PORT_9={int(ready.environment['PORT']) + 9}\n" in seen
    assert "COMPOSE_PROJECT_NAME=treehand-shop-1\n" in seen
    assert "\nHUSKY=0\n" in seen
    assert "HTTPS_PROXY=http://127.0.0.1:3128\n" in seen
    assert f"\n{shop.folder()}\n" in seen
    assert "ANTHROPIC" not in seen
    assert "ghp_of_the_host" not in seen


@pytest.mark.parametrize(
    "address", ["ssh://git@github.com/a/b.git", "git@gitlab.com:a/b.git", "git://bitbucket.org/a/b.git"]
)
async def test_git_reaches_public_repositories_by_https_in_setup(shop, address):
    await shop.told(f"git ls-remote --get-url {address} > build.log").ready()
    assert re.fullmatch(r"https://\w+\.\w+/a/b\.git\n", (shop.folder() / "build.log").read_text())


async def test_setup_reaches_its_own_hosts_and_not_those_of_agents(shop_with, root):
    rules = SandboxRules(hosts=frozenset({"agents.test"}), setup_hosts=frozenset({"setup.test"}))
    shop = shop_with(Bubblewrap(root, {"ANTHROPIC_API_KEY": "k"}, rules))
    connect = "c = h.HTTPConnection('127.0.0.1', 3128); c.set_tunnel('{}', 443); c.request('GET', '/')"
    asking = [
        f'python3 -c "import http.client as h; {connect.format(host)}" || true'
        for host in ("agents.test", "setup.test")
    ]
    model = "curl -s -o build.log -w '%{http_code}' http://127.0.0.1:3128/v1/messages -d '{}'"
    ready = await shop.told(*asking, f"{model}; exit 1").ready()
    advice = "\n".join(ready.obstacle.advice)
    assert "It tried to reach agents.test:443. `sandbox.setup_hosts` lists the hosts that setup may reach." in advice
    assert "setup.test" not in advice
    assert ready.obstacle.output.endswith("403"), "nobody there asks a model"
    assert not shop.folder().exists()


async def test_a_hanging_setup_is_ended_in_time_and_reported(shop):
    shop.seconds = 1.5
    async with asyncio.timeout(20):
        ready = await shop.told("echo begun; sleep 25 & sleep 25").ready()
    assert ready.obstacle.problem.startswith("exceeded the limit of 0.025 minutes (`limits.setup_minutes`)")
    assert ready.obstacle.output == "begun"
    assert living() == 0


@pytest.mark.parametrize("kind", ["bwrap", "none"])
async def test_background_processes_of_setup_are_ended(shop_with, root, kind):
    shop = shop_with(Bubblewrap(root, {}, SandboxRules()) if kind == "bwrap" else NoSandbox(root / "cells", {}))
    marks = f"sleep 25.{os.getpid()}"  # which is nobody else's, and over soon should it stay
    text = f"{marks} & setsid -f {marks}; {shlex.quote(sys.executable)} -c {shlex.quote(FORKS)}; exec env -i {marks} &"
    async with asyncio.timeout(20):  # it is not waited for
        assert (await shop.told(text).ready()).obstacle is None
    left = [path for path in os.scandir("/proc") if path.name.isdigit() and _is(path.name, marks)]
    assert (left, living()) == ([], 0)


def _is(pid: str, words: str) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip() == words
    except OSError:
        return False


async def test_setup_commands_get_empty_input(shop):
    asks = 'read -r x; echo "read: $?"; (echo hello > /dev/tty) 2>&1; test -t 0 || echo no terminal'
    ready = await shop.told(f"({asks}) > build.log 2>&1").ready()
    assert ready.obstacle is None
    seen = (shop.folder() / "build.log").read_text()
    assert "read: 1" in seen
    assert "no terminal" in seen
    assert "/dev/tty" in seen


async def test_only_the_end_of_long_output_is_kept(shop):
    started = time.monotonic()
    ready = await shop.told("yes 0123456789 | head -c 50000000; echo; echo the end; exit 5").ready()
    assert ready.obstacle.problem == "ended with exit code 5"
    assert ready.obstacle.output.endswith("the end")
    assert len(ready.obstacle.output) <= 4096
    assert time.monotonic() - started < 30


async def test_setup_that_fills_the_disk_is_ended_and_its_files_are_removed(shop_with, root, monkeypatch):
    monkeypatch.setattr(resource_limits, "_INTERVAL_SECONDS", 0.1)
    shop = shop_with(Bubblewrap(root, {}, SandboxRules(resource_limits=ResourceLimits(free_disk_bytes=1 << 60))))
    ready = await shop.told("while :; do head -c 1000000 /dev/zero >> flood; sleep 0.01; done").ready()
    assert ready.obstacle.problem.startswith("was stopped. The disk was almost full")
    assert not shop.folder().exists()
    assert living() == 0


async def test_setup_over_its_memory_limit_is_ended_and_reported(shop_with, root, monkeypatch):
    monkeypatch.setattr(resource_limits, "_INTERVAL_SECONDS", 0.1)
    shop = shop_with(Bubblewrap(root, {}, SandboxRules(resource_limits=ResourceLimits(memory_bytes=50_000_000))))
    ready = await shop.told("python3 -c 'import time; x = bytearray(b\"1\") * 200000000; time.sleep(60)'").ready()
    assert "was stopped. Its programs used more than the 0.05 GB" in ready.obstacle.problem


async def test_setup_cannot_write_a_file_over_the_size_limit(shop_with, root):
    shop = shop_with(Bubblewrap(root, {}, SandboxRules(process_limits=ProcessLimits(file_bytes=1_000_000))))
    assert (await shop.told("head -c 5000000 /dev/zero > flood").ready()).obstacle is not None


async def test_setup_can_write_only_to_the_worktree_and_the_downloads(shop):
    canary = shop.root / "canary"
    shop.root.mkdir()
    for folder in (shop.root, shop.origin.clone):
        (folder / "canary").write_text("alive")
        (folder / "planted").touch()
    text = (
        f"echo dead > {canary}; echo dead > {shop.origin.clone}/canary; echo '*' > .git; touch $HOME/x; ls {shop.root}"
    )
    await shop.told(f"({text}) > build.log 2>&1; true").ready()
    assert canary.read_text() == (shop.origin.clone / "canary").read_text() == "alive"
    assert "planted" not in (shop.folder() / "build.log").read_text().splitlines()
    assert (shop.folder() / ".git").read_text().startswith("gitdir: ")


async def test_a_missing_program_is_recognized_by_the_exit_code(shop):
    ready = await shop.told("just-do setup").ready()
    assert "A program that it needs is missing. `sandbox.tools` names the folders with tools." in ready.obstacle.advice


async def test_secrets_of_the_operator_are_redacted_in_the_output_of_setup(shop):
    shop.secrets.keep("A token", "s3cret-of-the-operator")
    ready = await shop.told("echo it is s3cret-of-the-operator; exit 1").ready()
    assert ready.obstacle.output == "it is [redacted: A token]"


async def test_an_interrupted_setup_leaves_no_work_behind(shop):
    shop.told("echo half > half.txt; echo half >> README.md; sleep 600")
    task = asyncio.ensure_future(shop.ready())
    async with asyncio.timeout(20):
        while not (shop.folder() / "half.txt").exists():
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert living() == 0
    workspace = await shop.worktree()
    assert not (workspace.path / "half.txt").exists()
    assert (await shop.captured()).head == workspace.base


async def test_a_worktree_with_an_interrupted_setup_is_made_again(shop):
    workspace = await shop.worktree()
    provision = await shop.workspaces.setup_access.get_record(BRANCH)
    await shop.workspaces.setup_access.save_record(BRANCH, type(provision)(is_half=True))
    (workspace.path / "half.txt").write_text("x")
    assert await shop.workspaces.salvage(BRANCH) == ""
    assert not ((await shop.worktree()).path / "half.txt").exists()


async def test_files_changed_by_setup_are_not_work_of_the_agent(shop):
    shop.told("echo made > made.txt; echo more >> README.md; rm src/app.py; mkdir -p gen/deep; echo x > gen/deep/x")
    await shop.ready()
    change = await shop.captured()
    assert (change.files, change.head) == ((), change.base)
    assert "made.txt: written by setup or a server" in change.left_out
    assert await shop.workspaces.salvage(BRANCH) == ""
    (shop.folder() / "made.txt").write_text("made by hand\n")
    (shop.folder() / "src" / "app.py").write_text("print(2)\n")
    (shop.folder() / "new.txt").write_text("new\n")
    assert [file.path for file in (await shop.captured()).files] == ["made.txt", "new.txt", "src/app.py"]


async def test_uncommitted_work_of_an_agent_stays_its_work_when_setup_runs_again(shop):
    shop.origin.commit({"package.json": "{}", "package-lock.json": "{}"})
    shop.told("echo again >> README.md; echo again >> log.txt")
    await shop.ready()
    (shop.folder() / "package-lock.json").write_text('{"a": 1}')
    (shop.folder() / "README.md").write_text("hello\nand welcome\n")
    ready = await shop.ready()
    assert ready.obstacle is None
    change = await shop.captured()
    assert sorted(file.path for file in change.files) == ["README.md", "package-lock.json"]


async def test_downloads_are_shared_for_merged_files_and_separate_for_files_an_agent_changed(shop):
    shop.origin.commit({"package.json": "{}", "package-lock.json": "{}"})
    shop.told('mkdir -p "$XDG_CACHE_HOME"; cat package-lock.json >> "$XDG_CACHE_HOME/locks"')
    first = await shop.ready()
    second = await shop.ready(OTHER)
    assert first.cache == second.cache == shop.resources.shared_cache
    (shop.folder() / "package-lock.json").write_text("[poison]")
    third = await shop.ready()
    assert third.cache == shop.resources.run_cache(shop.folder())
    assert (third.cache / "xdg" / "locks").read_text() == "{}{}{}[poison]"
    assert (shop.resources.shared_cache / "xdg" / "locks").read_text() == "{}{}{}"
    await shop.project_setup.tear_down(BRANCH)
    assert not third.cache.exists()
    assert shop.resources.shared_cache.is_dir()


async def test_dropped_dependencies_are_installed_again(shop):
    shop.told("mkdir -p build; echo x > build/made; echo x >> count.log")
    await shop.ready()
    assert await shop.workspaces.drop_ignored(BRANCH)
    assert not (shop.folder() / "build").exists()
    await shop.ready()
    assert (shop.folder() / "build" / "made").exists()
    assert (shop.folder() / "count.log").read_text() == "x\n"


async def test_an_evicted_worktree_is_set_up_again_with_the_agents_work(shop):
    shop.told("echo made > made.txt; echo x >> count.log")
    await shop.ready()
    (shop.folder() / "work.txt").write_text("work\n")
    assert await shop.workspaces.evict(BRANCH)
    ready = await shop.ready()
    assert ready.obstacle is None
    assert (shop.folder() / "count.log").read_text() == "x\n"
    assert [file.path for file in (await shop.captured()).files] == ["work.txt"]


async def test_a_failed_or_slow_teardown_is_logged_and_ended_in_time(shop, caplog, monkeypatch):
    monkeypatch.setattr("bot.setup.teardown.TEARDOWN_SECONDS", 1.0)
    shop.told("true", teardown=("echo bye; exit 3", "sleep 600", "sleep 600"))
    await shop.ready()
    started = time.monotonic()
    await shop.project_setup.tear_down(BRANCH)
    assert time.monotonic() - started < 15
    assert [record.getMessage() for record in caplog.records if "code=3" in record.getMessage()] == [
        "teardown failed branch=treehand/shop-1 code=3: bye"
    ]
    assert living() == 0


async def test_without_a_worktree_no_teardown_runs(shop):
    shop.told("true", teardown=("touch torn",))
    await shop.ready()
    assert await shop.workspaces.evict(BRANCH)
    await shop.project_setup.tear_down(BRANCH)
    assert not shop.folder().exists()


async def test_a_full_disk_during_setup_is_retryable(shop, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bot.setup.copy_files.write_within", full)
    (shop.origin.clone / ".env").write_text("A=b\n")
    (shop.origin.clone / ".git" / "info" / "exclude").write_text(".env\n")
    with pytest.raises(Retryable, match="The disk is full"):
        await shop.told(copy_from=shop.origin.clone).ready()

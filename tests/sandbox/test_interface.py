"""The host's side of a sandbox: its user, its proxy's grant, its usage, and when it is ended."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.domain.turn import AgentTask, Failure, TurnReport, TurnState, WorktreeMounts
from bot.errors import CannotStart
from bot.sandbox import resource_limits
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules, _OpenSandbox, _uid_for
from bot.sandbox.build import build_sandbox, ensure_sandbox_holds
from bot.sandbox.mount_plan import HostTools, MountPlan, build_plan
from bot.sandbox.none import NoSandbox
from bot.sandbox.proxy.grant import DayBudget, Grant, SandboxUsage, UsedUp, ignore_usage
from bot.sandbox.resource_limits import ProcessLimits, ResourceLimits, watch_resources
from bot.settings.schema import SandboxSettings, Settings
from bot.system import launch
from bot.system.processes import MARKER


@pytest.fixture
def task(tmp_path) -> AgentTask:
    ground = WorktreeMounts(tmp_path / "worktree", *(tmp_path / name for name in ("shadow", "agent-git", "objects")))
    for folder in (ground.folder, ground.shadow, ground.agent_git, ground.objects, tmp_path / "home"):
        folder.mkdir()
    return AgentTask("turn", ground, tmp_path / "home", "", "", model="claude-opus-5-5", most_tokens=7, budget_usd=2.5)


class OpenProxy:
    """Records the grant that a proxy is opened with."""

    def __init__(self) -> None:
        self.grant = Grant("")

    @asynccontextmanager
    async def open(self, _socket: Path, grant: Grant, *_more):
        self.grant = grant
        yield SandboxUsage()


def steps_of(plan: MountPlan) -> list[tuple[str, ...]]:
    folder = plan.program
    return build_plan(plan, HostTools(folder, folder, folder, folder, ()), ProcessLimits(), uid=1, seccomp=b"")["steps"]


@pytest.mark.parametrize("is_command", [True, False])
def test_t11_a_sandbox_may_write_its_worktree_its_own_git_directory_and_its_home(tmp_path, task, is_command):
    git = tmp_path / "copy"
    steps = steps_of(
        MountPlan(task.mounts, task.mounts.folder, git, task.home, tmp_path, tmp_path, is_command=is_command)
    )
    written = {step[1] for step in steps if step[0] == "write"}
    assert written == {
        str(path) for path in (task.mounts.folder, task.home, git if is_command else task.mounts.agent_git)
    }
    seen = [step[0] for step in steps if step[1:] == (str(git), str(task.mounts.shadow))]
    assert seen == ["write" if is_command else "read"]


def test_t20_downloads_are_read_only_in_a_sandbox(tmp_path, task):
    cache = tmp_path / "cache"
    steps = steps_of(
        MountPlan(task.mounts, task.mounts.folder, tmp_path / "copy", task.home, tmp_path, tmp_path, cache)
    )
    assert [step[0] for step in steps if str(cache) in step] == ["read"]


async def test_t9_the_proxy_of_a_sandbox_gets_the_permissions_of_its_turn(tmp_path, task):
    sandbox, proxy = Bubblewrap(tmp_path / "state", {}, SandboxRules(hosts=frozenset({"a.test"}))), OpenProxy()
    sandbox._proxy = proxy
    passes = set()
    for _ in range(2):
        async with sandbox.open_turn(task, "cells:none", ignore_usage):
            assert proxy.grant == Grant(proxy.grant.token, frozenset({"a.test"}), "claude-opus-5-5", 7, 2.5)
            passes.add(proxy.grant.token)
    assert len(passes) == 2


def test_t17_agents_of_different_runs_are_different_users(tmp_path):
    users = {_uid_for(tmp_path / f"shop-{number}") for number in range(20)}
    assert len(users) > 10
    assert min(users) >= 59_000
    assert _uid_for(tmp_path / "shop-1") == _uid_for(tmp_path / "shop-1")


def test_t15_the_token_count_of_the_proxy_replaces_that_of_the_agent(tmp_path, task):
    usage, tools = SandboxUsage(), HostTools(tmp_path, tmp_path, tmp_path, tmp_path, ())
    usage.add(50, 0.25)
    usage.record_refusal("reach evil.test:443")
    seen = _OpenSandbox(task, tmp_path, tools, ProcessLimits(), 0, {}, usage, DayBudget()).correct(
        TurnReport(TurnState.SUCCEEDED, tokens=700, session_cost_usd=99.0)
    )
    assert (seen.tokens, seen.usd, seen.refusals) == (50, 0.25, ("reach evil.test:443",))


def test_a_model_that_cannot_be_reached_is_named_by_the_address_that_the_host_tried(tmp_path, task):
    usage, tools = SandboxUsage(), HostTools(tmp_path, tmp_path, tmp_path, tmp_path, ())
    usage.unreachable = "The model's service at https://model.test does not answer (ConnectError)."
    claimed = TurnReport(TurnState.FAILED, failure=Failure.MODEL, detail="http://127.0.0.1:3128 does not answer.")
    seen = _OpenSandbox(task, tmp_path, tools, ProcessLimits(), 0, {}, usage, DayBudget()).correct(claimed)
    assert (seen.failure, seen.is_model_unreachable, seen.detail) == (Failure.MODEL, True, usage.unreachable)


def test_a_turn_that_the_days_money_ended_says_so_with_the_amount(tmp_path, task):
    usage, tools = SandboxUsage(), HostTools(tmp_path, tmp_path, tmp_path, tmp_path, ())
    usage.used_up = UsedUp.DAY
    ended = _OpenSandbox(task, tmp_path, tools, ProcessLimits(), 0, {}, usage, DayBudget(50.0, lambda: 50.31)).correct(
        TurnReport(TurnState.FAILED, failure=Failure.LIMIT)
    )
    assert ended.failure is Failure.DAY_BUDGET
    assert "$50.31 of the $50.00" in ended.detail


@pytest.mark.parametrize(
    ("limits", "failure"),
    [(ResourceLimits(memory_bytes=1), Failure.AGENT), (ResourceLimits(free_disk_bytes=1 << 60), Failure.DISK)],
)
async def test_t16_a_program_over_its_limits_is_reported_and_ended(tmp_path, monkeypatch, limits, failure):
    monkeypatch.setattr(resource_limits, "_INTERVAL_SECONDS", 0.05)
    marker, told = f"cells:{os.getpid()}", asyncio.Queue()
    code = "kept = bytearray(b'x') * 1000000; import time; time.sleep(20)"
    agent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env={**os.environ, MARKER: marker})
    try:
        with watch_resources(marker, limits, tmp_path, lambda *why: told.put_nowait(why)):
            async with asyncio.timeout(10):
                assert (await told.get())[0] is failure
                assert await agent.wait() < 0
    finally:
        if agent.returncode is None:
            agent.kill()
            await agent.wait()


async def test_t22_a_failed_sandbox_check_prevents_the_start(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="There is no bubblewrap"):
        await ensure_sandbox_holds(Settings(state_dir=tmp_path / "state"))


def test_t22_only_the_settings_can_disable_the_sandbox(tmp_path):
    assert isinstance(build_sandbox(Settings(state_dir=tmp_path), {}), Bubblewrap)
    assert isinstance(build_sandbox(Settings(state_dir=tmp_path, sandbox=SandboxSettings(kind="none")), {}), NoSandbox)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_t14_chown_does_not_follow_links(tmp_path):
    from bot.sandbox.ownership import chown_tree

    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder in (mine / "inner", theirs):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    (mine / "link").symlink_to(theirs / "file")
    (mine / "linked").symlink_to(theirs)
    (mine / "second-name").hardlink_to(theirs / "file")
    chown_tree([mine], 59_123)
    given = {path.lstat().st_uid for path in (mine, *mine.rglob("*")) if path.name != "second-name"}
    assert given == {59_123}
    assert {path.lstat().st_uid for path in (theirs, theirs / "file", mine / "second-name")} == {0}


async def test_t6_without_a_sandbox_the_agent_still_gets_no_variables_of_the_daemon(tmp_path, task):
    async with NoSandbox(tmp_path / "cells", {"ANTHROPIC_API_KEY": "the-key"}).open_turn(
        task, "turn", ignore_usage
    ) as opened:
        ours = {**opened.environment, "GITHUB_TOKEN": "ghp_the_bots_own"}
        kept = ",".join((*opened.environment, *opened.inherited_variables))
        started = await asyncio.create_subprocess_exec(
            opened.launcher(Path("/usr/bin/env")),
            env={**ours, "PATH": os.environ["PATH"], launch.KEEP: kept, launch.PARENT: str(os.getpid())},
            stdout=asyncio.subprocess.PIPE,
        )
        printed = (await started.communicate())[0].decode()

    assert "ANTHROPIC_API_KEY=the-key" in printed
    assert "the_bots_own" not in printed

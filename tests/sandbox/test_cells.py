"""What the host's side of a cell sees to: whose it is, what its gate may do, what it counts, and when it ends one."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.domain.turn import Failure, Ground, TurnReport, TurnState, Work
from bot.errors import CannotStart
from bot.sandbox import resource_watch as watching
from bot.sandbox.bubblewrap import Bubblewrap, Rules, _OpenCell, _uid_for
from bot.sandbox.build import ensure_confined, sandbox_of
from bot.sandbox.mount_plan import Furniture, Limits, Tools, plan_for
from bot.sandbox.none import Unconfined
from bot.sandbox.proxy import Passage, Passport
from bot.sandbox.resource_watch import Allowance, watch
from bot.settings import Sandbox, Settings
from bot.system import launch
from bot.system.processes import MARKER


@pytest.fixture
def work(tmp_path) -> Work:
    ground = Ground(tmp_path / "worktree", tmp_path / "shadow", tmp_path / "objects")
    for folder in (ground.folder, ground.shadow, ground.objects, tmp_path / "home"):
        folder.mkdir()
    return Work("turn", ground, tmp_path / "home", "", "", model="claude-opus-5-5", most_tokens=7)


class OpenGate:
    """Takes note of what a gate is opened for."""

    def __init__(self) -> None:
        self.passport = Passport("")

    @asynccontextmanager
    async def open(self, _socket: Path, passport: Passport):
        self.passport = passport
        yield Passage()


def test_t11_a_cell_may_write_its_worktree_its_git_and_its_home(tmp_path, work):
    furniture, tools = Furniture(work.ground, work.home, tmp_path, tmp_path), Tools(tmp_path, tmp_path, tmp_path, ())
    steps = plan_for(furniture, tools, Limits(), uid=1, system_calls=b"")["steps"]
    written = {step[1] for step in steps if step[0] == "write"}
    assert written == {str(work.ground.folder), str(work.ground.shadow), str(work.home)}


def test_t20_a_cell_only_reads_what_was_downloaded_for_it(tmp_path, work):
    cache = tmp_path / "cache"
    furniture = Furniture(work.ground, work.home, tmp_path, tmp_path, cache)
    steps = plan_for(furniture, Tools(tmp_path, tmp_path, tmp_path, ()), Limits(), uid=1, system_calls=b"")["steps"]
    assert [step[0] for step in steps if str(cache) in step] == ["read"]


async def test_t9_a_cells_gate_holds_what_the_turn_may_do(tmp_path, work):
    sandbox, gate = Bubblewrap(tmp_path / "state", {}, Rules(hosts=frozenset({"a.test"}))), OpenGate()
    sandbox._gate = gate
    passes = set()
    for _ in range(2):
        async with sandbox.open(work, "cells:none"):
            assert gate.passport == Passport(gate.passport.token, frozenset({"a.test"}), "claude-opus-5-5", 7)
            passes.add(gate.passport.token)
    assert len(passes) == 2


def test_t17_agents_of_different_runs_are_different_users(tmp_path):
    users = {_uid_for(tmp_path / f"shop-{number}") for number in range(20)}
    assert len(users) > 10
    assert min(users) >= 59_000
    assert _uid_for(tmp_path / "shop-1") == _uid_for(tmp_path / "shop-1")


def test_t15_what_the_gate_counted_is_what_was_spent(tmp_path, work):
    passage, tools = Passage(), Tools(tmp_path, tmp_path, tmp_path, ())
    passage.count(50)
    passage.note("reach evil.test:443")
    seen = _OpenCell(work, tmp_path, tools, Limits(), 0, {}, passage).seen(TurnReport(TurnState.SUCCEEDED, tokens=7))
    assert (seen.tokens, seen.refusals) == (50, ("reach evil.test:443",))


@pytest.mark.parametrize(
    ("allowance", "failure"),
    [(Allowance(memory_bytes=1), Failure.AGENT), (Allowance(free_disk_bytes=1 << 60), Failure.DISK)],
)
async def test_t16_what_takes_too_much_is_told_and_ended(tmp_path, monkeypatch, allowance, failure):
    monkeypatch.setattr(watching, "_SECONDS", 0.05)
    marker, told = f"cells:{os.getpid()}", asyncio.Queue()
    code = "kept = bytearray(b'x') * 1000000; import time; time.sleep(20)"
    agent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env={**os.environ, MARKER: marker})
    try:
        with watch(marker, allowance, tmp_path, lambda *why: told.put_nowait(why)):
            async with asyncio.timeout(10):
                assert (await told.get())[0] is failure
                assert await agent.wait() < 0
    finally:
        if agent.returncode is None:
            agent.kill()
            await agent.wait()


async def test_t22_what_does_not_hold_starts_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="There is no bubblewrap"):
        await ensure_confined(Settings(state_dir=tmp_path / "state"))


def test_t22_nothing_but_the_settings_does_without(tmp_path):
    assert isinstance(sandbox_of(Settings(state_dir=tmp_path), {}), Bubblewrap)
    assert isinstance(sandbox_of(Settings(state_dir=tmp_path, sandbox=Sandbox(kind="none")), {}), Unconfined)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_t14_folders_are_given_away_and_nothing_behind_a_link(tmp_path):
    from bot.sandbox.ownership import give

    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder in (mine / "inner", theirs):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    (mine / "link").symlink_to(theirs / "file")
    (mine / "linked").symlink_to(theirs)
    give([mine], 59_123)
    assert {path.lstat().st_uid for path in (mine, *mine.rglob("*"))} == {59_123}
    assert {path.lstat().st_uid for path in (theirs, theirs / "file")} == {0}


async def test_t6_without_a_sandbox_the_bots_own_variables_stay_behind_too(tmp_path, work):
    async with Unconfined(tmp_path / "cells", {"ANTHROPIC_API_KEY": "the-key"}).open(work, "turn") as cell:
        ours = {**cell.environment, "GITHUB_TOKEN": "ghp_the_bots_own"}
        kept = ",".join((*cell.environment, *cell.handed_on))
        started = await asyncio.create_subprocess_exec(
            cell.launcher(Path("/usr/bin/env")),
            env={**ours, "PATH": os.environ["PATH"], launch.KEEP: kept, launch.PARENT: str(os.getpid())},
            stdout=asyncio.subprocess.PIPE,
        )
        printed = (await started.communicate())[0].decode()

    assert "ANTHROPIC_API_KEY=the-key" in printed
    assert "the_bots_own" not in printed

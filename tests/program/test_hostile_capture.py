"""A capture that would take minutes, with the real program: `stop` and SIGTERM do not wait for it."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from bot.demo.scripted_model import ScriptedModel, UseTool
from tests.program.conftest import DONE, Person, model_env, script_of

# within every limit; no rule matches by name, so each rule is tried on each file
SLOW = """python3 - <<'EOF'
import os
os.makedirs("out")
for number in range(4900):
    open(f"out/{'x' * 200}{number}", "w").close()
with open(".gitignore", "w") as rules:
    for number in range(5000):
        rules.write("*x?x*[!a]" + "x*" * 12 + f"y{number % 10}?\\n")
EOF"""


@pytest.fixture
async def capturing(ready: Person):
    """A daemon that has begun to capture a hostile worktree, and the process that reads the worktree."""
    hostile = UseTool("Bash", {"command": SLOW, "description": "Write files"})
    async with ScriptedModel(script_of((hostile,), DONE)) as model:
        ready.env |= model_env(model)
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        daemon = await ready.start("run")
        async with asyncio.timeout(120):
            while not (child := reader_of(daemon.pid)):
                assert daemon.returncode is None
                await asyncio.sleep(0.05)
        yield daemon, child


def reader_of(daemon: int) -> int:
    """Returns the child process that runs `make_tree`, once it has worked for a second; 0 if there is none."""
    for listing in Path(f"/proc/{daemon}/task").glob("*/children"):
        for child in map(int, listing.read_text().split()):
            if b"make_tree" in words_of(child) and processor_seconds(child) > 1:
                return child
    return 0


def words_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.attack("T16", "The worktree is made so that reading it keeps a run beyond `stop`")
async def test_stop_ends_a_run_whose_worktree_takes_minutes_to_read(ready, capturing):
    daemon, child = capturing
    await ready.does("stop", "shop#1")
    await ready.until("shop#1", "done")
    assert not words_of(child)
    (kept,) = (ready.state_dir / "aside" / "shop").iterdir()
    assert len(list((kept / "out").iterdir())) == 4900
    assert str(kept) in await ready.does("issue", "show", "1")
    assert daemon.returncode is None


@pytest.mark.attack("T16", "The worktree is made so that the daemon outlives SIGTERM")
async def test_sigterm_ends_a_daemon_that_reads_a_worktree(ready, capturing):
    daemon, child = capturing
    daemon.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(daemon.wait(), 60) == 0
    assert not words_of(child)
    assert (await ready.run("shop#1"))["phase"] == "working"


@pytest.mark.attack("T16", "A child process outlives the daemon that a crash has ended")
async def test_the_reading_process_ends_with_a_killed_daemon(ready, capturing):
    daemon, child = capturing
    os.kill(daemon.pid, signal.SIGKILL)
    await daemon.wait()
    async with asyncio.timeout(30):
        while words_of(child):
            await asyncio.sleep(0.05)

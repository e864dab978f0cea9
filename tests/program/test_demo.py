"""`treehand demo`: the whole story, and the same after a kill -9 in the middle."""

import asyncio
import contextlib
import os
import pty
import re
import signal
import sys

import httpx


def check(outcome: dict) -> None:
    assert outcome["phases"] == {"teashop#1": "done", "teashop#2": "review", "teashop#3": "review", "teashop#4": "done"}
    assert [pull["state"] for pull in sorted(outcome["pull_requests"], key=lambda pull: pull["title"])] == [
        "open", "open", "merged",
    ]  # fmt: skip
    assert outcome["worktrees_left"] == 2
    assert outcome["commits"] == 4  # without the merge
    assert (outcome["model"], outcome["sandbox"]) == ("scripted stand-in", "bwrap")


async def test_the_demo_plays_its_story(person):
    answer = await person.treehand("demo", "--once", "--json")
    assert answer.code == 0, answer
    outcome = answer.json()
    check(outcome)
    turns = {run["key"]: run["turns"] for run in outcome["runs"]}
    assert turns == {"teashop#1": 1, "teashop#2": 1, "teashop#3": 3, "teashop#4": 1}
    assert outcome["most_agents_at_once"] == 3
    assert not outcome["resumed"]
    assert person.agents_alive() == []


async def test_a_demo_killed_in_the_middle_is_resumed(person):
    demo = await person.start("demo")
    assert demo.stdout
    async with asyncio.timeout(40):
        while b"turn 1 started" not in await demo.stdout.readline():
            pass
    await asyncio.sleep(2)
    os.kill(demo.pid, signal.SIGKILL)
    await demo.wait()

    answer = await person.treehand("demo", "--json")
    assert answer.code == 0, answer
    outcome = answer.json()
    assert outcome["resumed"]
    check(outcome)


async def test_two_demos_at_once_are_refused(person):
    first = await person.start("demo")
    assert first.stdout
    await first.stdout.readline()
    second = await person.treehand("demo")
    assert (second.code, f"(pid {first.pid})" in second.err) == (1, True)


async def test_the_dashboard_of_the_demo_stays_on_a_terminal_until_ctrl_c(person):
    ours, theirs = pty.openpty()
    command = (sys.executable, "-m", "bot", "demo")
    demo = await asyncio.create_subprocess_exec(
        *command, cwd=person.repository, env={**person.env, "TERM": "xterm"}, start_new_session=True,
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    person.started.append(demo)
    os.close(theirs)
    shown = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # it is gone
            shown.extend(os.read(ours, 65536))

    asyncio.get_running_loop().add_reader(ours, read)
    try:
        async with asyncio.timeout(200):
            while b"The demo has finished." not in shown:
                await asyncio.sleep(0.1)
        address = re.search(rb"Dashboard: (http://127[.0-9]+:[0-9]+)", shown)[1].decode()
        async with httpx.AsyncClient(timeout=60) as client:
            page = (await client.get(address)).text
        assert all(title in page for title in ("The total forgets the quantity", "Print the receipt in German"))
        assert demo.returncode is None
        demo.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(demo.wait(), 60) == 0
        await asyncio.sleep(0.1)
        plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]|\s+", b" ", bytes(shown)).decode()
        for part in (
            "The branch of teashop#3 conflicts with this merge", "teashop#3: turn 2 started to merge main",
            "The conflict of teashop#3 is resolved", "teashop#3: turn 3 started to answer comments",
            "the pull request was merged", "stopped by command", "Start in your own repository: treehand init",
        ):  # fmt: skip
            assert part in " ".join(plain.split())
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)

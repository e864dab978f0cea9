"""`treehand demo`: the whole story, and the same after a kill -9 in its middle."""

import asyncio
import os
import signal


def check(outcome: dict) -> None:
    assert outcome["phases"] == {"teashop#1": "done", "teashop#2": "review", "teashop#3": "review", "teashop#4": "done"}
    assert [pull["state"] for pull in sorted(outcome["pull_requests"], key=lambda pull: pull["title"])] == [
        "open", "open", "merged",
    ]  # fmt: skip
    assert outcome["worktrees_left"] == 2
    assert outcome["commits"] >= 3  # merges aside, and one turn may do the remark and the conflict
    assert (outcome["model"], outcome["sandbox"]) == ("scripted stand-in", "bwrap")


async def test_the_demo_tells_its_story(person):
    answer = await person.treehand("demo", "--once", "--json")
    assert answer.code == 0, answer
    outcome = answer.json()
    check(outcome)
    turns = {run["key"]: run["turns"] for run in outcome["runs"]}
    assert turns.pop("teashop#3") in {2, 3}  # the conflict with what was merged may take one more than the remark
    assert turns == {"teashop#1": 1, "teashop#2": 1, "teashop#4": 1}
    assert outcome["most_agents_at_once"] == 3
    assert not outcome["resumed"]
    assert person.agents_alive() == []


async def test_a_demo_killed_in_the_middle_goes_on_where_it_was(person):
    demo = await person.start("demo")
    assert demo.stdout
    async with asyncio.timeout(40):
        while b"turn 1 began" not in await demo.stdout.readline():
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

"""Life of the process: one daemon per state directory, orderly shutdown, and recovery after a kill -9."""

import asyncio
import os
import signal
import sqlite3

import pytest

from bot.demo.scripted_model import Pause, RefuseWith, SayText, ScriptedModel
from bot.store.runs import MIGRATIONS
from tests.program.conftest import DONE, model_env, script_of, write


def slow_once(request):
    """The first turn hangs; later turns are quick."""
    if "interrupted" in "".join(request.user_texts):
        return DONE
    return ((write("answer = 42"),), (Pause(60),))[min(request.answers_since_user_text, 1)]


@pytest.fixture
async def at_work(ready):
    """A daemon with an agent in the middle of a turn."""
    async with ScriptedModel(slow_once) as model:
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        ready.env |= model_env(model)
        daemon = await ready.start("run")
        await model.wait_for_requests(2)
        yield daemon


async def test_a_second_daemon_refuses_and_names_the_first(ready, at_work):
    second = await ready.treehand("run")
    assert second.code == 1
    assert f"already running on {ready.state_dir} (pid {at_work.pid})" in second.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
async def test_a_signal_drains_the_daemon_and_the_run_continues_after_the_restart(ready, at_work, number):
    at_work.send_signal(number)
    assert await asyncio.wait_for(at_work.wait(), 30) == 0
    assert ready.agents_alive() == []
    run = await ready.run("shop#1")
    assert (run["phase"], run["reason"]) == ("working", "Treehand is restarting; the run continues afterwards")

    await ready.does("once")
    run = await ready.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 2)
    assert "+answer = 42" in await ready.does("pr", "show", "1")


async def test_a_second_sigterm_ends_at_once(ready, at_work):
    at_work.send_signal(signal.SIGTERM)
    await asyncio.sleep(0.05)
    at_work.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(at_work.wait(), 10) in {0, 143, -signal.SIGTERM}


async def test_a_daemon_started_with_nohup_outlives_its_terminal(ready):
    async with ScriptedModel(script_of((SayText("Done."),))) as model:
        daemon = await ready.start("run", within=("nohup",), **model_env(model))
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        await ready.until("shop#1", "asking")
        daemon.send_signal(signal.SIGHUP)
        await ready.does("issue", "new", "The answer is still wrong", "--label", "ai")
        await ready.until("shop#2", "asking")
        daemon.terminate()
        assert await daemon.wait() == 0


async def test_kill_9_leaves_no_agent_and_the_next_daemon_finishes_the_work(ready, at_work):
    os.kill(at_work.pid, signal.SIGKILL)
    await at_work.wait()
    async with asyncio.timeout(5):
        while ready.agents_alive():
            await asyncio.sleep(0.05)

    await ready.does("once")
    run = await ready.run("shop#1")
    assert run["phase"] == "review"
    assert len((await ready.does("pr", "list")).splitlines()) == 1
    said = await ready.does("issue", "show", "1")
    assert said.count("── treehand[bot]") == 1


async def test_a_refused_key_stops_all_runs_and_is_reported_once(ready):
    async with ScriptedModel(script_of((RefuseWith(401),))) as model:
        for number in range(3):
            await ready.does("issue", "new", f"Issue {number}", "--label", "ai")
        ready.env |= model_env(model) | {"TREEHAND_LIMITS__WORKING": "1"}
        daemon = await ready.start("run")
        await ready.until("shop#1", "asking")
        daemon.terminate()
        assert await daemon.wait() == 0
    runs = {run["key"]: run for run in (await ready.state())["runs"]}
    assert runs["shop#2"]["reason"] == "waiting: the model's service refuses the key"
    told = [key for key in runs if "The model's service refuses the key" in await ready.does("issue", "show", key)]
    assert told == ["shop#1"]


async def test_an_overloaded_model_is_retried_then_asked_about(ready):
    def play(request):
        return (
            (RefuseWith(529),)
            if "ended early" not in "".join(request.user_texts)
            else (SayText("I am back."), write("answer = 42"))
        )

    async with ScriptedModel(script_of((RefuseWith(400),))) as model:
        ready.env |= model_env(model) | {"TREEHAND_LIMITS__FAILURES": "1"}
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        await ready.does("once")
    run = await ready.run("shop#1")
    assert run["phase"] == "asking"
    assert run["reason"].startswith("The turn failed once. The last failure:")


async def test_a_newer_database_is_refused(ready):
    await ready.does("check", "-v", ANTHROPIC_API_KEY="x")
    db = sqlite3.connect(ready.state_dir / "treehand.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    answer = await ready.treehand("once", ANTHROPIC_API_KEY="x")
    assert answer.code == 1
    assert f"was written by a newer version (schema 99; this one knows {len(MIGRATIONS)})" in answer.err


async def test_only_the_daemon_replaces_a_damaged_database(ready):
    await ready.does("check", "-v", ANTHROPIC_API_KEY="x")
    (ready.state_dir / "treehand.db").write_bytes(b"not a database at all" * 100)
    looked = await ready.treehand("status")
    assert looked.code == 1
    assert "`treehand run` sets it aside" in looked.err

    await ready.does("once", ANTHROPIC_API_KEY="x")
    (aside,) = ready.state_dir.glob("treehand.db.damaged-*Z")
    assert aside.read_bytes().startswith(b"not a database")
    assert f"database: was damaged and replaced; the old content: {aside.name}" in await ready.does("status")


async def test_a_damaged_tracker_database_is_refused_with_the_way_to_recover_it(ready):
    await ready.does("issue", "new", "The answer is wrong")
    (ready.state_dir / "forge/desk.sqlite").write_bytes(b"not a database at all" * 100)
    answer = await ready.treehand("once", ANTHROPIC_API_KEY="x")
    assert answer.code == 1
    assert ".recover | sqlite3 desk.sqlite.new" in answer.err


async def test_a_damaged_database_ends_a_working_daemon_and_the_next_one_replaces_it(ready, at_work):
    path = ready.state_dir / "treehand.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    await ready.treehand("issue", "comment", "1", "Hello?")
    _, err = await asyncio.wait_for(at_work.communicate(), 60)
    db.close()
    assert at_work.returncode == 1
    assert "The database of runs is damaged" in err.decode()
    assert "Traceback" not in err.decode()
    await ready.does("once")
    assert (await ready.run("shop#1"))["phase"] == "review"


async def test_a_turn_that_ended_before_a_kill_9_is_published_by_the_next_daemon_and_charged_once(ready):
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        ready.env |= model_env(model)
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        await ready.does("status")  # makes the database
        daemon = await ready.start("run")
        await _until_in_database(ready, '"succeeded"')
        os.kill(daemon.pid, signal.SIGKILL)
        await daemon.wait()
        asked = len(model.requests)
        await ready.does("once")
        assert len(model.requests) == asked
    run = await ready.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 1)
    assert "+answer = 42" in await ready.does("pr", "show", "1")


async def _until_in_database(ready, words):
    db = sqlite3.connect(ready.state_dir / "treehand.db", timeout=10)
    async with asyncio.timeout(60):
        while not db.execute("SELECT 1 FROM turns WHERE instr(report, ?)", (words,)).fetchall():
            await asyncio.sleep(0.002)
    db.close()

"""Long git commands say how far they are, from numbers alone, and end with their call."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from bot.errors import BotError
from bot.git import progress
from bot.git.command import GitFailed
from bot.git.in_thread import in_thread
from bot.git.progress import Audience, GitStep, git_with_progress, progress_text, telling

SAID = [
    ("Receiving objects:  43% (430/1000), 310.00 MiB | 20.31 MiB/s", "Fetching 43 %, 325 MB"),
    ("Receiving objects:   5% (50/1000)", "Fetching 5 %"),
    ("Receiving objects: 100% (1000/1000), 1.50 GiB | 2.00 MiB/s, done.", "Fetching 100 %, 1,611 MB"),
    ("remote: Enumerating objects: 1332173, done.", "Reading the history: 1,332,173 objects"),
    ("remote: Counting objects:  17% (17/100)        ", "Reading the history, 17 %"),
    ("remote: Compressing objects:  17% (17/100)", "Compressing the history, 17 %"),
    ("Resolving deltas:   9% (9/100)", "Unpacking what was fetched, 9 %"),
    ("Writing objects:  79% (790/1000)", "Copying the history, 79 %"),
    ("Updating files:  44% (12000/27000)", "Checking out 12,000 of 27,000 files"),
]
NO_PROGRESS = [
    "",
    "fatal: bad object",
    "remote: Total 5 (delta 1), reused 3 (delta 0)",
    "remote: Receiving objects: 43% (430/1000), visit https://a.invalid now",
    "remote: /ai approve: 43% (1/2)",
    "Mining coins: 43% (1/2)",
    "Receiving objects: 43 of 1000",
    "Receiving objects: 43",
    "Enumerating objects: 43% (1/2)",
    "Receiving objects: 43% (1/" + "9" * 40 + ")",
    "Receiving objects: ٤٣% (١/٢)",
]


@pytest.mark.parametrize(("line", "text"), SAID)
def test_a_line_of_progress_becomes_plain_words(line, text):
    assert progress_text(line) == text


@pytest.mark.parametrize("line", NO_PROGRESS)
def test_any_other_line_says_nothing(line):
    assert progress_text(line) == ""


class Told(list[GitStep]):
    @property
    def texts(self) -> list[str]:
        return [step.text for step in self]


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(progress, "_UNTOLD_SECONDS", 0)
    monkeypatch.setattr(progress, "_TELL_SECONDS", 0.01)

    def make(script: str) -> Path:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return tmp_path

    return make


def test_a_command_tells_how_far_it_is_and_that_it_has_ended(fake_git):
    go_on = place_of(fake_git)
    fake_git(
        r"printf 'Receiving objects:  10%% (1/10), 5.00 MiB | 1.00 MiB/s\rReceiving ob' >&2;"
        f" while ! [ -e {go_on} ]; do sleep 0.01; done; printf 'jects:  20%% (2/10)' >&2"
    )
    told = Told()

    def tell(step: GitStep) -> None:
        told.append(step)
        if step.text == "Fetching 10 %, 5 MB":
            go_on.touch()

    with telling(tell):
        git_with_progress(go_on.parent, "fetch")
    assert "Fetching 10 %, 5 MB" in told.texts
    assert told.texts[-1] == ""
    assert all(step.moves for step in told)


def place_of(fake_git) -> Path:
    return fake_git(":") / "go-on"


def test_a_command_that_stands_still_says_so(fake_git, monkeypatch):
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.05)
    go_on = place_of(fake_git)
    fake_git(f"printf 'Receiving objects:  10%% (1/10)\\r' >&2; while ! [ -e {go_on} ]; do sleep 0.01; done")
    told = Told()

    def tell(step: GitStep) -> None:
        told.append(step)
        if step.text == "Fetching 10 %; no progress for 2 min":
            go_on.touch()

    with telling(tell):
        git_with_progress(go_on.parent, "fetch")
    assert GitStep("Fetching 10 %; no progress for 2 min", moves=False) in told


def test_an_error_is_told_without_the_progress_before_it(fake_git):
    place = fake_git(r"printf 'Receiving objects:  10%% (1/10)\rfatal: early EOF\n' >&2; exit 128")
    with pytest.raises(GitFailed) as failed:
        git_with_progress(place, "fetch")
    assert failed.value.stderr == "fatal: early EOF\n"


def test_a_short_command_tells_nothing(fake_git, monkeypatch):
    monkeypatch.setattr(progress, "_UNTOLD_SECONDS", 60)
    place, told = fake_git(r"printf 'Receiving objects:  10%% (1/10)\n' >&2; sleep 0.1"), Told()
    with telling(told.append):
        git_with_progress(place, "fetch")
    assert told == []


def test_a_time_limit_ends_it(fake_git):
    with pytest.raises(GitFailed, match="no answer within 0 s"):
        git_with_progress(fake_git("exec sleep 100"), "fetch", timeout=0.05)


async def test_a_cancelled_call_ends_its_command(fake_git):
    began = fake_git(":") / "began"
    fake_git(f"touch {began}; exec sleep 100")
    at = time.monotonic()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(in_thread(git_with_progress, began.parent, "fetch"))
        while not began.exists():
            await asyncio.sleep(0.01)
        task.cancel()
    assert time.monotonic() - at < 60


async def test_a_failure_of_a_command_with_progress_is_an_error_of_ours(fake_git):
    with pytest.raises(BotError):
        await in_thread(git_with_progress, fake_git("exit 1"), "fetch")


def test_everybody_who_waits_for_a_command_is_told_also_if_another_runs_it():
    audience, one, other = Audience(), Told(), Told()
    with (
        telling(one.append),
        audience.joined(),
        telling(other.append),
        audience.joined(),
        telling(None),
        audience.joined(),
    ):
        progress._tell.get()(GitStep("Fetching"))
    with audience.joined():
        progress._tell.get()(GitStep("Fetching"))
    assert one == other == [GitStep("Fetching")]

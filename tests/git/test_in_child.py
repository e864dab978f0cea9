"""Work on an agent's files runs in a separate process: it can be ended, and only it can crash."""

import asyncio
import ctypes
import errno
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bot.errors import Bug, NeedsHuman, OverLimit, Retryable
from bot.git.command import GitFailed, git
from bot.git.in_child import in_child
from bot.git.in_thread import in_thread


@dataclass(frozen=True, slots=True)
class Words:
    text: str = ""
    """Any bytes survive, as surrogates."""
    many: tuple[str, ...] = ()


def say_it_again(order: Words) -> Words:
    return Words(order.text, (str(os.getppid()), *sorted(os.environ)))


def wait(order: Words) -> Words:
    note = Path(order.text)
    note.write_text(str(os.getpid()))
    time.sleep(20)
    note.write_text("ended by itself")
    return order


def wait_in_git(order: Words) -> Words:
    git(
        Path(order.many[0]),
        "-c",
        f"alias.wait=!echo $$ > {order.text}; sleep 20; echo ended by itself > {order.text}",
        "wait",
    )
    return order


def compute_forever(order: Words) -> Words:
    while True:
        pass


def fill_the_memory(order: Words) -> Words:
    held = bytearray(8_000_000_000)
    return Words(str(len(held)))


def call_itself(order: Words) -> Words:
    return call_itself(order)


def crash(order: Words) -> Words:
    ctypes.string_at(0)
    return order


def fail(order: Words) -> Words:
    match order.text:
        case "person":
            raise NeedsHuman("Look at it.")
        case "git":
            raise GitFailed(("log", "-1"), 128, "fatal: no")
        case "disk":
            raise OSError(errno.ENOSPC, "No space left on device")
        case _:
            raise KeyError("unexpected")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def pid_in(path: Path) -> int:
    async with asyncio.timeout(60):
        while not (path.exists() and path.read_text().strip()):
            await asyncio.sleep(0.02)
    return int(path.read_text())


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while is_alive(pid):
            await asyncio.sleep(0.02)


def test_records_with_any_bytes_are_passed_to_a_child_and_back(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-children")
    odd = os.fsdecode(b"\xff\xfe\n")
    answer = in_child(say_it_again, Words(odd))
    assert (answer.text, answer.many[0]) == (odd, str(os.getpid()))
    assert "ANTHROPIC_API_KEY" not in answer.many


@pytest.mark.attack("T16", "Reading a worktree continues after stop and SIGTERM")
async def test_a_cancelled_call_ends_its_child_at_once(tmp_path):
    note = tmp_path / "pid"
    task = asyncio.ensure_future(in_thread(in_child, wait, Words(str(note))))
    pid = await pid_in(note)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (is_alive(pid), note.read_text()) == (False, str(pid))


async def test_a_call_waits_for_no_other(tmp_path):
    """Captures of every slot may take minutes; the salvage of a stopped run begins at once."""
    held = threading.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(in_thread(held.wait))
        await asyncio.sleep(0)
        await in_thread(held.set)


async def test_git_commands_of_a_child_end_with_it(tmp_path):
    note = tmp_path / "pid"
    git(tmp_path / "repo", "init", "--bare", "--quiet")
    task = asyncio.ensure_future(in_thread(in_child, wait_in_git, Words(str(note), (str(tmp_path / "repo"),))))
    pid = await pid_in(note)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(pid)
    assert note.read_text() == f"{pid}\n"


async def test_a_cancelled_call_starts_no_further_child(tmp_path):
    started, seen = asyncio.Event(), []

    def two_in_a_row(loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(started.set)
        for number in range(2):
            try:
                in_child(wait, Words(str(tmp_path / str(number))))
            except Retryable as problem:
                seen.append(str(problem))

    task = asyncio.ensure_future(in_thread(two_in_a_row, asyncio.get_running_loop()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [problem.partition(":")[0] for problem in seen] == ["Interrupted", "Interrupted"]
    assert "ended by itself" not in [note.read_text() for note in tmp_path.iterdir()]


def test_a_child_ends_with_its_parent(tmp_path):
    note, parent = tmp_path / "pid", os.fork()
    if not parent:
        in_child(wait, Words(str(note)))
        os._exit(0)
    child = asyncio.run(pid_in(note))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    asyncio.run(until_gone(child))
    assert note.read_text() == str(child)


@pytest.mark.attack("T16", "A file crashes the process that reads it, or takes all its memory")
@pytest.mark.parametrize(
    "work",
    [
        crash,
        fill_the_memory,
        call_itself,
        partial(in_child, compute_forever, cpu_seconds=1),
        partial(in_child, compute_forever, seconds=0.5),
    ],
    ids=["crash", "memory", "recursion", "processor time", "time"],
)
def test_a_killed_child_is_reported_in_plain_english(work):
    call = work if isinstance(work, partial) else partial(in_child, work)
    with pytest.raises(OverLimit, match=r"^Reading and checking the files .*gitignore\.$"):
        call(Words())


@pytest.mark.parametrize(("kind", "error"), [("person", NeedsHuman), ("git", GitFailed), ("disk", OSError), ("", Bug)])
def test_an_error_in_a_child_is_raised_with_its_class(kind, error):
    with pytest.raises(error) as raised:
        in_child(fail, Words(kind))
    assert type(raised.value) is error

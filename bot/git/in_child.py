"""Runs work on files that an agent wrote in a child process, which can be ended at any moment and may crash.

Rule: what goes in and what comes out are records, never code: the child has read what an agent wrote.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from bot import errors
from bot.domain.serialize import as_record, from_record
from bot.errors import Bug, OverLimit, Retryable
from bot.git.command import GitFailed, RepositoryDamaged, inherited_environment
from bot.git.in_thread import ending_with_this_call

MAX_SECONDS = 300.0
"""A child that takes longer is killed."""
MAX_CPU_SECONDS = 300
"""Processor time of a child: the same limit on a busy machine."""
_CHILD = Path(__file__).with_name("child_main.py")
_MAX_SHOWN = 4000

Order = TypeVar("Order")
Answer = TypeVar("Answer")


def in_child(
    work: Callable[[Order], Answer], order: Order, *, seconds: float = MAX_SECONDS, cpu_seconds: int = MAX_CPU_SECONDS
) -> Answer:
    """Calls a function of a module that takes one record and returns one.

    Raises OverLimit if it takes too long, needs too much memory or crashes.
    """
    facts = (work.__module__, work.__qualname__, str(os.getpid()), str(cpu_seconds))
    with (
        subprocess.Popen(
            [sys.executable, "-I", str(_CHILD), *facts],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd="/", env={**inherited_environment(), "LC_ALL": "C.UTF-8"}, start_new_session=True,
        ) as process,
        ending_with_this_call(lambda: _kill(process)) as was_ended,
    ):  # fmt: skip
        try:
            printed, complaint = process.communicate(json.dumps(as_record(order)).encode(), seconds)
        except subprocess.TimeoutExpired as exc:
            raise OverLimit(_took_too_long(seconds)) from exc
        finally:
            _kill(process)
    if was_ended():
        raise Retryable("Interrupted: nothing was changed, and the next attempt starts from the beginning.")
    if process.returncode == -signal.SIGXCPU:
        raise OverLimit(_took_too_long(cpu_seconds))
    if process.returncode < 0:
        raise OverLimit(_crashed(-process.returncode))
    if process.returncode:
        raise Bug(f"A child process failed: {complaint.decode(errors='replace')[-_MAX_SHOWN:]}")
    return cast("Answer", from_record(get_type_hints(work)["return"], _answer_in(json.loads(printed))))


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """With the git commands that it has started: they are in its process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _took_too_long(seconds: float) -> str:
    return (
        f"Reading and checking the files took more than {seconds:.0f} s. Delete files that were generated, or add "
        "their folders to .gitignore."
    )


def _crashed(number: int) -> str:
    return (
        f"Reading and checking the files ended with {signal.Signals(number).name}; the usual cause is too little "
        "memory. "
        "Delete very large files, or add them to .gitignore."
    )


def _answer_in(reply: Mapping[str, Any]) -> object:
    """Raises the error that the child has met."""
    match reply:
        case {"git": [str(command), int(code), str(stderr), bool(is_damage)]}:
            raise (RepositoryDamaged if is_damage else GitFailed)((command,), code, stderr)
        case {"errno": int(number), "text": str(text)}:
            raise OSError(number, text)
        case {"error": str(kind), "text": str(text)}:
            raise getattr(errors, kind)(text)
        case {"answer": answer}:
            return answer
        case _:
            raise Bug("A child process returned no result.")

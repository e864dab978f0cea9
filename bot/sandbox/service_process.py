"""Runs one service in the sandbox: fills its data folder once, starts it, says when it answers, and ends it.

A script of its own that imports nothing of the bot. `service_process.py FILE FOLDER NAME`: FILE describes services, and
FOLDER has a folder for each. It prints `ready`, or the reason why there is no service, and ends when its stdin does.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

READY = "ready"
_START_SECONDS = 90.0
_BUSY_SECONDS = 10.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LAST_BYTES = 2000


def main(file: str, top: str, name: str) -> None:
    service = next(one for one in json.loads(Path(file).read_text())["services"] if one["name"] == name)
    folder = Path(top, name)
    folder.mkdir(exist_ok=True)
    log = Path(top, f"{name}.log")
    with log.open("wb") as output:
        try:
            problem = _run(service, folder, output)
        except OSError as failure:
            problem = f"did not start: {failure}"
    if problem:
        end = log.read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()
        _say(f"{service['title']} {problem}\n{end}".strip())


def _run(service: dict[str, Any], folder: Path, output: IO[bytes]) -> str:
    """Returns why it did not start; empty after a start and an end."""
    lock = os.open(folder, os.O_RDONLY)
    if not _lock(lock):
        return "runs already, for another command in this worktree"
    data = folder / "data"
    if not data.is_dir() and (problem := _fill(service, folder / "new", data, output)):
        return problem
    for stale in service["stale"]:
        (data / stale).unlink(missing_ok=True)
    process = subprocess.Popen(
        service["command"], cwd=data, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )
    try:
        if problem := _wait_until_ready(service, process):
            return problem
        _say(READY)
        while process.poll() is None and not select.select([0], [], [], 1)[0]:
            pass
    finally:
        _stop(process, service["stop_signal"])
    return ""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _lock(folder: int) -> bool:
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)


def _fill(service: dict[str, Any], new: Path, data: Path, output: IO[bytes]) -> str:
    """The folder gets its name when it is complete."""
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if service["prepare"]:
        words = ["/bin/sh", "-c", service["prepare"]]
        code = subprocess.run(
            words, cwd=new, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        ).returncode
        if code:
            return f"could not be prepared: exit code {code}"
    new.rename(data)
    return ""


def _wait_until_ready(service: dict[str, Any], process: "subprocess.Popen[bytes]") -> str:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            return f"did not start: exit code {process.returncode}"
        if _answers(service):
            return ""
        time.sleep(_POLL_SECONDS)
    return f"did not answer within {_START_SECONDS:g} seconds"


def _answers(service: dict[str, Any]) -> bool:
    if service["ready"]:
        return (
            subprocess.run(service["ready"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
        )
    try:
        socket.create_connection(("127.0.0.1", service["port"]), timeout=1).close()
    except OSError:
        return False
    return True


def _stop(process: "subprocess.Popen[bytes]", number: int) -> None:
    process.send_signal(number)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])

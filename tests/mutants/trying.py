"""Runs tests in a forked process that has already imported everything but the code under test.

Rule: `bot` and `tests` come from the given folder, also in every process that the tests start.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 200.0
_SECONDS_AFTER_FAILURE = 20.0
_NEVER_ENDED = -1
_PYTEST_SAID = 100  # added to its word: a process that comes to grief elsewhere ends with 1, too
_ALREADY_THERE = [
    "pytest", "pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin",
    "hypothesis.strategies", "httpx", "h11", "starlette.applications", "uvicorn", "git", "gitdb.db", "github", "jwt",
    "requests", "psutil", "claude_agent_sdk", "pydantic_settings", "rich.live", "markdown_it", "openapi_core",
    "graphql", "apscheduler.schedulers.asyncio", "jinja2", "prometheus_client",
]  # fmt: skip

CAUGHT, SURVIVED, NOTHING_RAN = 1, 0, 5
"""In pytest's words: some failed, all passed, there was none to run."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(_ALREADY_THERE)


def run(folder: Path, arguments: Sequence[str], *, seconds: float = _SECONDS) -> tuple[int, str]:
    """Returns pytest's exit code and the end of its output."""
    scratch, temporary, said = (Path(f"{folder}-{name}") for name in ("scratch", "tmp", "said"))
    temporary.mkdir(exist_ok=True)
    process = _processes.Process(target=_test, args=(folder, (scratch, temporary), said, [*arguments]))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    ended = process.exitcode or 0
    code = ended - _PYTEST_SAID if ended >= _PYTEST_SAID else _NEVER_ENDED
    printed = said.read_text(errors="replace")[-3000:] if said.exists() else ""
    subprocess.run(["rm", "-rf", str(scratch), str(temporary)], check=False)  # it may be deeper than Python can follow
    said.unlink(missing_ok=True)
    return code, printed


class _Ran:
    """Counts tests; skipped ones have not run. After a failure it does not wait for a clean-up that hangs."""

    def __init__(self) -> None:
        self.tests = 0

    def pytest_runtest_logreport(self, report) -> None:
        self.tests += report.when == "call" and not report.skipped
        if report.failed:
            print(f"\n{report.nodeid}\n{report.longreprtext[-1500:]}", flush=True)
            end = threading.Timer(_SECONDS_AFTER_FAILURE, os._exit, (_PYTEST_SAID + CAUGHT,))
            end.daemon = True
            end.start()


def _test(folder: Path, places: tuple[Path, Path], said: Path, arguments: list[str]) -> None:
    scratch, temporary = places
    tempfile.tempdir = str(temporary)  # this process ends without tidying up
    output = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    root = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [
        str(folder),
        *(place for place in sys.path if place not in {root, str(Path(root, "tests", "mutants"))}),
    ]
    for name in [name for name in sys.modules if name.partition(".")[0] in {"bot", "tests"}]:
        del sys.modules[name]

    import pytest

    # without rewriting: loaded modules cannot be rewritten, and the name of the failing test is enough
    plain = ("-q", "--assert=plain", "-p", "no:cacheprovider", "--timeout", "100", f"--basetemp={scratch}")
    ran = _Ran()
    code = int(pytest.main([*plain, *arguments], plugins=[ran]))
    code = NOTHING_RAN if code == SURVIVED and not ran.tests else code
    sys.stdout.flush()
    os._exit(_PYTEST_SAID + code)

"""Operator's programs: runs npm, uv and mise of this machine, as its operator would, far away from any repository.

Rule: nothing of a repository reaches them but a name and a version that were checked. They start in `/`, so that they
find no settings beside them, and get no variable that could hold a key of Treehand's.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.git.in_thread import ending_with_this_call

_MAX_OUTPUT = 600
_TERMINATE_SECONDS = 5
_UMASK = 0o022
"""Sandboxes of other users read what they write."""
_KEPT = re.compile(
    r"PATH|HOME|TMPDIR|LANG|USER|LOGNAME|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|(?:https?|all|no)_proxy|XDG_[A-Z_]+"
    r"|(?:npm_config|uv|mise)_\w+",
    re.IGNORECASE,
)
"""Variables with which people set these programs up."""


class ProgramFailed(Exception):
    """The program is missing, failed, or took too long. The message is the beginning of what it printed."""


def find_operator_program(name: str) -> Path | None:
    """Searches the PATH, and where installers put programs for one user."""
    folders = [*os.get_exec_path(), *(str(Path.home() / place) for place in (".local/bin", ".cargo/bin"))]
    found = shutil.which(name, path=os.pathsep.join(folders))
    return Path(found) if found else None


def run_operator_program(words: Sequence[str], variables: Mapping[str, str], *, seconds: float) -> str:
    """Returns its output. Raises ProgramFailed. It is ended if the surrounding `in_thread` is cancelled."""
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}  # noqa: TID251 - handed on
    try:
        process = subprocess.Popen(
            words, env={**kept, **variables}, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, umask=_UMASK,
        )  # fmt: skip
    except OSError as problem:
        raise ProgramFailed(f"{words[0]}: {problem.strerror}") from problem
    with ending_with_this_call(lambda: _send(process, signal.SIGTERM)):
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as late:
            _end(process)
            raise ProgramFailed(f"no answer within {seconds:.0f} s") from late
    if process.returncode:
        raise ProgramFailed((errors or output).strip()[:_MAX_OUTPUT] or f"exit code {process.returncode}")
    return output


def _end(process: "subprocess.Popen[str]") -> None:
    _send(process, signal.SIGTERM)
    try:
        process.communicate(timeout=_TERMINATE_SECONDS)
    except subprocess.TimeoutExpired:
        _send(process, signal.SIGKILL)
        process.communicate()


def _send(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    if process.poll() is None:
        os.killpg(process.pid, number)

"""Starts the agent in its own session with an allow-listed environment; the kernel kills it when the bot dies.

A standalone script that imports nothing of the bot.

`launch.py PROGRAM ARGUMENT...`, with KEEP (names, separated by commas) and PARENT in the environment. With SUPERVISE as
its first argument it stays, kills whatever the program leaves running, and ends with the program's exit status.
"""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

SUPERVISE = "--supervise"
KEEP = "TREEHAND_KEEP"
PARENT = "TREEHAND_PARENT"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALLED = 128
"""Added to the number of the signal that ended the program, as shells do."""


def main(program: str, *arguments: str) -> None:
    environment = dict(os.environ)  # noqa: TID251 - handed on, not read
    keep = set(environment.get(KEEP, "").split(","))
    os.setsid()
    os.umask(0o022)  # files of agents get the usual permissions, although files of the daemon are private
    if sys.platform == "linux":
        die_with_parent(int(environment[PARENT]))
    kept = {name: value for name, value in environment.items() if name in keep}
    if program != SUPERVISE:
        os.execve(program, [program, *arguments], kept)  # noqa: S606
    child = os.spawnve(os.P_NOWAIT, arguments[0], arguments, kept)  # noqa: S606
    _, status = os.waitpid(child, 0)
    _kill_children()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else _SIGNALLED - code)


def _kill_children() -> None:
    """Until there are none: the children of those that it kills become children of this process."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(ChildProcessError, FileNotFoundError):
        while True:
            for child in listing.read_text().split():
                os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)


def die_with_parent(parent: int) -> None:
    """Dies with the parent, and adopts every detached descendant, so that all can be found."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The daemon has ended.")


if __name__ == "__main__":
    main(*sys.argv[1:])

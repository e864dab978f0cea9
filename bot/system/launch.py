"""Runs an agent's program as a stranger in this house: in a session of its own, with no variable it was not meant
to have, and gone when the bot is gone. A script of its own that imports nothing of the bot.

`launch.py PROGRAM ARGUMENT...`, with KEEP (names, separated by commas) and PARENT in the environment.
"""

import ctypes
import os
import signal
import sys

KEEP = "TREEHAND_KEEP"
PARENT = "TREEHAND_PARENT"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(program: str, *arguments: str) -> None:
    environment = dict(os.environ)  # noqa: TID251 - handed on, not read
    keep = set(environment.get(KEEP, "").split(","))
    os.setsid()
    if sys.platform == "linux":
        _tie_to(int(environment[PARENT]))
    os.execve(program, [program, *arguments], {name: value for name, value in environment.items() if name in keep})  # noqa: S606


def _tie_to(parent: int) -> None:
    """End with the parent, and stay the parent of every descendant however it detaches, so that all can be found."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the bot is gone")


if __name__ == "__main__":
    main(*sys.argv[1:])

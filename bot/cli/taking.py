"""`treehand take`: a comment like the others, and then where the worktree is, once nothing of ours is in it."""

import sys
import time
from argparse import Namespace

from bot.app import by_hand
from bot.cli.steer import order
from bot.control.issue_keys import run_of
from bot.domain.run import Cause, Phase, Run
from bot.errors import NeedsHuman
from bot.settings import Settings, load, settings_file
from bot.system.locks import owner_of

_SECONDS, _PAUSE = 60.0, 0.2
_NOT_YET = "Not yours yet: wait until `treehand status` says so. Until then an agent may be at work in it."


def take(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    run = run_of(settings, options.key)
    if run.phase is Phase.DONE or not run.turn:
        raise NeedsHuman(f"There is nothing of {run.key} to take over: {run.reason or 'no agent has begun'}.")
    order(options)
    run = _let_go(settings, options.key)
    folder, command = by_hand(settings, run)
    print("\n".join(line for line in (str(folder), command) if line))
    if not _is_let_go(run):
        print(_NOT_YET, file=sys.stderr)


def _let_go(settings: Settings, key: str) -> Run:
    """As it is once the daemon has read the comment; without a daemon, as it is."""
    end = time.monotonic() + (_SECONDS if owner_of(settings.state_dir) else 0.0)
    while not _is_let_go(run := run_of(settings, key)) and time.monotonic() < end:
        time.sleep(_PAUSE)
    return run


def _is_let_go(run: Run) -> bool:
    return run.phase is Phase.ASKING and run.cause is Cause.TAKEN

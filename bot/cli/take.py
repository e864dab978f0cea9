"""`treehand take`: posts the comment command, waits until the agent has ended, and prints the path of the worktree."""

import asyncio
import sys
import time
from argparse import Namespace

from bot.app import build_offline_agent
from bot.cli.settings import load_settings
from bot.control.issue_keys import find_run
from bot.control.takeover import worktree_and_command
from bot.control.user_actions import comment_as
from bot.domain.run import Phase, Run, WaitReason
from bot.errors import NeedsHuman
from bot.settings.load import operator
from bot.settings.schema import Settings
from bot.system.locks import daemon_pid

_LONGEST_WAIT_SECONDS, _PAUSE_SECONDS = 60.0, 0.2
_STILL_IN_USE = (
    "Do not change anything yet: an agent may still be working there. `treehand status` shows when its turn has ended."
)


def take(options: Namespace) -> None:
    settings = load_settings(options)
    run = find_run(settings, options.key)
    if run.phase is Phase.DONE or not run.turns.number:
        raise NeedsHuman(f"{run.key} has no worktree to take over: {run.reason or 'no agent has started'}.")
    text = f"/{settings.label} {options.comment_command}"
    asyncio.run(comment_as(settings, run.key, text, by=options.author or operator()))
    run = _wait_until_taken(settings, run.key)
    folder, command = worktree_and_command(settings, run, build_offline_agent(settings))
    print("\n".join(line for line in (str(folder), command) if line))
    if not _is_taken(run):
        print(_STILL_IN_USE, file=sys.stderr)


def _wait_until_taken(settings: Settings, key: str) -> Run:
    """Returns at once when no daemon is running, and after a minute at the latest."""
    end = time.monotonic() + (_LONGEST_WAIT_SECONDS if daemon_pid(settings.state_dir) else 0.0)
    while not _is_taken(run := find_run(settings, key)) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
    return run


def _is_taken(run: Run) -> bool:
    return run.phase is Phase.ASKING and run.wait_reason is WaitReason.TAKEN_OVER

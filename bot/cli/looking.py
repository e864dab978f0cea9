"""`treehand show KEY --run NAME`: one of a run's own servers, until Ctrl-C, or until the run is over."""

import asyncio
import signal
from argparse import Namespace
from collections.abc import Sequence

from bot.app import store_of
from bot.cli.output import say
from bot.control.issue_keys import project_of
from bot.control.run_server import Viewing
from bot.domain.run import Run
from bot.domain.setup_plan import Step
from bot.settings import Settings


def look(settings: Settings, run: Run, options: Namespace) -> None:
    viewing = Viewing(settings, project_of(settings, run.project), run)
    try:
        why = asyncio.run(_shown(viewing, options.run))
    except (KeyboardInterrupt, asyncio.CancelledError):
        why = "stopped"
    say(f"\n{options.run}: {why}", flush=True)


async def _shown(viewing: Viewing, name: str) -> str:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    store = store_of(viewing.settings)
    try:
        return await viewing.show(name, begun=_said, heard=_heard, find_run=store.find_run)
    finally:
        store.close()


def _heard(lines: Sequence[str]) -> None:
    for line in lines:
        say(line, flush=True)


def _said(address: str, step: Step) -> None:
    say(f"{step} ({step.why})\n{address}  as soon as it listens there; Ctrl-C ends it\n", flush=True)

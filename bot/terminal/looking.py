"""`treehand show KEY --run NAME`: one of a run's own servers, until Ctrl-C, or until the run is over."""

import asyncio
import codecs
import signal
from argparse import Namespace

from bot.app import store_of
from bot.domain.recipe import Step
from bot.domain.run import Run
from bot.keys import project_of
from bot.settings import Settings
from bot.terminal.saying import say
from bot.viewing import Viewing


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
    store, heard = store_of(viewing.settings), _Heard()
    try:
        return await viewing.show(name, begun=_said, heard=heard.more, find_run=store.find_run)
    finally:
        store.close()


def _said(address: str, step: Step) -> None:
    say(f"{step} ({step.why})\n{address}  as soon as it listens there; Ctrl-C ends it\n", flush=True)


class _Heard:
    """What comes in pieces, said line by line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def more(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            say(line.rstrip("\r"), flush=True)

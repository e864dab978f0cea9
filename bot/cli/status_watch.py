"""`treehand status --watch`: stays, and shows anew what has changed, or how it looks in another window."""

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.output import colours, say
from bot.cli.status_text import plain
from bot.errors import Retryable
from bot.settings import Settings
from bot.status.as_json import Picture
from bot.status.snapshot import picture
from bot.system.clock import steady

if TYPE_CHECKING:
    from rich.console import Console

_GLANCE_SECONDS = 0.5
_LOOK_SECONDS = 3.0
"""Ages grow, disks fill up, and daemons end without a word."""
_IDLE = 4
"""Looking at hundreds of runs takes a while: most of the time is to be left for those at work."""


def watch(settings: Settings, *, as_json: bool) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the window is left as it was
    console = None if as_json else colours()
    if console is None:
        _tell(settings, as_json=as_json)
    else:
        _paint(settings, console)


def _tell(settings: Settings, *, as_json: bool) -> None:
    """Again whenever something else is going on; that a second has passed is no news."""
    told: object = None
    with _resizes() as wait:
        for seen in _pictures(settings, wait):
            state = {name: value for name, value in seen.as_json().items() if name != "generated_at"}
            if state != told:
                say(json.dumps(seen.as_json()) if as_json else "\n".join([*plain(seen), ""]), flush=True)
                told = state


def _paint(settings: Settings, console: "Console") -> None:
    from rich.live import Live

    from bot.cli.tables import within

    with _resizes() as wait, Live(console=console, auto_refresh=False, screen=True) as live:
        for seen in _pictures(settings, wait):
            live.update(within(seen, console.width, console.height), refresh=True)


def _pictures(settings: Settings, wait: Callable[[float], bool]) -> Iterator[Picture]:
    """One at once, and one whenever there may be something new to see."""
    stamp, looked = object(), 0.0
    moved, pause = True, _GLANCE_SECONDS
    while True:
        new = _stamp(settings.state_dir)
        if moved or new != stamp or steady() - looked >= _LOOK_SECONDS:
            stamp, looked = new, steady()
            try:
                seen = picture(settings)
            except Retryable:
                pass  # a database is busy: what is shown stays a little longer
            else:
                pause = max(_GLANCE_SECONDS, (steady() - looked) * _IDLE)
                yield seen
        moved = wait(pause)


def _stamp(state: Path) -> object:
    """Something else once a database or a transcript was written."""
    files: list[os.DirEntry[str]] = []
    for folder, ends in ((state, (".db", ".db-wal")), (state / "transcripts", (".jsonl",))):
        if folder.is_dir():
            with os.scandir(folder) as listing:
                files += [item for item in listing if item.name.endswith(ends)]
    found = [(item.name, seen.st_size, seen.st_mtime_ns) for item in files if (seen := _seen(item))]
    return sorted(one for one in found if one[1])


def _seen(item: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def _resizes() -> Iterator[Callable[[float], bool]]:
    """A wait of so many seconds that ends early, with True, when the window changes its size."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.signal(signal.SIGWINCH, lambda *_: _poke(writing))

    def wait(seconds: float) -> bool:
        moved, _, _ = select.select([reading], [], [], seconds)
        return bool(moved and os.read(reading, 4096))

    try:
        yield wait
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(reading)
        os.close(writing)


def _poke(writing: int) -> None:
    """Where nobody has read the last one yet, that one will do."""
    try:
        os.write(writing, b".")
    except BlockingIOError:
        return

"""`treehand status --watch`: redraws the status when a run, the time or the size of the window changes."""

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.output import colour_console, print_text
from bot.cli.status_text import format_status
from bot.errors import Retryable
from bot.settings.schema import Settings
from bot.status.as_json import StatusSnapshot
from bot.status.snapshot import read_status
from bot.system.clock import steady

if TYPE_CHECKING:
    from rich.console import Console

_POLL_SECONDS = 0.5
_REFRESH_SECONDS = 3.0
"""Ages, disk space and the daemon change without a write to the database."""
_IDLE_RATIO = 4
"""Reading hundreds of runs takes a while: at least this much of the time is left to the agents."""


def watch(settings: Settings, *, as_json: bool) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # leaves the alternate screen
    console = None if as_json else colour_console()
    if console is None:
        _print_changes(settings, as_json=as_json)
    else:
        _draw(settings, console)


def _print_changes(settings: Settings, *, as_json: bool) -> None:
    """Prints a new block when anything but the time has changed."""
    printed: object = None
    with _resizes() as wait:
        for snapshot in _snapshots(settings, wait):
            state = {name: value for name, value in snapshot.as_json().items() if name != "generated_at"}
            if state != printed:
                print_text(
                    json.dumps(snapshot.as_json()) if as_json else "\n".join([*format_status(snapshot), ""]), flush=True
                )
                printed = state


def _draw(settings: Settings, console: "Console") -> None:
    from rich.live import Live

    from bot.cli.tables import render_status_within

    with _resizes() as wait, Live(console=console, auto_refresh=False, screen=True) as live:
        for snapshot in _snapshots(settings, wait):
            live.update(render_status_within(snapshot, console.width, console.height), refresh=True)


def _snapshots(settings: Settings, wait: Callable[[float], bool]) -> Iterator[StatusSnapshot]:
    """Yields one at once, and another when anything may have changed."""
    stamp, looked = object(), 0.0
    resized, pause = True, _POLL_SECONDS
    while True:
        new = _stamp(settings.state_dir)
        if resized or new != stamp or steady() - looked >= _REFRESH_SECONDS:
            stamp, looked = new, steady()
            try:
                snapshot = read_status(settings)
            except Retryable:
                pass  # a database is busy: the last snapshot stays on the screen
            else:
                pause = max(_POLL_SECONDS, (steady() - looked) * _IDLE_RATIO)
                yield snapshot
        resized = wait(pause)


def _stamp(state: Path) -> object:
    """Differs after every write to a database or a transcript."""
    files: list[os.DirEntry[str]] = []
    for folder, ends in ((state, (".db", ".db-wal")), (state / "transcripts", (".jsonl",))):
        if folder.is_dir():
            with os.scandir(folder) as listing:
                files += [item for item in listing if item.name.endswith(ends)]
    stamps = [(item.name, stat.st_size, stat.st_mtime_ns) for item in files if (stat := _stat(item))]
    return sorted(stamp for stamp in stamps if stamp[1])


def _stat(item: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def _resizes() -> Iterator[Callable[[float], bool]]:
    """Yields a wait that ends early, with True, when the size of the window changes."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.signal(signal.SIGWINCH, lambda *_: _wake(writing))

    def wait(seconds: float) -> bool:
        resized, _, _ = select.select([reading], [], [], seconds)
        return bool(resized and os.read(reading, 4096))

    try:
        yield wait
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(reading)
        os.close(writing)


def _wake(writing: int) -> None:
    """Does nothing if an earlier byte is still unread."""
    try:
        os.write(writing, b".")
    except BlockingIOError:
        return

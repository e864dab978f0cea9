"""`treehand logs`: prints the transcript of a run's agent, and with `-f` its new lines."""

import json
import time
from argparse import Namespace
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from bot.cli.output import hanging, print_text
from bot.cli.settings import load_settings
from bot.control.issue_keys import find_run
from bot.domain.run import Run
from bot.domain.turn import EventKind
from bot.settings.schema import Settings
from bot.store.build import open_store, open_transcripts
from bot.store.runs import RunStore
from bot.store.transcripts import TranscriptReader
from bot.system.clock import now
from bot.text.invisible_characters import on_one_line

_MOST_TOOL_OUTPUT_LINES = 12
_POLL_SECONDS = 0.3
_STAMP_WIDTH = len("12:00:00  ")
_STYLES: Mapping[object, str] = {
    EventKind.TOOL: "cyan",
    EventKind.TOOL_RESULT: "dim",
    EventKind.TODOS: "magenta",
    EventKind.NOTICE: "yellow",
    EventKind.RESULT: "green",
}


def logs(options: Namespace) -> None:
    settings = load_settings(options)
    run = find_run(settings, options.key)
    reader = open_transcripts(settings).reader(run.id)
    print_line = _print_json if options.json else _print_line
    for line in _select(reader.read_new(), options):
        print_line(line)
    if options.follow:
        for line in _follow(settings, run, reader):
            print_line(line)


def _select(lines: Iterator[Mapping[str, Any]], options: Namespace) -> Iterator[Mapping[str, Any]]:
    since = now() - options.since if options.since else 0.0
    recent = (line for line in lines if not since or _time_of(line) >= since)
    return recent if options.lines is None else iter(deque(recent, maxlen=options.lines))


def _follow(settings: Settings, run: Run, reader: TranscriptReader) -> Iterator[Mapping[str, Any]]:
    """Ends when the run is done and its last lines are read."""
    store = open_store(settings)
    try:
        done = False
        while not done:
            done = _is_done(store, run)
            time.sleep(_POLL_SECONDS * (4 if done else 1))  # transcripts are written a few times a second
            yield from reader.read_new()
    finally:
        store.close()


def _is_done(store: RunStore, run: Run) -> bool:
    return all(active.id != run.id for active in store.active())


def _print_json(line: Mapping[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def _print_line(line: Mapping[str, Any]) -> None:
    print_text(hanging(_format_line(line), _STAMP_WIDTH), flush=True, style=_STYLES.get(line.get("kind"), "none"))


def _format_line(line: Mapping[str, Any]) -> str:
    stamp = time.strftime("%H:%M:%S", time.localtime(_time_of(line)))
    text = str(line.get("text", ""))
    match line.get("kind"):
        case EventKind.TOOL | EventKind.STEP | EventKind.WAITING:
            return f"{stamp}  ▸ {text}"
        case EventKind.TOOL_RESULT:
            return f"{stamp}    " + "\n  ".join(text.splitlines()[:_MOST_TOOL_OUTPUT_LINES])
        case EventKind.PROMPT:
            return f"{stamp}  prompt of {len(text.splitlines())} lines"
        case EventKind.TODOS:
            return f"{stamp}  to do: {_format_todos(line.get('todos'))}"
        case kind:
            return f"{stamp}  {kind}: {text}" if kind != EventKind.TEXT else f"{stamp}  {text}"


def _time_of(line: Mapping[str, Any]) -> float:
    return float(line.get("at", 0))


def _format_todos(todos: object) -> str:
    listed = todos if isinstance(todos, list) else []
    return ", ".join(f"[{'x' if todo['done'] else ' '}] {on_one_line(str(todo['text']))}" for todo in listed)

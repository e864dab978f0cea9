"""`treehand logs`: what an agent said and did, from its transcript, and what comes while one watches."""

import json
import time
from argparse import Namespace
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from bot.app import store_of, transcripts_of
from bot.cli.output import say
from bot.control.issue_keys import run_of
from bot.domain.run import Run
from bot.domain.turn import EventKind
from bot.settings import Settings, load, settings_file
from bot.store.runs import RunStore
from bot.store.transcripts import Reading
from bot.system.clock import now
from bot.text.visible import on_one_line

_PRINTED_LINES = 12
"""Of what a tool printed."""
_LOOK_SECONDS = 0.3
_STYLES: Mapping[object, str] = {
    EventKind.TOOL: "cyan",
    EventKind.TOOL_RESULT: "dim",
    EventKind.TODOS: "magenta",
    EventKind.NOTICE: "yellow",
    EventKind.RESULT: "green",
}


def logs(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    run = run_of(settings, options.key)
    reading = transcripts_of(settings).reading(run.id)
    tell = _as_it_is if options.json else _in_words
    for line in _wanted(reading.new(), options):
        tell(line)
    if options.follow:
        for line in _coming(settings, run, reading):
            tell(line)


def _wanted(lines: Iterator[Mapping[str, Any]], options: Namespace) -> Iterator[Mapping[str, Any]]:
    since = now() - options.since if options.since else 0.0
    recent = (line for line in lines if not since or _moment(line) >= since)
    return recent if options.lines is None else iter(deque(recent, maxlen=options.lines))


def _coming(settings: Settings, run: Run, reading: Reading) -> Iterator[Mapping[str, Any]]:
    """Until the run is done, and the last it had to say has been written down."""
    store = store_of(settings)
    try:
        done = False
        while not done:
            done = _is_done(store, run)
            time.sleep(_LOOK_SECONDS * (4 if done else 1))  # transcripts are written a few times a second
            yield from reading.new()
    finally:
        store.close()


def _is_done(store: RunStore, run: Run) -> bool:
    return all(one.id != run.id for one in store.active())


def _as_it_is(line: Mapping[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def _in_words(line: Mapping[str, Any]) -> None:
    say(said(line), flush=True, style=_STYLES.get(line.get("kind"), "none"))


def said(line: Mapping[str, Any]) -> str:
    stamp = time.strftime("%H:%M:%S", time.localtime(_moment(line)))
    text = str(line.get("text", ""))
    match line.get("kind"):
        case EventKind.TOOL:
            return f"{stamp}  ▸ {text}"
        case EventKind.TOOL_RESULT:
            return "\n".join(f"{stamp}    {each}" for each in text.splitlines()[:_PRINTED_LINES])
        case EventKind.GIVEN:
            return f"{stamp}  given {len(text.splitlines())} lines to read"
        case EventKind.TODOS:
            return f"{stamp}  to do: {_todos(line.get('todos'))}"
        case kind:
            return f"{stamp}  {kind}: {text}" if kind != EventKind.TEXT else f"{stamp}  {text}"


def _moment(line: Mapping[str, Any]) -> float:
    return float(line.get("at", 0))


def _todos(todos: object) -> str:
    listed = todos if isinstance(todos, list) else []
    return ", ".join(f"[{'x' if todo['done'] else ' '}] {on_one_line(str(todo['text']))}" for todo in listed)

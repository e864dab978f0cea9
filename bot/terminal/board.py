"""`treehand status`, `show`, `logs`, `why` and `cost`: plain, stable lines."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping

from bot.app import store_of, transcripts_of
from bot.clock import now
from bot.domain.letters import on_one_line, visible
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import EventKind, Progress, TurnReport, TurnState
from bot.domain.verification import Verification
from bot.errors import NeedsHuman
from bot.glance import picture
from bot.settings import Settings, load, settings_file
from bot.state import LANES, Glimpse, Picture, run_as_json
from bot.terminal.keys import parse_key
from bot.terminal.saying import say

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def status(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.watch:
        _watch(settings)
        return
    seen = picture(settings)
    say(json.dumps(seen.as_json()) if options.json else "\n".join(_lanes(seen)))


def _watch(settings: Settings) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(highlight=False), auto_refresh=False, screen=sys.stdout.isatty()) as live:
        while True:
            live.update(Text(visible("\n".join(_lanes(picture(settings))))), refresh=True)
            time.sleep(2)


def _lanes(seen: Picture) -> Iterator[str]:
    for phase, title in LANES.items():
        runs = [run for run in seen.runs if run.phase is phase]
        if runs:
            yield f"{title} ({len(runs)})"
            yield from (_line(run, seen.glimpses.get(run.id, Glimpse()), seen.at) for run in runs)
            yield ""
    if not seen.runs:
        yield "Nothing is going on. Label an issue, and it begins.\n"
    limit = f" of ${seen.limit_usd:.2f}" if seen.limit_usd else ""
    yield f"Spent today: ${seen.spent_today_usd:.2f}{limit}"
    yield from (f"{name}: {one.detail}" for name, one in seen.health.items() if not one.ok)


def _line(run: Run, glimpse: Glimpse, at: float) -> str:
    what = glimpse.doing or run.reason or (glimpse.pull_request.url if glimpse.pull_request else "")
    age, cost = _age(at - run.changed_at), f"${run.spent_usd:.2f}"
    return f"  {run.key:<12} {on_one_line(glimpse.title)[:50]:<50} {age:>4}  {cost}  {on_one_line(what)}".rstrip()


def _age(seconds: float) -> str:
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{int(max(seconds, 0))}s"


def show(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    run, seen = run_of(settings, options.key), picture(settings)
    glimpse = seen.glimpses.get(run.id, Glimpse())
    store = store_of(settings)
    journal = store.journal(run)
    store.close()
    if options.json:
        history = [{"at": entry.at, "text": entry.text} for entry in journal]
        print(json.dumps({**run_as_json(run, glimpse), "journal": history}))
        return
    say(f"{run.key}  {glimpse.title}\n")
    told = {"pull_request": _pull(glimpse.pull_request), "verification": _verification(run.verification)}
    for name, value in {**run_as_json(run, glimpse), **told}.items():
        if value not in ("", None) and name not in {"key", "title", "started_at", "updated_at"}:
            say(f"{name + ':':<14}{value}")
    say("\nJournal")
    for entry in journal:
        say(f"  {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.at))}  {entry.text}")


def _pull(pull: PullRequest | None) -> str:
    return f"#{pull.number} {pull.state}{', a draft' if pull.draft else ''} {pull.url}".rstrip() if pull else ""


def _verification(found: Verification | None) -> str:
    if found is None:
        return ""
    stands = [f"{one}: {'broken by the change' if one in found.broken else one.standing}" for one in found.trials]
    return f"of {found.commit[:10]}: {'; '.join(stands) or found.trouble}"


def why(options: Namespace) -> None:
    from bot.domain.issue import Issue
    from bot.engine import messages
    from bot.engine.observation import Observation

    settings = load(settings_file(options.config))
    run = run_of(settings, options.key)
    turn = TurnReport(TurnState.RUNNING, Progress(doing=transcripts_of(settings).last_deed(run.id)))
    say(messages.why(run, Observation(now(), Issue(run.key, "", "", frozenset(), open=True), turn=turn)))


def logs(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    run, transcripts = run_of(settings, options.key), transcripts_of(settings)
    shown = 0
    while True:
        lines = list(transcripts.read(run.id))
        for line in lines[shown:]:
            say(_said(line), flush=True)
        shown = len(lines)
        if not options.follow or run_of(settings, options.key).phase is Phase.DONE:
            return
        time.sleep(0.5)


def _said(line: Mapping[str, object]) -> str:
    stamp = time.strftime("%H:%M:%S", time.localtime(float(str(line.get("at", 0)))))
    text = visible(str(line.get("text", "")))
    match line.get("kind"):
        case EventKind.TOOL:
            return f"{stamp}  ▸ {text}"
        case EventKind.TOOL_RESULT:
            return "\n".join(f"{stamp}    {each}" for each in text.splitlines()[:12])
        case EventKind.TODOS:
            return f"{stamp}  to do: {_todos(line.get('todos'))}"
        case kind:
            return f"{stamp}  {kind}: {text}" if kind != EventKind.TEXT else f"{stamp}  {text}"


def _todos(todos: object) -> str:
    listed = todos if isinstance(todos, list) else []
    return ", ".join(f"[{'x' if todo['done'] else ' '}] {on_one_line(str(todo['text']))}" for todo in listed)


def cost(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    store = store_of(settings)
    rows = store.cost_by(options.by)
    store.close()
    if options.json:
        print(json.dumps([{options.by: name, "usd": round(usd, 4), "tokens": tokens} for name, usd, tokens in rows]))
        return
    for name, usd, tokens in rows:
        say(f"{name:<20} ${usd:>9.2f} {tokens:>12,} tokens")
    say(f"{'all':<20} ${sum(usd for _, usd, _ in rows):>9.2f} {sum(tokens for *_, tokens in rows):>12,} tokens")


def run_of(settings: Settings, key: str) -> Run:
    store = store_of(settings)
    run = store.find_run(parse_key(settings, key)[1])
    store.close()
    if run is None:
        raise NeedsHuman(f"There is no run for {key}. `treehand status` shows those there are.")
    return run

"""`treehand show`, `why` and `cost`: tables in colour on a terminal, else plain lines that always look the same."""

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bot.app import evidence_of, store_of, transcripts_of
from bot.cli.output import colours, say
from bot.cli.status_text import checks_in_words, progress_of
from bot.control.issue_keys import run_of
from bot.domain.evidence import Piece
from bot.domain.journal import Entry
from bot.domain.pull_request import PullRequest
from bot.domain.run import Run
from bot.domain.turn import Progress, TurnReport, TurnState
from bot.domain.verification import Verification
from bot.settings import load, settings_file
from bot.status.as_json import Glimpse, run_as_json
from bot.status.snapshot import picture
from bot.system.clock import now
from bot.text.visible import on_one_line


def show(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    run = run_of(settings, options.key)
    if options.run:
        from bot.cli.looking import look

        look(settings, run, options)
        return
    glimpse = picture(settings).glimpses.get(run.id, Glimpse())
    store = store_of(settings)
    journal = store.journal(run)
    store.close()
    evidence = evidence_of(settings)
    left = evidence.of(run.id)
    if options.json:
        history = [{"at": entry.at, "text": entry.text} for entry in journal]
        files = [{**asdict(one), "path": str(evidence.path(run.id, one))} for one in left]
        print(json.dumps({**run_as_json(run, glimpse), "journal": history, "evidence": files}))
        return
    title = f"{run.key}  {on_one_line(glimpse.title)}"
    facts = [(name, on_one_line(value)) for name, value in _facts(run, glimpse) if value]
    facts += [("evidence", _evidence(one, evidence.path(run.id, one))) for one in left]
    told = [(_stamp(entry), on_one_line(entry.text)) for entry in journal]
    if console := colours():
        from bot.cli import tables as painting

        console.print(painting.facts(title, facts, told))
        return
    say("\n".join([title, "", *(f"{name + ':':<14}{value}" for name, value in facts)]))
    say("\n".join(["", "Journal", *(f"  {at}  {text}" for at, text in told)]))


def _facts(run: Run, glimpse: Glimpse) -> Iterator[tuple[str, str]]:
    pull = glimpse.pull_request
    yield "project", run.project
    yield "asked by", on_one_line(run.person)
    yield "phase", run.phase
    yield "reason", run.reason
    yield "doing", glimpse.doing
    yield "to do", progress_of(glimpse.todos)
    yield "branch", str(run_as_json(run, glimpse)["branch"])
    yield "changed", str(run.extent) if run.extent.files else ""
    yield "pull request", _pull(pull)
    yield "checks", checks_in_words(pull.checks).removeprefix("checks ") if pull else ""
    yield "verification", _verification(run.verification)
    yield "agent", glimpse.agent
    yield "turns", str(run.turn)
    yield "cost", f"${run.spent_usd:.2f}, {run.tokens:,} tokens"
    yield "worktree", glimpse.worktree


def _evidence(one: Piece, path: Path) -> str:
    """Left by the agent for people to see."""
    return on_one_line(f"{one.name} ({one.media_type.partition(';')[0]}, {one.size:,} bytes) {path}")


def _stamp(entry: Entry) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))


def _pull(pull: PullRequest | None) -> str:
    return f"#{pull.number} {pull.state}{', a draft' if pull.draft else ''} {pull.url}".rstrip() if pull else ""


def _verification(found: Verification | None) -> str:
    if found is None:
        return ""
    stands = [f"{one}: {'broken by the change' if one in found.broken else one.standing}" for one in found.trials]
    return f"of {found.commit[:10]}: {'; '.join(stands) or found.trouble}"


def why(options: Namespace) -> None:
    from bot.domain.issue import Issue
    from bot.engine.messages import issue as messages
    from bot.engine.observation import Observation

    settings = load(settings_file(options.config))
    run = run_of(settings, options.key)
    turn = TurnReport(TurnState.RUNNING, Progress(doing=transcripts_of(settings).last_deed(run.id)))
    text = messages.why(run, Observation(now(), Issue(run.key, "", "", frozenset(), open=True), turn=turn))
    if options.json:
        print(json.dumps({"key": run.key, "phase": run.phase.value, "why": text}))
    else:
        say(text)


def cost(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    store = store_of(settings)
    rows = store.cost_by(options.by)
    store.close()
    if options.json:
        print(json.dumps([{options.by: name, "usd": round(usd, 4), "tokens": tokens} for name, usd, tokens in rows]))
        return
    total = sum(usd for _, usd, _ in rows), sum(tokens for *_, tokens in rows)
    rows = [(on_one_line(name), usd, tokens) for name, usd, tokens in rows]
    if console := colours():
        from bot.cli import tables as painting

        console.print(painting.costs(options.by, rows, total))
        return
    for name, usd, tokens in (*rows, ("all", *total)):
        say(f"{name:<20} ${usd:>9.2f} {tokens:>12,} tokens")

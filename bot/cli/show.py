"""`treehand show`: prints one run with its journal and evidence, or starts one of its servers (`--run NAME`)."""

import asyncio
import json
import signal
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bot.cli.output import colour_console, print_text
from bot.cli.settings import load_settings
from bot.cli.status_text import RESULTS, format_checks, format_todo_count
from bot.control.issue_keys import find_project, find_run
from bot.domain.evidence import EvidenceFile
from bot.domain.price import why_guessed
from bot.domain.pull_request import PullRequest
from bot.domain.run import JournalEntry, Run
from bot.domain.setup_plan import SetupStep
from bot.domain.verification import Verification
from bot.engine.messages import verification_text
from bot.evidence.build import open_evidence
from bot.settings.schema import Settings
from bot.status.as_json import RunSummary, run_as_json
from bot.status.snapshot import read_status
from bot.store.build import open_store
from bot.text.invisible_characters import on_one_line
from bot.text.money import dollars


def show(options: Namespace) -> None:
    settings = load_settings(options)
    run = find_run(settings, options.key)
    if options.run:
        _show_server(settings, run, options.run)
        return
    summary = read_status(settings).summaries.get(run.id, RunSummary())
    store = open_store(settings)
    journal = store.journal(run)
    store.close()
    evidence = open_evidence(settings)
    files = evidence.list_files(run.id)
    if options.json:
        journal_json = [{"at": entry.at, "text": entry.text} for entry in journal]
        evidence_json = [{**asdict(file), "path": str(evidence.path(run.id, file))} for file in files]
        print(json.dumps({**run_as_json(run, summary), "journal": journal_json, "evidence": evidence_json}))
        return
    title = f"{run.key}  {on_one_line(summary.title)}"
    details = [(name, on_one_line(value)) for name, value in _details(run, summary) if value]
    details += [("evidence", _format_evidence(file, evidence.path(run.id, file))) for file in files]
    entries = [(_format_time(entry), on_one_line(entry.text)) for entry in journal]
    _print_run(title, details, entries)


def _print_run(title: str, details: Sequence[tuple[str, str]], journal: Sequence[tuple[str, str]]) -> None:
    if console := colour_console():
        from bot.cli import tables

        console.print(tables.render_run(title, details, journal))
        return
    print_text("\n".join([title, "", *(f"{name + ':':<14}{value}" for name, value in details)]))
    print_text("\n".join(["", "Journal", *(f"  {at}  {text}" for at, text in journal)]))


def _details(run: Run, summary: RunSummary) -> Iterator[tuple[str, str]]:
    pull = summary.pull_request
    yield "project", run.project
    yield "requested by", on_one_line(run.person)
    yield "phase", run.phase
    yield "reason", run.reason
    yield "doing", summary.doing
    yield "to do", format_todo_count(summary.todos)
    yield "branch", str(run_as_json(run, summary)["branch"])
    yield "changed", str(run.diff_stat) if run.diff_stat.files else ""
    yield "pull request", _format_pull(pull)
    yield "checks", format_checks(pull.checks).removeprefix("checks ") if pull else ""
    yield "verification", _format_verification(run.checks.verification)
    yield "agent", summary.agent
    yield "turns", str(run.turns.number)
    guessed = f"; {why_guessed(on_one_line(run.spend.unpriced))}" if run.spend.unpriced else ""
    yield "cost", f"{dollars(run.spend.usd)}, {run.spend.tokens:,} tokens{guessed}"
    yield "worktree", summary.worktree


def _format_evidence(file: EvidenceFile, path: Path) -> str:
    return on_one_line(f"{file.name} ({file.media_type.partition(';')[0]}, {file.size:,} bytes) {path}")


def _format_time(entry: JournalEntry) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))


def _format_pull(pull: PullRequest | None) -> str:
    return f"#{pull.number} {pull.state}{', a draft' if pull.draft else ''} {pull.url}".rstrip() if pull else ""


def _format_verification(result: Verification | None) -> str:
    if result is None:
        return ""
    short = verification_text.in_short(result).removeprefix("Verification: ").replace("`", "")
    results = [
        f"{run}: {'regression' if run in result.regressions else RESULTS[run.result]}" for run in result.commands
    ]
    network = ", without network" if result.without_network else ""
    return f"of {result.commit[:10]}{network}: {'; '.join(results) or result.problem}{f'. {short}' if short else ''}"


def _show_server(settings: Settings, run: Run, name: str) -> None:
    try:
        end = asyncio.run(_run_server(settings, run, name))
    except (KeyboardInterrupt, asyncio.CancelledError):
        end = "stopped"
    print_text(f"\n{name}: {end}", flush=True)


async def _run_server(settings: Settings, run: Run, name: str) -> str:
    """Returns why the server ended."""
    from bot.control.run_server import RunServer

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    store = open_store(settings)
    try:
        server = RunServer(settings, find_project(settings, run.project), run)
        return await server.run_to_end(name, on_start=_print_address, on_output=_print_output, find_run=store.find_run)
    finally:
        store.close()


def _print_output(lines: Sequence[str]) -> None:
    for line in lines:
        print_text(line, flush=True)


def _print_address(address: str, step: SetupStep) -> None:
    print_text(f"{step} ({step.why})\n{address}  opens as soon as the server listens; Ctrl-C stops it\n", flush=True)

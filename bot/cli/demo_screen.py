"""Screen of `treehand demo`: a table of runs above a log on a terminal, plain lines otherwise."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.domain.run import JournalEntry, Phase, Run
from bot.domain.run_names import turn_id_for
from bot.domain.turn import TurnReport

ShownRuns = Mapping[str, tuple[str, Run | None]]
"""Key and run of each issue, by its title; None before the run exists."""

_COLOURS = {
    Phase.QUEUED: "yellow",
    Phase.WORKING: "cyan",
    Phase.REVIEW: "magenta",
    Phase.ASKING: "red",
    Phase.DONE: "green",
}
_MOST_LOG_LINES = 14


class DemoScreen:
    def __init__(self, *, on_terminal: bool, quiet: bool) -> None:
        self._console = Console(quiet=quiet, highlight=False)
        self._on_terminal = on_terminal
        self._began = time.monotonic()
        self._log: list[str] = []
        self._journal_lengths: dict[str, int] = {}
        self._queued: set[str] = set()
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)

    def live(self) -> AbstractContextManager[object]:
        return self._live

    def log(self, sentence: str) -> None:
        line = f"{time.monotonic() - self._began:6.1f} s  {sentence}"
        self._log.append(line)
        if not self._on_terminal:
            self._console.print(Text(line), soft_wrap=True)

    def log_journal(self, run: Run, journal: Sequence[JournalEntry]) -> None:
        """Logs the entries that are new since the last call."""
        for entry in journal[self._journal_lengths.get(run.id, 0) :]:
            self.log(f"{run.key}: {entry.text}")
        self._journal_lengths[run.id] = len(journal)
        if run.phase is Phase.QUEUED and run.reason and run.id not in self._queued:
            self._queued.add(run.id)
            self.log(f"{run.key}: {run.reason}")

    def draw(self, runs: ShownRuns, reports: Mapping[str, TurnReport]) -> None:
        if self._on_terminal:
            log = Text("\n".join(self._log[-_MOST_LOG_LINES:]), style="dim", no_wrap=True, overflow="ellipsis")
            self._live.update(Group(_run_table(runs, reports), log))

    def close(self, outcome: Mapping[str, object]) -> None:
        if self._on_terminal:
            self._console.print(Text("\n".join(self._log)), soft_wrap=True)
        self._console.print(_outcome_table(outcome))


def _run_table(runs: ShownRuns, reports: Mapping[str, TurnReport]) -> Table:
    table = Table("Issue", "", "Phase", "Now", expand=True, show_edge=False)
    for title, (key, run) in runs.items():
        doing = (
            reports[turn_id_for(run, run.turns.number)].progress.action if run and _is_reported(run, reports) else ""
        )
        phase = Text(run.phase, style=_COLOURS[run.phase]) if run else Text("")
        table.add_row(key, title, phase, Text(doing or (run.reason if run else ""), no_wrap=True, overflow="ellipsis"))
    return table


def _is_reported(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    return run.phase is Phase.WORKING and turn_id_for(run, run.turns.number) in reports


def _outcome_table(outcome: Mapping[str, object]) -> Table:
    runs = outcome["runs"]
    assert isinstance(runs, list)
    table = Table("Issue", "Title", "Result", "Turns", "Comments", title="Outcome")
    for run in runs:
        comments, turns = str(run["comments_heard"]), str(run["turns"])
        table.add_row(run["key"], run["title"], _result(run), turns, comments)
    table.caption = (
        f"{len(list(outcome['pull_requests']))} pull requests, {outcome['commits']} commits, "  # type: ignore[call-overload]
        f"{outcome['worktrees_left']} worktrees left, {outcome['seconds']} s. The model was a {outcome['model']}."
    )
    return table


def _result(run: Mapping[str, object]) -> str:
    return "draft pull request" if run["phase"] == Phase.REVIEW else str(run["reason"] or run["phase"])

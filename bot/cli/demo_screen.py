"""Where the demo is shown: a board and a growing story on a terminal, plain lines anywhere else."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.domain.journal import Entry
from bot.domain.names import turn_id_for
from bot.domain.run import Phase, Run
from bot.domain.turn import TurnReport

Runs = Mapping[str, tuple[str, Run | None]]
"""By title: the key, and the run once there is one."""

_COLOURS = {
    Phase.QUEUED: "yellow",
    Phase.WORKING: "cyan",
    Phase.REVIEW: "magenta",
    Phase.ASKING: "red",
    Phase.DONE: "green",
}
_LINES_SHOWN = 14


class Stage:
    def __init__(self, *, watched: bool, quiet: bool) -> None:
        self._console = Console(quiet=quiet, highlight=False)
        self._watched = watched
        self._began = time.monotonic()
        self._told: list[str] = []
        self._journal: dict[str, int] = {}
        self._queued: set[str] = set()
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)

    def live(self) -> AbstractContextManager[object]:
        return self._live

    def tell(self, sentence: str) -> None:
        line = f"{time.monotonic() - self._began:6.1f} s  {sentence}"
        self._told.append(line)
        if not self._watched:
            self._console.print(Text(line), soft_wrap=True)

    def catch_up(self, run: Run, journal: Sequence[Entry]) -> None:
        """Tell what the journal of a run says since last time."""
        for entry in journal[self._journal.get(run.id, 0) :]:
            self.tell(f"{run.key}: {entry.text}")
        self._journal[run.id] = len(journal)
        if run.phase is Phase.QUEUED and run.reason and run.id not in self._queued:
            self._queued.add(run.id)
            self.tell(f"{run.key}: {run.reason}")

    def draw(self, runs: Runs, reports: Mapping[str, TurnReport]) -> None:
        if self._watched:
            story = Text("\n".join(self._told[-_LINES_SHOWN:]), style="dim", no_wrap=True, overflow="ellipsis")
            self._live.update(Group(_board(runs, reports), story))

    def close(self, outcome: Mapping[str, object]) -> None:
        if self._watched:
            self._console.print(Text("\n".join(self._told)), soft_wrap=True)
        self._console.print(_table(outcome))


def _board(runs: Runs, reports: Mapping[str, TurnReport]) -> Table:
    table = Table("Issue", "", "Phase", "Now", expand=True, show_edge=False)
    for title, (key, run) in runs.items():
        doing = reports[turn_id_for(run, run.turn)].progress.doing if run and _has_report(run, reports) else ""
        phase = Text(run.phase, style=_COLOURS[run.phase]) if run else Text("")
        table.add_row(key, title, phase, Text(doing or (run.reason if run else ""), no_wrap=True, overflow="ellipsis"))
    return table


def _has_report(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    return run.phase is Phase.WORKING and turn_id_for(run, run.turn) in reports


def _table(outcome: Mapping[str, object]) -> Table:
    runs = outcome["runs"]
    assert isinstance(runs, list)
    table = Table("Issue", "Title", "Phase", "Turns", "Comments heard", "Why", title="What happened")
    for run in runs:
        heard, turns = str(run["comments_heard"]), str(run["turns"])
        table.add_row(run["key"], run["title"], run["phase"], turns, heard, run["reason"])
    table.caption = (
        f"{len(list(outcome['pull_requests']))} pull requests, {outcome['commits']} commits, "  # type: ignore[call-overload]
        f"{outcome['worktrees_left']} worktrees left, {outcome['seconds']} s. The model was a {outcome['model']}."
    )
    return table

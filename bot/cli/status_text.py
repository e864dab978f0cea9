"""Text of `treehand status`: the columns of each run, the lane headings and the plain lines. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.cli.time_span import format_age
from bot.domain.pull_request import Checks, CheckState
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.domain.verification import Verification
from bot.status.as_json import LANES, RunSummary, StatusSnapshot
from bot.text.invisible_characters import on_one_line
from bot.text.money import dollars

NO_RUNS = "There are no runs. Label an issue to start one."
RESULTS: Mapping[str, str] = {
    "green": "passed",
    "red": "failed",
    "unknown": "unknown",
    "uncounted": "ran, no test counted",
}
"""Words for the results of checks and of verification."""


@dataclass(frozen=True, slots=True)
class StatusRow:
    """The columns of one run, each on one line and without control characters."""

    key: str
    title: str
    age: str
    cost: str
    todos: str
    """Done and total: `3/7`; empty without a to-do list."""
    changed: str
    activity: str
    """Current activity or the reason for waiting, the checks and the pull request."""


def rows_by_phase(snapshot: StatusSnapshot) -> Mapping[Phase, Sequence[StatusRow]]:
    """Leaves out empty lanes; keeps the order of `LANES`."""
    lanes = {phase: [run for run in snapshot.runs if run.phase is phase] for phase in LANES}
    return {
        phase: [_row(run, snapshot.summaries.get(run.id, RunSummary()), snapshot.at) for run in runs]
        for phase, runs in lanes.items()
        if runs
    }


def format_status(snapshot: StatusSnapshot) -> Iterator[str]:
    for phase, rows in rows_by_phase(snapshot).items():
        yield format_heading(phase, len(rows))
        yield from map(_line, rows)
        yield ""
    if not snapshot.runs:
        yield NO_RUNS
        yield ""
    yield format_spent(snapshot)
    yield from list_problems(snapshot)


def format_heading(phase: Phase, count: int) -> str:
    return f"{LANES[phase]} ({count})"


def format_spent(snapshot: StatusSnapshot) -> str:
    limit = f" of {dollars(snapshot.limit_usd)}" if snapshot.limit_usd else ""
    return f"Spent today: {dollars(snapshot.spent_today_usd)}{limit}"


def list_problems(snapshot: StatusSnapshot) -> Sequence[str]:
    return [on_one_line(problem) for problem in snapshot.failing]


def format_todo_count(todos: Sequence[Todo]) -> str:
    return f"{sum(todo.done for todo in todos)}/{len(todos)}" if todos else ""


def format_checks(checks: Checks) -> str:
    """Returns an empty string when the forge reports no checks."""
    broken = f" ({', '.join(on_one_line(check.name) for check in checks.failed)})" if checks.failed else ""
    return f"checks {RESULTS.get(checks.state, checks.state)}{broken}" if checks.state is not CheckState.NONE else ""


def format_verification(result: Verification | None) -> str:
    if result is None or not result.is_done:
        return ""
    return f"verification {'regression' if result.regressions else RESULTS[result.result]}"


def _row(run: Run, summary: RunSummary, at: float) -> StatusRow:
    return StatusRow(
        key=on_one_line(run.key),
        title=on_one_line(summary.title),
        age=format_age(at - run.changed_at),
        cost=dollars(run.spend.usd),
        todos=format_todo_count(summary.todos),
        changed=f"+{run.diff_stat.added} -{run.diff_stat.removed}" if run.diff_stat.files else "",
        activity=on_one_line(" · ".join(part for part in _activity(run, summary) if part)),
    )


def _activity(run: Run, summary: RunSummary) -> Iterator[str]:
    yield summary.doing or run.reason
    if summary.eta_seconds is not None:
        yield f"starts in about {format_age(summary.eta_seconds)}" if summary.eta_seconds else "starts any moment"
    if run.phase is Phase.REVIEW:
        yield format_verification(run.checks.verification)
        if summary.pull_request:
            yield format_checks(summary.pull_request.checks)
            yield summary.pull_request.url


def _line(row: StatusRow) -> str:
    todos, changed = row.todos or "-", row.changed or "-"
    return (
        f"  {row.key:<12} {row.title[:50]:<50} {row.age:>4} {row.cost:>8} {todos:>5} {changed:>12}  {row.activity}"
    ).rstrip()

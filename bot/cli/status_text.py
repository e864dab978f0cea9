"""What `treehand status` says, as rows and lines: the same for everybody, however wide the window. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.pull_request import Checks, CheckState
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.domain.verification import Standing, Verification
from bot.status.as_json import LANES, Glimpse, Picture
from bot.text.visible import on_one_line

NOTHING = "Nothing is going on. Label an issue, and it begins."
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Row:
    """One run, each part on one line and free of what a terminal would obey."""

    key: str
    title: str
    age: str
    cost: str
    todos: str
    """Done of all; empty: there is no list."""
    changed: str
    what: str
    """What it does now, or why it waits, and where to look."""


def rows_of(seen: Picture) -> Mapping[Phase, Sequence[Row]]:
    """By lane, in the order people want to read them; lanes that are empty are left out."""
    lanes = {phase: [run for run in seen.runs if run.phase is phase] for phase in LANES}
    return {
        phase: [_row(run, seen.glimpses.get(run.id, Glimpse()), seen.at) for run in runs]
        for phase, runs in lanes.items()
        if runs
    }


def plain(seen: Picture) -> Iterator[str]:
    for phase, rows in rows_of(seen).items():
        yield heading(phase, len(rows))
        yield from map(_line, rows)
        yield ""
    if not seen.runs:
        yield NOTHING
        yield ""
    yield spent(seen)
    yield from troubles(seen)


def heading(phase: Phase, count: int) -> str:
    return f"{LANES[phase]} ({count})"


def spent(seen: Picture) -> str:
    limit = f" of ${seen.limit_usd:.2f}" if seen.limit_usd else ""
    return f"Spent today: ${seen.spent_today_usd:.2f}{limit}"


def troubles(seen: Picture) -> Sequence[str]:
    return [on_one_line(one) for one in seen.wrong]


def age(seconds: float) -> str:
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{int(max(seconds, 0))}s"


def progress_of(todos: Sequence[Todo]) -> str:
    return f"{sum(todo.done for todo in todos)}/{len(todos)}" if todos else ""


def checks_in_words(checks: Checks) -> str:
    """Empty: nobody knows anything about them."""
    broken = f" ({', '.join(on_one_line(one.name) for one in checks.failed)})" if checks.failed else ""
    return f"checks {checks.state}{broken}" if checks.state is not CheckState.NONE else ""


def verified_in_words(found: Verification | None) -> str:
    if found is None or not found.is_done:
        return ""
    stands = {one.standing for one in found.trials}
    standing = next((one for one in (Standing.RED, Standing.UNKNOWN) if one in stands), Standing.GREEN)
    return f"verification {'broken' if found.broken else standing}"


def _row(run: Run, glimpse: Glimpse, at: float) -> Row:
    return Row(
        key=on_one_line(run.key),
        title=on_one_line(glimpse.title),
        age=age(at - run.changed_at),
        cost=f"${run.spent_usd:.2f}",
        todos=progress_of(glimpse.todos),
        changed=f"+{run.extent.added} -{run.extent.removed}" if run.extent.files else "",
        what=on_one_line(" · ".join(part for part in _what(run, glimpse) if part)),
    )


def _what(run: Run, glimpse: Glimpse) -> Iterator[str]:
    yield glimpse.doing or run.reason
    if glimpse.eta_seconds is not None:
        yield f"begins in about {age(glimpse.eta_seconds)}" if glimpse.eta_seconds else "begins any moment"
    if run.phase is Phase.REVIEW:
        yield verified_in_words(run.verification)
        if glimpse.pull_request:
            yield checks_in_words(glimpse.pull_request.checks)
            yield glimpse.pull_request.url


def _line(row: Row) -> str:
    todos, changed = row.todos or "-", row.changed or "-"
    return (
        f"  {row.key:<12} {row.title[:50]:<50} {row.age:>4} {row.cost:>8} {todos:>5} {changed:>12}  {row.what}"
    ).rstrip()

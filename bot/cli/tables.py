"""Renders `status`, `show` and `cost` as coloured tables that fit the window. Imports rich: for terminals only."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bot.cli.rendered_markdown import render_line
from bot.cli.status_text import NO_RUNS, StatusRow, format_heading, format_spent, list_problems, rows_by_phase
from bot.domain.run import Phase
from bot.status.as_json import StatusSnapshot

_STYLES: Mapping[Phase, str] = {
    Phase.ASKING: "bold yellow",
    Phase.WORKING: "bold cyan",
    Phase.REVIEW: "bold magenta",
    Phase.QUEUED: "bold blue",
    Phase.DONE: "bold green",
}
_PROSE = frozenset(("reason", "doing"))
"""Details with words of agents and people, which may contain Markdown."""
_WIDEST_KEY = 20
_BAR_WIDTH = 24
_ROOMY, _TIGHT, _NARROW = 100, 76, 50
"""Widths of the window below which a row leaves columns out."""


def render_status(snapshot: StatusSnapshot, width: int) -> RenderableType:
    lanes = rows_by_phase(snapshot)
    return Group(*_lanes(lanes, {phase: len(rows) for phase, rows in lanes.items()}, width), *_footer(snapshot))


def render_status_within(snapshot: StatusSnapshot, width: int, height: int) -> RenderableType:
    """Shows some rows of every lane and how many more there are, so that all lanes fit the height."""
    lanes, footer = rows_by_phase(snapshot), _cut(_footer(snapshot), max(height // 3, 1))
    shown = rows_that_fit({phase: len(rows) for phase, rows in lanes.items()}, height - len(footer))
    return Group(*list(_lanes(lanes, shown, width))[: height - len(footer)], *footer)


def rows_that_fit(sizes: Mapping[Phase, int], room: int) -> Mapping[Phase, int]:
    """Distributes the lines evenly over the lanes; headings and `and n more` take lines, too."""
    shown = dict.fromkeys(sizes, 0)
    growing = list(sizes)
    while growing:
        for phase in list(growing):
            tried = {**shown, phase: shown[phase] + 1}
            if sum(_lines(tried[one], sizes[one]) for one in sizes) > room or tried[phase] > sizes[phase]:
                growing.remove(phase)
            else:
                shown = tried
    return shown


def _lines(shown: int, size: int) -> int:
    """A lane without rows needs no `and n more`: its heading has the count."""
    return 1 + shown + (0 < shown < size)


def _lanes(
    lanes: Mapping[Phase, Sequence[StatusRow]], shown: Mapping[Phase, int], width: int
) -> Iterator[RenderableType]:
    keys = min(max((len(row.key) for rows in lanes.values() for row in rows), default=0), _WIDEST_KEY)
    for phase, rows in lanes.items():
        yield _text(format_heading(phase, len(rows)), _STYLES[phase])
        yield from (_row(row, keys, width) for row in rows[: shown[phase]])
        if 0 < shown[phase] < len(rows):
            yield _text(f"  and {len(rows) - shown[phase]} more", "dim")
    if not lanes:
        yield _text(NO_RUNS, "dim")


def _row(row: StatusRow, keys: int, width: int) -> RenderableType:
    """Always takes one line."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=1)
    table.add_column(width=keys, no_wrap=True, overflow="ellipsis", style="bold")
    table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
    cells = ["", row.key, row.title]
    for least, cell, wide in ((_NARROW, row.age, 4), (_TIGHT, row.cost, 8), (_TIGHT, row.todos, 6)):
        if width >= least:
            table.add_column(width=wide, no_wrap=True, justify="right", style="dim")
            cells.append(cell)
    if width >= _ROOMY:
        table.add_column(width=12, no_wrap=True, justify="right", style="green")
        cells.append(row.changed)
    if width >= _NARROW:
        table.add_column(ratio=4, no_wrap=True, overflow="ellipsis", style="cyan")
        cells.append(row.activity)
    table.add_row(*map(Text, cells))
    return table


def _footer(snapshot: StatusSnapshot) -> Sequence[RenderableType]:
    problems = [_text(one, "red") for one in list_problems(snapshot)]
    return [_text(format_spent(snapshot), "bold"), *problems]


def _cut(lines: Sequence[RenderableType], most: int) -> Sequence[RenderableType]:
    if len(lines) <= most or most == 1:
        return lines[:most]
    return [*lines[: most - 1], _text(f"and {len(lines) - most + 1} more", "red")]


def _text(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def render_run(title: str, details: Iterable[tuple[str, str]], journal: Iterable[tuple[str, str]]) -> RenderableType:
    facts = [(name, render_line(value) if name in _PROSE else Text(value)) for name, value in details]
    entries = [(at, render_line(text)) for at, text in journal]
    return Group(Text(title, "bold"), "", _pairs(facts, "cyan"), "", Text("Journal", "bold"), _pairs(entries, "dim"))


def render_costs(by: str, rows: Sequence[tuple[str, float, int]], total: tuple[float, int]) -> RenderableType:
    """The length of each bar is the share of the highest cost."""
    table = Table(box=SIMPLE_HEAD, show_footer=True, pad_edge=False)
    table.add_column(by, "all", overflow="fold")
    table.add_column("dollars", f"{total[0]:,.2f}", justify="right", style="green")
    table.add_column("tokens", f"{total[1]:,}", justify="right")
    table.add_column("", width=_BAR_WIDTH)
    highest = max((usd for _, usd, _ in rows), default=0.0)
    for name, usd, tokens in rows:
        filled = round(_BAR_WIDTH * usd / highest) if highest else 0
        table.add_row(Text(name), f"{usd:,.2f}", f"{tokens:,}", Text("━" * filled, "green"))
    return table


def _pairs(rows: Iterable[tuple[str, Text]], style: str) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=style, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table

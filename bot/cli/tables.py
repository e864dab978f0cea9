"""The same in colour, as wide as the window and, for those who watch, no higher. Imports rich: only for terminals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bot.cli.status_text import NOTHING, Row, heading, rows_of, spent, troubles
from bot.domain.run import Phase
from bot.status.as_json import Picture

_STYLES: Mapping[Phase, str] = {
    Phase.ASKING: "bold yellow",
    Phase.WORKING: "bold cyan",
    Phase.REVIEW: "bold magenta",
    Phase.QUEUED: "bold blue",
    Phase.DONE: "bold green",
}
_KEYS_AT_MOST = 20
_BAR = 24
_ROOMY, _TIGHT, _NARROW = 100, 76, 50
"""Columns below which a row leaves something out."""


def painted(seen: Picture, width: int) -> RenderableType:
    lanes = rows_of(seen)
    return Group(*_lanes(lanes, {phase: len(rows) for phase, rows in lanes.items()}, width), *_foot(seen))


def within(seen: Picture, width: int, height: int) -> RenderableType:
    """The same, but cut to a window: some of every lane, and how many more there are."""
    lanes, foot = rows_of(seen), _cut(_foot(seen), max(height // 3, 1))
    shown = shares({phase: len(rows) for phase, rows in lanes.items()}, height - len(foot))
    return Group(*list(_lanes(lanes, shown, width))[: height - len(foot)], *foot)


def shares(sizes: Mapping[Phase, int], room: int) -> Mapping[Phase, int]:
    """How many rows of each lane fit, headings and `and n more` included: the lanes take turns, the first one first."""
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
    """A heading that stands alone says by its number how many there are."""
    return 1 + shown + (0 < shown < size)


def _lanes(lanes: Mapping[Phase, Sequence[Row]], shown: Mapping[Phase, int], width: int) -> Iterator[RenderableType]:
    keys = min(max((len(row.key) for rows in lanes.values() for row in rows), default=0), _KEYS_AT_MOST)
    for phase, rows in lanes.items():
        yield _text(heading(phase, len(rows)), _STYLES[phase])
        yield from (_row(row, keys, width) for row in rows[: shown[phase]])
        if 0 < shown[phase] < len(rows):
            yield _text(f"  and {len(rows) - shown[phase]} more", "dim")
    if not lanes:
        yield _text(NOTHING, "dim")


def _row(row: Row, keys: int, width: int) -> RenderableType:
    """One line, whatever it holds."""
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
        cells.append(row.what)
    table.add_row(*map(Text, cells))
    return table


def _foot(seen: Picture) -> Sequence[RenderableType]:
    wrong = [_text(one, "red") for one in troubles(seen)]
    return [_text(spent(seen), "bold"), *wrong]


def _cut(lines: Sequence[RenderableType], most: int) -> Sequence[RenderableType]:
    if len(lines) <= most or most == 1:
        return lines[:most]
    return [*lines[: most - 1], _text(f"and {len(lines) - most + 1} more", "red")]


def _text(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def facts(title: str, told: Iterable[tuple[str, str]], journal: Iterable[tuple[str, str]]) -> RenderableType:
    """`treehand show`."""
    return Group(Text(title, "bold"), "", _pairs(told, "cyan"), "", Text("Journal", "bold"), _pairs(journal, "dim"))


def costs(by: str, rows: Sequence[tuple[str, float, int]], total: tuple[float, int]) -> RenderableType:
    """`treehand cost`; the bar is the share of the dearest."""
    table = Table(box=SIMPLE_HEAD, show_footer=True, pad_edge=False)
    table.add_column(by, "all", overflow="fold")
    table.add_column("dollars", f"{total[0]:,.2f}", justify="right", style="green")
    table.add_column("tokens", f"{total[1]:,}", justify="right")
    table.add_column("", width=_BAR)
    dearest = max((usd for _, usd, _ in rows), default=0.0)
    for name, usd, tokens in rows:
        filled = round(_BAR * usd / dearest) if dearest else 0
        table.add_row(Text(name), f"{usd:,.2f}", f"{tokens:,}", Text("━" * filled, "green"))
    return table


def _pairs(rows: Iterable[tuple[str, str]], style: str) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=style, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table

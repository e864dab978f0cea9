"""What agents and we said and did, as blocks of a page. Pure. Nothing in it is trusted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from bot.domain.transcript import Stretch
from bot.domain.turn import Event, EventKind, Todo
from bot.web.markdown import to_html

_ENDS = {"success": "ended", "error_max_budget_usd": "ended: its budget is used up", "error_during_execution": "failed"}
_SHOWN_RESULT = 2000
_NOTHING = Markup()


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """One of: turn, given, told, said, tool, result, todos, notice, end."""
    at: float
    turn: int
    text: str = ""
    html: Markup = _NOTHING
    tool: str = ""
    id: str = ""
    """Of a tool and its result."""
    todos: tuple[Todo, ...] = ()
    cost_usd: float = 0.0
    result: str = ""


def blocks_of(stretch: Stretch) -> list[Block]:
    """A tool's result is put to the tool where both are here."""
    found: list[Block] = []
    for block in _each(stretch):
        if block.kind == "result" and (place := _place_of(block.id, found)) is not None:
            found[place] = _with_result(found[place], block)
        else:
            found.append(block)
    return found


def _each(stretch: Stretch) -> Iterator[Block]:
    turn, given = stretch.before, bool(stretch.before)
    for line in stretch.lines:
        if line.turn != turn:
            turn, given = line.turn, False
            yield Block("turn", line.event.at, number_of(turn))
        block = _block(line.event, number_of(turn), first=not given)
        if block:
            given = given or line.event.kind is EventKind.GIVEN
            yield block


def number_of(turn: str) -> int:
    """From its id, which ends so: `…/turn-3`."""
    digits = turn.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def _block(event: Event, turn: int, *, first: bool) -> Block | None:  # noqa: C901 - one case per kind
    match event.kind:
        case EventKind.SESSION:
            return None
        case EventKind.GIVEN:
            html = Markup() if first else to_html(event.text)
            return Block("given" if first else "told", event.at, turn, event.text, html)
        case EventKind.TEXT:
            return Block("said", event.at, turn, event.text, to_html(event.text))
        case EventKind.TOOL:
            return Block("tool", event.at, turn, event.text, tool=event.tool, id=event.id)
        case EventKind.TOOL_RESULT:
            return Block("result", event.at, turn, _cut(event.text), id=event.id)
        case EventKind.TODOS:
            return Block("todos", event.at, turn, todos=event.todos)
        case EventKind.HEARD:
            return Block("notice", event.at, turn, "The agent has read what it was told.")
        case EventKind.NOTICE:
            return Block("notice", event.at, turn, event.text)
        case EventKind.VERIFYING:
            return Block("notice", event.at, turn, "The agent is through; its work is tried.")
        case EventKind.RESULT:
            text = _ENDS.get(event.text, event.text)
            return Block("end", event.at, turn, text, cost_usd=event.session_cost_usd)


def _cut(text: str) -> str:
    more = len(text) - _SHOWN_RESULT
    return f"{text[:_SHOWN_RESULT]}\n… {more:,} more characters" if more > 0 else text


def _place_of(id_: str, blocks: Sequence[Block]) -> int | None:
    places = range(len(blocks) - 1, -1, -1)
    return next((at for at in places if blocks[at].kind == "tool" and blocks[at].id == id_ != ""), None)


def _with_result(tool: Block, result: Block) -> Block:
    return replace(tool, result=result.text)

"""Conversation of a run: turns its transcript into blocks of the page. Pure; the transcript is untrusted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from bot.domain.transcript import TranscriptPage
from bot.domain.turn import Event, EventKind, Todo
from bot.web.markdown import to_html

_END_TEXTS = {
    "success": "ended",
    "error_max_budget_usd": "ended because its budget is used up",
    "error_during_execution": "failed",
}
_LONGEST_RESULT = 2000
_NO_HTML = Markup()


@dataclass(frozen=True, slots=True)
class ConversationBlock:
    kind: str
    """turn, prompt, message, answer, tool, result, todos, notice or end."""
    at: float
    turn: int
    text: str = ""
    html: Markup = _NO_HTML
    tool: str = ""
    id: str = ""
    """Shared by a tool call and its result."""
    todos: tuple[Todo, ...] = ()
    cost_usd: float = 0.0
    result: str = ""


def blocks_of(transcript: TranscriptPage) -> list[ConversationBlock]:
    """Puts the result of a tool into the block of its call, if this page holds the call."""
    blocks: list[ConversationBlock] = []
    for block in _each(transcript):
        if block.kind == "result" and (index := _call_of(block.id, blocks)) is not None:
            blocks[index] = replace(blocks[index], result=block.text)
        else:
            blocks.append(block)
    return blocks


def _each(transcript: TranscriptPage) -> Iterator[ConversationBlock]:
    turn, has_prompt = transcript.before, bool(transcript.before)
    for line in transcript.lines:
        if line.turn != turn:
            turn, has_prompt = line.turn, False
            yield ConversationBlock("turn", line.event.at, turn_number(turn))
        block = _block(line.event, turn_number(turn), is_prompt=not has_prompt)
        if block:
            has_prompt = has_prompt or line.event.kind is EventKind.PROMPT
            yield block


def turn_number(turn_id: str) -> int:
    """Turn ids end in it: `…/turn-3`."""
    digits = turn_id.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def _block(event: Event, turn: int, *, is_prompt: bool) -> ConversationBlock | None:  # noqa: C901 - one case per kind
    match event.kind:
        case EventKind.SESSION | EventKind.USAGE | EventKind.STEP | EventKind.WAITING:
            return None
        case EventKind.PROMPT:
            html = Markup() if is_prompt else to_html(event.text)
            return ConversationBlock("prompt" if is_prompt else "message", event.at, turn, event.text, html)
        case EventKind.TEXT:
            return ConversationBlock("answer", event.at, turn, event.text, to_html(event.text))
        case EventKind.TOOL:
            return ConversationBlock("tool", event.at, turn, event.text, tool=event.tool, id=event.id)
        case EventKind.TOOL_RESULT:
            return ConversationBlock("result", event.at, turn, _cut(event.text), id=event.id)
        case EventKind.TODOS:
            return ConversationBlock("todos", event.at, turn, todos=event.todos)
        case EventKind.DELIVERED:
            return ConversationBlock("notice", event.at, turn, "The agent has read the message.")
        case EventKind.NOTICE:
            return ConversationBlock("notice", event.at, turn, event.text)
        case EventKind.VERIFYING:
            return ConversationBlock("notice", event.at, turn, "The agent has finished; the checks are running.")
        case EventKind.RESULT:
            text = _END_TEXTS.get(event.text, event.text)
            return ConversationBlock("end", event.at, turn, text, cost_usd=event.session_cost_usd)


def _cut(text: str) -> str:
    more = len(text) - _LONGEST_RESULT
    return f"{text[:_LONGEST_RESULT]}\n… {more:,} more characters" if more > 0 else text


def _call_of(id_: str, blocks: Sequence[ConversationBlock]) -> int | None:
    latest_first = range(len(blocks) - 1, -1, -1)
    return next((at for at in latest_first if blocks[at].kind == "tool" and blocks[at].id == id_ != ""), None)

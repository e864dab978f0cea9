"""Listens to one turn: the program's messages go in, events and a report come out. It never waits for anything."""

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ContentBlock,
    RateLimitEvent,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from claude_agent_sdk import Message as SdkMessage

from bot.agents.claude import tool_summary as wording
from bot.agents.claude.failures import failure_in, is_limit
from bot.domain.turn import Answer, Event, EventKind, Failure, Message, TurnReport, TurnState, Work
from bot.ports import Notice

_BROKEN = "error_during_execution"
"""What the program calls a turn that failed, unless it calls it a success."""
_LONGEST_GIVEN = 200_000


class Talk:
    """What is known of one turn so far."""

    def __init__(self, work: Work, notice: Notice, clock: Callable[[], float], *, session: str, fresh: bool) -> None:
        self._work = work
        self._notice = notice
        self._clock = clock
        self._session = session
        self._fresh = fresh
        self._sent: dict[str, tuple[str, ...]] = {}
        """What we said and nobody has taken in yet: the ids of the comments in it, by the id we gave it."""
        self._taken: list[str] = []
        self._heard: set[str] = set()
        self._counted: dict[str, int] = {}
        self._tokens = 0
        self._cost = 0.0
        self._agent_turns = 0
        self._words = ""
        self._question = ""
        self._answers: dict[str, Answer] = {}
        self._error = ""
        self._result: ResultMessage | None = None
        self._broken = ""
        self._limit: float | None = None
        """We have used up what we may use of the model, until then; 0: nobody said until when."""
        self.over = False
        """The agent has ended, and nothing we said still waits to be taken in."""

    def prompt(self, text: str) -> dict[str, Any]:
        return self._say(text, self._work.comments)

    def message(self, message: Message) -> dict[str, Any]:
        return self._say(message.text, message.comments or (message.id,))

    def _say(self, text: str, ids: tuple[str, ...]) -> dict[str, Any]:
        name = str(uuid.uuid4())
        self._sent[name] = ids
        self._notice(Event(EventKind.GIVEN, self._clock(), wording.cut(text, _LONGEST_GIVEN)))
        return {
            "type": "user",
            "message": {"role": "user", "content": text},
            "parent_tool_use_id": None,
            "uuid": name,
        }

    def ask(self, question: str) -> None:
        self._question = question

    def answer(self, answer: Answer) -> None:
        """What it says last about a thing counts."""
        self._answers[answer.comment] = answer

    def hear(self, message: SdkMessage) -> None:
        match message:
            case AssistantMessage():
                self._answered(message)
            case UserMessage():
                self._took_in(message)
            case ResultMessage():
                self._ended(message)
            case SystemMessage():
                self._told(message)
            case RateLimitEvent() if message.rate_limit_info.status != "allowed":
                if message.rate_limit_info.status == "rejected":
                    self._limit = _moment(message.rate_limit_info.resets_at)
                self._emit(EventKind.NOTICE, f"the model's limits: {message.rate_limit_info.status}")

    def broke(self, why: str) -> None:
        self._broken = why

    def report(self, stderr: str) -> TurnReport:
        failure, detail = failure_in(self._result, self._error, self._broken, stderr)
        if is_limit(failure, self._result, told=self._limit is not None):
            failure = Failure.LIMIT
        return TurnReport(
            state=TurnState.FAILED if failure else TurnState.SUCCEEDED,
            session=self._session,
            fresh=self._fresh,
            failure=failure,
            detail=detail,
            retry_at=(self._limit or 0.0) if failure is Failure.LIMIT else 0.0,
            words=self._words,
            question="" if failure else self._question,
            session_cost_usd=self._cost,
            tokens=self._tokens,
            agent_turns=self._agent_turns,
            heard=frozenset(self._heard),
            answers=tuple(self._answers.values()),
        )

    def _told(self, message: SystemMessage) -> None:
        match message.subtype:
            case "init":
                self._session = str(message.data.get("session_id", self._session))
                self._emit(EventKind.SESSION, self._session)
            case "api_retry":
                status = message.data.get("error_status") or "no connection"
                attempt, most = message.data.get("attempt"), message.data.get("max_retries")
                self._emit(EventKind.NOTICE, f"the model did not answer ({status}); try {attempt} of {most}")
            case "compact_boundary":
                self._emit(EventKind.NOTICE, "made its memory of the conversation shorter")

    def _took_in(self, message: UserMessage) -> None:
        self._take([message.uuid or ""])
        for block in message.content if isinstance(message.content, list) else ():
            if isinstance(block, ToolResultBlock):
                self._emit(EventKind.TOOL_RESULT, _printed(block), id=block.tool_use_id)

    def _answered(self, message: AssistantMessage) -> None:
        if message.error:
            self._error = message.error
            return
        self._error, self._limit = "", None
        self._take(message.user_message_uuids or ())
        for name in self._taken:
            self._heard.add(name)
            self._emit(EventKind.HEARD, name)
        self._taken.clear()
        tokens = self._newly_counted(message)
        for block in message.content:
            self._emit_block(block, tokens)
            tokens = 0

    def _emit_block(self, block: ContentBlock, tokens: int) -> None:
        match block:
            case TextBlock(text):
                self._words = text
                self._emit(EventKind.TEXT, text, tokens=tokens)
            case ToolUseBlock(name, tool, arguments):
                words = wording.doing(tool, arguments, self._work.folder)
                self._emit(EventKind.TOOL, words, tool=tool, id=name, tokens=tokens)
                if todos := wording.todos(arguments) if tool == "TodoWrite" else ():
                    self._notice(Event(EventKind.TODOS, self._clock(), todos=todos))

    def _take(self, names: list[str] | tuple[()]) -> None:
        """The program has put it before the model. That counts as heard once the model has answered."""
        for name in names:
            self._taken.extend(self._sent.pop(name, ()))

    def _ended(self, result: ResultMessage) -> None:
        self._take(result.user_message_uuids or ())
        self._result = result
        self._session = result.session_id or self._session
        self._cost = result.total_cost_usd or self._cost
        self._agent_turns += result.num_turns
        self.over = result.is_error or not self._sent
        if not result.is_error:
            self._words = result.result or self._words
        spent = _tokens_in(result.usage)
        self._tokens += spent
        uncounted = max(0, spent - sum(self._counted.values()))
        self._counted.clear()
        if not self.over:
            self._question = ""  # what it reads next may be the answer
        how = _BROKEN if result.is_error and result.subtype == "success" else result.subtype
        self._notice(Event(EventKind.RESULT, self._clock(), how, tokens=uncounted, session_cost_usd=self._cost))

    def _newly_counted(self, message: AssistantMessage) -> int:
        """Tokens of this answer. It comes in pieces that all carry the same count."""
        if not message.message_id or message.message_id in self._counted:
            return 0
        self._counted[message.message_id] = _tokens_in(message.usage)
        return self._counted[message.message_id]

    def _emit(self, kind: EventKind, text: str, *, tool: str = "", id: str = "", tokens: int = 0) -> None:  # noqa: A002
        self._notice(Event(kind, self._clock(), wording.cut(text), tool=tool, id=id, tokens=tokens))


def _moment(told: object) -> float:
    return float(told) if isinstance(told, int | float) else 0.0


def _tokens_in(usage: Mapping[str, Any] | None) -> int:
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(int((usage or {}).get(name) or 0) for name in names)


def _printed(block: ToolResultBlock) -> str:
    match block.content:
        case None:
            return ""
        case str() as text:
            return text
        case pieces:
            return "\n".join(str(piece.get("text", json.dumps(piece)[:200])) for piece in pieces)

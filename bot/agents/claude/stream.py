"""Turn stream: turns the messages of the agent's program into transcript events, and into the turn's report.

Rule: it never waits for anything.
"""

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

from bot.agents.claude.failures import failure_in, is_limit
from bot.agents.claude.tool_summary import read_todos, summarize, truncate
from bot.domain.turn import AgentTask, Event, EventKind, Failure, Message, TurnAnswer, TurnReport, TurnState
from bot.ports import EventSink

_FAILED_RESULT = "error_during_execution"
"""The program's subtype of a failed turn, unless it names it a success."""
_MAX_PROMPT_IN_TRANSCRIPT = 200_000


class TurnStream:
    """State of one turn so far."""

    def __init__(
        self, task: AgentTask, emit: EventSink, clock: Callable[[], float], *, session: str, fresh: bool
    ) -> None:
        self._task = task
        self._emit_event = emit
        self._clock = clock
        self._session = session
        self._fresh = fresh
        self._unread: dict[str, tuple[str, ...]] = {}
        """Messages sent and not yet read by the program: ids of the comments in each, by the id of the message."""
        self._before_model: list[str] = []
        """Comments that the program has put before the model, which has not answered since."""
        self._read_comments: set[str] = set()
        self._tokens_by_message: dict[str, int] = {}
        self._tokens = 0
        self._cost = 0.0
        self._agent_turns = 0
        self._words = ""
        self._question = ""
        self._answers: dict[str, TurnAnswer] = {}
        self._error = ""
        self._result: ResultMessage | None = None
        self._broken = ""
        self._limit: float | None = None
        """Reset time of the model's usage limit; 0 if the service did not say; None if none is reached."""
        self.over = False
        """The agent has ended, and has read every message."""

    def prompt(self, text: str) -> dict[str, Any]:
        return self._message(text, self._task.comments)

    def message(self, message: Message) -> dict[str, Any]:
        return self._message(message.text, message.comments or (message.id,))

    def _message(self, text: str, comments: tuple[str, ...]) -> dict[str, Any]:
        name = str(uuid.uuid4())
        self._unread[name] = comments
        self._emit_event(Event(EventKind.PROMPT, self._clock(), truncate(text, _MAX_PROMPT_IN_TRANSCRIPT)))
        return {
            "type": "user",
            "message": {"role": "user", "content": text},
            "parent_tool_use_id": None,
            "uuid": name,
        }

    def ask(self, question: str) -> None:
        self._question = question

    def answer(self, answer: TurnAnswer) -> None:
        """The last answer to a comment counts."""
        self._answers[answer.comment] = answer

    def read(self, message: SdkMessage) -> None:
        match message:
            case AssistantMessage():
                self._read_assistant(message)
            case UserMessage():
                self._read_user(message)
            case ResultMessage():
                self._read_result(message)
            case SystemMessage():
                self._read_system(message)
            case RateLimitEvent() if message.rate_limit_info.status != "allowed":
                if message.rate_limit_info.status == "rejected":
                    self._limit = _timestamp(message.rate_limit_info.resets_at)
                self._emit(EventKind.NOTICE, f"the model's limits: {message.rate_limit_info.status}")

    @property
    def has_succeeded(self) -> bool:
        """The agent has ended by itself, without an error."""
        return self.over and self._result is not None and not self._result.is_error

    def break_off(self, reason: str) -> None:
        self._broken = reason

    def report(self, stderr: str) -> TurnReport:
        failure, detail = failure_in(self._result, self._error, self._broken, stderr)
        if is_limit(failure, self._result, service_reported=self._limit is not None):
            failure = Failure.LIMIT
        return TurnReport(
            state=TurnState.FAILED if failure else TurnState.SUCCEEDED,
            session=self._session,
            is_new_session=self._fresh,
            failure=failure,
            detail=detail,
            retry_at=(self._limit or 0.0) if failure is Failure.LIMIT else 0.0,
            summary=self._words,
            question="" if failure else self._question,
            session_cost_usd=self._cost,
            tokens=self._tokens,
            agent_turns=self._agent_turns,
            delivered=frozenset(self._read_comments),
            answers=tuple(self._answers.values()),
        )

    def _read_system(self, message: SystemMessage) -> None:
        match message.subtype:
            case "init":
                self._session = str(message.data.get("session_id", self._session))
                self._emit(EventKind.SESSION, self._session)
            case "api_retry":
                status = message.data.get("error_status") or "no connection"
                attempt, most = message.data.get("attempt"), message.data.get("max_retries")
                self._emit(EventKind.NOTICE, f"the model did not answer ({status}); retry {attempt} of {most}")
            case "compact_boundary":
                self._emit(EventKind.NOTICE, "compacted its session")

    def _read_user(self, message: UserMessage) -> None:
        self._mark_read([message.uuid or ""])
        for block in message.content if isinstance(message.content, list) else ():
            if isinstance(block, ToolResultBlock):
                self._emit(EventKind.TOOL_RESULT, _result_text(block), id=block.tool_use_id)

    def _read_assistant(self, message: AssistantMessage) -> None:
        if message.error:
            self._error = message.error
            return
        self._error, self._limit = "", None
        self._mark_read(message.user_message_uuids or ())
        for comment in self._before_model:
            self._read_comments.add(comment)
            self._emit(EventKind.DELIVERED, comment)
        self._before_model.clear()
        tokens = self._new_tokens(message)
        for block in message.content:
            self._emit_block(block, tokens)
            tokens = 0

    def _emit_block(self, block: ContentBlock, tokens: int) -> None:
        match block:
            case TextBlock(text):
                self._words = text
                self._emit(EventKind.TEXT, text, tokens=tokens)
            case ToolUseBlock(name, tool, arguments):
                summary = summarize(tool, arguments, self._task.folder)
                self._emit(EventKind.TOOL, summary, tool=tool, id=name, tokens=tokens)
                if todos := read_todos(arguments) if tool == "TodoWrite" else ():
                    self._emit_event(Event(EventKind.TODOS, self._clock(), todos=todos))

    def _mark_read(self, messages: list[str] | tuple[()]) -> None:
        """The program has put these before the model. Their comments count as read once the model has answered."""
        for name in messages:
            self._before_model.extend(self._unread.pop(name, ()))

    def _read_result(self, result: ResultMessage) -> None:
        self._mark_read(result.user_message_uuids or ())
        self._result = result
        self._session = result.session_id or self._session
        self._cost = result.total_cost_usd or self._cost
        self._agent_turns += result.num_turns
        self.over = result.is_error or not self._unread
        if not result.is_error:
            self._words = result.result or self._words
        used = _tokens_in(result.usage)
        self._tokens += used
        uncounted = max(0, used - sum(self._tokens_by_message.values()))
        self._tokens_by_message.clear()
        if not self.over:
            self._question = ""  # the next answer of the agent may be the reply
        subtype = _FAILED_RESULT if result.is_error and result.subtype == "success" else result.subtype
        self._emit_event(Event(EventKind.RESULT, self._clock(), subtype, tokens=uncounted, session_cost_usd=self._cost))

    def _new_tokens(self, message: AssistantMessage) -> int:
        """Tokens of this answer. It arrives in parts that all carry the same count."""
        if not message.message_id or message.message_id in self._tokens_by_message:
            return 0
        self._tokens_by_message[message.message_id] = _tokens_in(message.usage)
        return self._tokens_by_message[message.message_id]

    def _emit(self, kind: EventKind, text: str, *, tool: str = "", id: str = "", tokens: int = 0) -> None:  # noqa: A002
        self._emit_event(Event(kind, self._clock(), truncate(text), tool=tool, id=id, tokens=tokens))


def _timestamp(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _tokens_in(usage: Mapping[str, Any] | None) -> int:
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(int((usage or {}).get(name) or 0) for name in names)


def _result_text(block: ToolResultBlock) -> str:
    match block.content:
        case None:
            return ""
        case str() as text:
            return text
        case parts:
            return "\n".join(str(part.get("text", json.dumps(part)[:200])) for part in parts)

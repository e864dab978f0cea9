"""Runs one turn of Claude in a worktree: from a prompt to a report, with every process of the turn ended.

Rule: the SDK takes seconds to import, so the first turn imports it, and not the start of a daemon.
"""

import asyncio
import contextlib
import gc
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.agents.claude import program, session_export
from bot.agents.claude.environment import environment_for, fixed_variables
from bot.agents.claude.failures import is_session_gone
from bot.agents.claude.instructions_seen import InstructionsSeen
from bot.agents.claude.session import Session, fresh_session_for, session_for
from bot.domain.issue_directives import MODEL_NAME
from bot.domain.turn import AgentTask, Event, EventKind, Failure, TurnReport, TurnState
from bot.errors import NeedsHuman, Retryable
from bot.ports import EventSink, Inbox
from bot.sandbox.interface import AgentSandbox, Sandbox
from bot.sandbox.proxy.grant import OnUsage
from bot.system.cancellation import finish_first
from bot.system.disk import is_full_disk
from bot.system.processes import end_processes, find_processes, state_dir_id

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
    from claude_agent_sdk import Message as SdkMessage

    from bot.agents.claude.stream import TurnStream

_INTERRUPT_SECONDS = 3.0
_MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Turn:
    """The parts that all conversations of one turn share."""

    task: AgentTask
    inbox: Inbox
    emit: EventSink
    sandbox: AgentSandbox
    ended: asyncio.Event
    """Set when the agent has succeeded: from then on, its report is not given up for a cancellation."""


class ClaudeAgent:
    """Cancelled, it interrupts the agent, ends its processes and re-raises, unless the agent has succeeded before."""

    def __init__(
        self,
        folder: Path,
        *,
        sandbox: Sandbox,
        clock: Callable[[], float],
        cli: Path | None = None,
        model_retries: int = 3,
        model_seconds: float = 180.0,
    ) -> None:
        """`folder` is for its own use."""
        self._folder = folder
        self._sandbox = sandbox
        self._clock = clock
        self._cli = cli or program.find_installed()
        self._marker_prefix = state_dir_id(folder)
        self._fixed_variables = fixed_variables(model_retries=model_retries, model_seconds=model_seconds)
        self._instructions_seen = InstructionsSeen(folder / "told")
        self._is_checked = False
        logging.getLogger("claude_agent_sdk").setLevel(
            logging.CRITICAL
        )  # the turn's errors become values in the report

    async def run(self, task: AgentTask, inbox: Inbox, emit: EventSink) -> TurnReport:
        ended = asyncio.Event()
        return await finish_first(self._run(task, inbox, emit, ended), once=ended.is_set)

    async def _run(self, task: AgentTask, inbox: Inbox, emit: EventSink, ended: asyncio.Event) -> TurnReport:
        try:
            await self._prepare(task)
        except NeedsHuman as problem:
            return TurnReport(TurnState.FAILED, session=task.session, failure=Failure.SETUP, detail=str(problem))
        except OSError as problem:
            if is_full_disk(problem):
                raise
            return TurnReport(TurnState.FAILED, session=task.session, failure=Failure.SETUP, detail=str(problem))
        async with self._sandbox.open_turn(task, self._marker(task), self._usage_sink(emit)) as sandbox:
            turn = _Turn(task, inbox, emit, sandbox, ended)
            report = await self._instruct(turn, session_for(task))
            if is_session_gone(report.detail) and report.failure:
                report = await self._instruct(turn, fresh_session_for(task))
            return sandbox.correct(report)

    def by_hand(self, *, folder: Path, home: Path, session: str) -> str:
        return session_export.resume_command(str(self._cli or "claude"), folder=folder, home=home, session=session)

    async def hand_over(self, home: Path, session: str) -> None:
        await asyncio.to_thread(session_export.export_session, home, session)

    async def take_back(self, home: Path, session: str) -> None:
        await asyncio.to_thread(session_export.import_session, home, session)

    async def sweep(self) -> int:
        """Ends processes and removes folders that earlier processes of this agent left; returns how many it ended."""
        ended = await end_processes(lambda marker: marker.startswith(f"{self._marker_prefix}:"))
        self._sandbox.remove_leftovers()
        return ended

    def forget(self, before: float) -> None:
        """Forgets the instructions of sessions that have got none since."""
        self._instructions_seen.forget(before)

    async def version(self) -> str:
        return await program.check_version(self._cli, self._folder)

    async def _prepare(self, task: AgentTask) -> None:
        if task.model and not MODEL_NAME.fullmatch(task.model):
            raise NeedsHuman(f"{task.model!r} is not a model name.")
        if not self._is_checked:
            self._folder.mkdir(parents=True, exist_ok=True)
            await asyncio.gather(self.version(), asyncio.to_thread(_import_sdk))
            self._is_checked = True
        task.home.mkdir(parents=True, exist_ok=True)

    async def _instruct(self, turn: _Turn, session: Session) -> TurnReport:
        """Converses; puts the repository's instructions ahead of the prompt unless the session has seen them."""
        instructions = turn.task.instructions
        if not self._instructions_seen.is_new(session.id, instructions):
            return await self._converse(turn, session)
        report = await self._converse(turn, replace(session, prompt=f"{instructions}\n\n{session.prompt}"))
        if (
            report.state is TurnState.SUCCEEDED
        ):  # otherwise the agent may not have read these comments, and gets them again
            self._instructions_seen.record(session.id, instructions)
        return report

    async def _converse(self, turn: _Turn, session: Session) -> TurnReport:
        from claude_agent_sdk import ClaudeSDKClient

        from bot.agents.claude.stream import TurnStream

        resumed = session.id if session.resume else ""
        stream = TurnStream(turn.task, turn.emit, self._clock, session=resumed, fresh=session.fresh)
        stderr: deque[str] = deque(maxlen=20)
        client = ClaudeSDKClient(self._options(turn.task, session, stream, stderr.append, turn.sandbox))
        is_marked = self._marker(turn.task).__eq__
        try:
            await _connect(client)
            await _send_and_read(client, stream, session.prompt, turn)
        except asyncio.CancelledError:
            await _interrupt(client, stream)
            await end_processes(is_marked)
            if not stream.has_succeeded:
                raise
        except Retryable as problem:
            stream.break_off(str(problem))
            await end_processes(is_marked)
        finally:
            # once the program has ended, processes without our marker cannot be found any more
            relatives = find_processes(is_marked)
            await client.disconnect()
            await end_processes(is_marked, known=relatives)
        return stream.report("\n".join(stderr))

    def _options(
        self,
        task: AgentTask,
        session: Session,
        stream: "TurnStream",
        stderr: Callable[[str], None],
        sandbox: AgentSandbox,
    ) -> "ClaudeAgentOptions":
        """Holds no untrusted text: options travel in argv, prompts only through stdin."""
        from claude_agent_sdk import ClaudeAgentOptions

        from bot.agents.claude import ask_and_answer_tools, tool_permissions
        from bot.agents.claude.system_prompt import PROMPT

        assert self._cli
        return ClaudeAgentOptions(
            cwd=task.folder,
            cli_path=sandbox.launcher(self._cli),
            env=environment_for(task, sandbox, self._fixed_variables, self._marker(task)),
            tools=tool_permissions.PLANNING_TOOLS if task.plan else tool_permissions.ALLOWED_TOOLS,
            disallowed_tools=tool_permissions.FORBIDDEN_TOOLS,
            mcp_servers={ask_and_answer_tools.SERVER: ask_and_answer_tools.tool_server(stream.ask, stream.answer)},
            hooks=tool_permissions.permission_hooks(task.folder),
            permission_mode="bypassPermissions",
            setting_sources=[],
            settings=json.dumps({"attribution": {"commit": "", "pr": ""}}),
            strict_mcp_config=True,
            skills=[],
            verbatim_prompts=True,
            system_prompt={"type": "preset", "preset": "claude_code", "append": PROMPT},
            model=task.model or None,
            max_budget_usd=None if sandbox.counts_usage else task.budget_usd or None,  # the proxy counts instead
            resume=session.id if session.resume else None,
            session_id=None if session.resume else session.id,
            max_buffer_size=_MAX_LINE_BYTES,
            stderr=stderr,
            extra_args={"replay-user-messages": None},
        )

    def _usage_sink(self, emit: EventSink) -> OnUsage:
        return lambda change: emit(
            Event(
                EventKind.USAGE,
                self._clock(),
                text=change.unpriced,
                tokens=change.tokens,
                usd=change.usd,
                reserved_usd=change.reserved_usd,
            )
        )

    def _marker(self, task: AgentTask) -> str:
        """Value of the variable that all processes of a turn carry."""
        return f"{self._marker_prefix}:{task.turn_id}"


def _import_sdk() -> None:
    """Imports the SDK and the modules that need it; in a thread, so that the loop continues in the meantime."""
    gc.disable()  # imports create no garbage, and collecting it takes a fifth of their time
    try:
        from bot.agents.claude import stream, system_prompt, tool_permissions  # noqa: F401
    finally:
        gc.enable()


async def _connect(client: "ClaudeSDKClient") -> None:
    try:
        await client.connect()
    except Exception as exc:  # the SDK raises bare ones too
        raise Retryable(f"the agent did not start: {exc}") from exc


async def _messages(client: "ClaudeSDKClient") -> AsyncGenerator["SdkMessage", None]:
    try:
        async for message in client.receive_messages():
            yield message
    except Exception as exc:  # the SDK raises bare ones too
        raise Retryable(str(exc)) from exc


async def _send_and_read(client: "ClaudeSDKClient", stream: "TurnStream", prompt: str, turn: _Turn) -> None:
    """Returns when the agent has answered every message that it was sent.

    Messages still in the inbox then count as unread. Between the last look and the end nothing is awaited, so that no
    message can slip in and be lost.
    """
    await _send(client, stream.prompt(prompt))
    async with asyncio.TaskGroup() as group, contextlib.aclosing(_messages(client)) as messages:
        feeder = group.create_task(_feed(client, stream, turn.inbox), name="inbox")
        broken = None
        try:
            async for message in messages:
                stream.read(message)
                if stream.has_succeeded:
                    turn.ended.set()
                if stream.over:
                    break
        except Retryable as problem:
            broken = problem
        feeder.cancel()
    if broken:
        raise broken


async def _feed(client: "ClaudeSDKClient", stream: "TurnStream", inbox: Inbox) -> None:
    with contextlib.suppress(Retryable):  # the reader reports the end as well
        while True:
            await _send(client, stream.message(await inbox.get()))


async def _send(client: "ClaudeSDKClient", message: dict[str, object]) -> None:
    from claude_agent_sdk import ClaudeSDKError

    async def messages() -> AsyncIterator[dict[str, object]]:
        yield message

    try:
        await client.query(messages())
    except ClaudeSDKError as exc:
        raise Retryable(f"the agent accepts no message: {exc}") from exc


async def _interrupt(client: "ClaudeSDKClient", stream: "TurnStream") -> None:
    """Asks it to stop, so that its history is complete and its cost is known; it is killed afterwards anyway."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_INTERRUPT_SECONDS):
            await client.interrupt()
            async for message in client.receive_response():
                stream.read(message)

"""Runs one turn of Claude in a worktree: from a prompt to a report, with nothing left behind.

Rule: its SDK takes seconds to import, so the first turn does that, and not the start of a daemon.
"""

import asyncio
import contextlib
import errno
import gc
import importlib
import json
import logging
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from bot.agents.claude import program
from bot.agents.claude import session_export as by_hand
from bot.agents.claude.failures import session_is_gone
from bot.agents.claude.instructions_seen import Told
from bot.domain.choice import MODEL_NAME
from bot.domain.turn import Failure, TurnReport, TurnState, Work
from bot.errors import NeedsHuman, Retryable
from bot.ports import Inbox, Notice
from bot.sandbox.interface import Cell, Sandbox
from bot.system import launch
from bot.system.processes import MARKER, end_family, family, house_of

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
    from claude_agent_sdk import Message as SdkMessage

    from bot.agents.claude.stream import Talk

_INTERRUPT_SECONDS = 3.0
_LINE_BYTES = 64 * 1024 * 1024
_SDK_OWN = ("PWD", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE")
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_ENABLE_TASKS": "0",  # brings back the one to-do list tool whose list is in its input
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # nothing may go on when the turn is over
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",  # the model that was asked for, or none
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
}


@dataclass(frozen=True, slots=True)
class _Conversation:
    session: str
    resume: bool
    prompt: str
    fresh: bool = False


class ClaudeAgent:
    """Cancelled, it interrupts the agent, ends its processes and re-raises."""

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
        self._state = house_of(folder)
        self._environment = {
            **_QUIET,
            "CLAUDE_CODE_MAX_RETRIES": str(model_retries),
            "API_TIMEOUT_MS": str(round(model_seconds * 1000)),
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": str(round(model_seconds * 1000)),
        }
        self._told = Told(folder / "told")
        self._usable = False
        logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)  # what it meets, we report as a value

    async def run(self, work: Work, inbox: Inbox, notice: Notice) -> TurnReport:
        try:
            await self._prepare(work)
        except NeedsHuman as problem:
            return TurnReport(TurnState.FAILED, session=work.session, failure=Failure.SETUP, detail=str(problem))
        except OSError as problem:
            failure = Failure.DISK if problem.errno == errno.ENOSPC else Failure.SETUP
            return TurnReport(TurnState.FAILED, session=work.session, failure=failure, detail=str(problem))
        async with self._sandbox.open(work, self._marker(work)) as cell:
            report = await self._instruct(work, _conversation(work), inbox, notice, cell)
            if session_is_gone(report.detail) and report.failure:
                report = await self._instruct(work, _fresh_conversation(work), inbox, notice, cell)
            return cell.seen(report)

    def by_hand(self, *, folder: Path, home: Path, session: str) -> str:
        return by_hand.command_for(str(self._cli or "claude"), folder=folder, home=home, session=session)

    async def hand_over(self, home: Path, session: str) -> None:
        await asyncio.to_thread(by_hand.hand_over, home, session)

    async def take_back(self, home: Path, session: str) -> None:
        await asyncio.to_thread(by_hand.take_back, home, session)

    async def sweep(self) -> int:
        """End what earlier processes of ours left running, and clear up after them. How many that were."""
        ended = await end_family(lambda marker: marker.startswith(f"{self._state}:"))
        self._sandbox.sweep()
        return ended

    def forget(self, before: float) -> None:
        """What was noted of conversations that have been silent since."""
        self._told.forget(before)

    async def version(self) -> str:
        return await program.version(self._cli, self._folder)

    async def _prepare(self, work: Work) -> None:
        if work.model and not MODEL_NAME.fullmatch(work.model):
            raise NeedsHuman(f"{work.model!r} is not the name of a model.")
        if not self._usable:
            self._folder.mkdir(parents=True, exist_ok=True)
            await asyncio.gather(self.version(), asyncio.to_thread(_import_sdk))
            self._usable = True
        work.home.mkdir(parents=True, exist_ok=True)

    async def _instruct(
        self, work: Work, conversation: _Conversation, inbox: Inbox, notice: Notice, cell: Cell
    ) -> TurnReport:
        """Converse, ahead of which comes what the repository tells agents, unless this conversation knows it."""
        if not self._told.is_news(conversation.session, work.instructions):
            return await self._converse(work, conversation, inbox, notice, cell)
        told = replace(conversation, prompt=f"{work.instructions}\n\n{conversation.prompt}")
        report = await self._converse(work, told, inbox, notice, cell)
        if report.state is TurnState.SUCCEEDED:  # else it may not have heard, and hears it again
            self._told.note(conversation.session, work.instructions)
        return report

    async def _converse(
        self, work: Work, conversation: _Conversation, inbox: Inbox, notice: Notice, cell: Cell
    ) -> TurnReport:
        from claude_agent_sdk import ClaudeSDKClient

        from bot.agents.claude.stream import Talk

        known = conversation.session if conversation.resume else ""
        talk = Talk(work, notice, self._clock, session=known, fresh=conversation.fresh)
        stderr: deque[str] = deque(maxlen=20)
        client = ClaudeSDKClient(self._options(work, conversation, talk, stderr.append, cell))
        marked = self._marker(work).__eq__
        try:
            await _connect(client)
            await _say_and_listen(client, talk, conversation.prompt, inbox)
        except asyncio.CancelledError:
            await _interrupt(client, talk)
            await end_family(marked)
            raise
        except Retryable as problem:
            talk.broke(str(problem))
            await end_family(marked)
        finally:
            relatives = family(marked)  # once the program has ended, those without our marker cannot be told any more
            await client.disconnect()
            await end_family(marked, known=relatives)
        return talk.report("\n".join(stderr))

    def _options(
        self, work: Work, conversation: _Conversation, talk: "Talk", stderr: Callable[[str], None], cell: Cell
    ) -> "ClaudeAgentOptions":
        """Nothing a stranger wrote goes in here: options travel in argv, words only through stdin."""
        from claude_agent_sdk import ClaudeAgentOptions

        from bot.agents.claude import tool_rules as rules

        assert self._cli
        return ClaudeAgentOptions(
            cwd=work.folder,
            cli_path=cell.launcher(self._cli),
            env=self._environment_for(work, cell),
            tools=rules.TOOLS_TO_PLAN if work.plan else rules.TOOLS,
            disallowed_tools=rules.FORBIDDEN,
            mcp_servers={rules.SERVER: rules.server(talk.ask, talk.answer)},
            hooks=rules.hooks(work.folder),
            permission_mode="bypassPermissions",
            setting_sources=[],
            settings=json.dumps({"attribution": {"commit": "", "pr": ""}}),
            strict_mcp_config=True,
            skills=[],
            verbatim_prompts=True,
            system_prompt={"type": "preset", "preset": "claude_code", "append": rules.MANNERS},
            model=work.model or None,
            max_budget_usd=work.budget_usd or None,
            resume=conversation.session if conversation.resume else None,
            session_id=None if conversation.resume else conversation.session,
            max_buffer_size=_LINE_BYTES,
            stderr=stderr,
            extra_args={"replay-user-messages": None},
        )

    def _environment_for(self, work: Work, cell: Cell) -> dict[str, str]:
        ours = {
            **work.ready.environment,
            **self._environment,
            **cell.environment,
            "CLAUDE_CONFIG_DIR": str(work.home),
            MARKER: self._marker(work),
        }
        if cell.shell:
            ours["CLAUDE_CODE_SHELL_PREFIX"] = cell.shell
        if os.geteuid() == 0:
            ours["IS_SANDBOX"] = "1"  # else the program refuses to work unattended
        keep = ",".join((*ours, *cell.handed_on, *_SDK_OWN))
        return {**ours, launch.KEEP: keep, launch.PARENT: str(os.getpid())}

    def _marker(self, work: Work) -> str:
        """What all processes of a turn carry."""
        return f"{self._state}:{work.turn_id}"


def _import_sdk() -> None:
    """With all that leans on it; in a thread, so that others go on meanwhile."""
    gc.disable()  # nothing an import makes is garbage, and looking for some takes a fifth of it
    try:
        for name in ("rules", "talk"):
            importlib.import_module(f"bot.agents.claude.{name}")
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


async def _say_and_listen(client: "ClaudeSDKClient", talk: "Talk", prompt: str, inbox: Inbox) -> None:
    """Until the agent has answered everything it was told.

    What is still in the inbox then was not heard. Between the last look and the end nothing is awaited, so that no
    message can slip in and be lost.
    """
    await _send(client, talk.prompt(prompt))
    async with asyncio.TaskGroup() as group, contextlib.aclosing(_messages(client)) as messages:
        feeder = group.create_task(_feed(client, talk, inbox), name="inbox")
        broken = None
        try:
            async for message in messages:
                talk.hear(message)
                if talk.over:
                    break
        except Retryable as problem:
            broken = problem
        feeder.cancel()
    if broken:
        raise broken


async def _feed(client: "ClaudeSDKClient", talk: "Talk", inbox: Inbox) -> None:
    with contextlib.suppress(Retryable):  # the reader meets the same end, and reports it
        while True:
            await _send(client, talk.message(await inbox.get()))


async def _send(client: "ClaudeSDKClient", message: dict[str, object]) -> None:
    from claude_agent_sdk import ClaudeSDKError

    async def one() -> AsyncIterator[dict[str, object]]:
        yield message

    try:
        await client.query(one())
    except ClaudeSDKError as exc:
        raise Retryable(f"the agent does not listen: {exc}") from exc


async def _interrupt(client: "ClaudeSDKClient", talk: "Talk") -> None:
    """Ask it to stop, so that its history is whole and its bill is known. It need not obey: it is ended anyway."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_INTERRUPT_SECONDS):
            await client.interrupt()
            async for message in client.receive_response():
                talk.hear(message)


def _conversation(work: Work) -> _Conversation:
    """The session to go on with. A first turn's follows from its run, so that it is found after a crash too."""
    session = work.session or str(uuid5(NAMESPACE_URL, work.turn_id.rpartition("/")[0] or work.turn_id))
    resume = bool(work.session) or _has_history(work, session)
    return _Conversation(session, resume, work.prompt if resume else work.briefing)


def _fresh_conversation(work: Work) -> _Conversation:
    session = str(uuid5(NAMESPACE_URL, f"{work.turn_id}/fresh"))
    return _Conversation(session, _has_history(work, session), work.briefing, fresh=True)


def _has_history(work: Work, session: str) -> bool:
    return any(work.home.glob(f"projects/*/{session}.jsonl"))

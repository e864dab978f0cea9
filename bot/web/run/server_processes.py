"""Servers that people started from the dashboard, at most one per run.

Rule: no server outlives the dashboard. Its output is untrusted text, and only the last lines are kept.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from bot.domain.run import Run
from bot.domain.setup_plan import SetupStep
from bot.errors import BotError, NeedsHuman, Retryable
from bot.status.interface import RunDetailsReader
from bot.web.event_hub import EventHub, run_topic

log = logging.getLogger(__name__)

_KEPT_LINES, _LONGEST_LINE = 20, 300
_KEPT_ENDED = 100
"""Ended servers that are remembered."""


@dataclass(slots=True, eq=False)
class ServerProcess:
    name: str
    by: str
    address: str = ""
    """Empty until the server has started."""
    end_reason: str = ""
    """Empty while the server runs."""
    version: int = 0
    """Unique number of the latest change."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    has_started_or_failed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return not self.end_reason


class ServerProcesses:
    def __init__(self, details: RunDetailsReader, hub: EventHub) -> None:
        self._details, self._hub = details, hub
        self._group: asyncio.TaskGroup | None = None
        self._servers: dict[str, ServerProcess] = {}
        """The latest server of each run, by the run's id."""
        self._instance = secrets.token_hex(4)
        self._versions = count(1)

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def close(self) -> None:
        """The task group waits until each server has ended."""
        self._group = None
        for server in self._servers.values():
            if server.task:
                server.task.cancel()

    def of(self, run: Run) -> ServerProcess | None:
        return self._servers.get(run.id)

    def fingerprint_of(self, run: Run) -> str:
        """Changes with the server's state and with its output."""
        server = self.of(run)
        return f"{self._instance}-{server.version}" if server else ""

    def state_of(self, run: Run) -> str:
        """Changes with the server's state only."""
        server = self.of(run)
        return f"{server.name} {server.address} {server.end_reason}" if server else ""

    async def start(self, run: Run, name: str, *, by: str) -> None:
        """Returns when the server has started. Raises NeedsHuman with the reason when it cannot start."""
        if self._group is None:
            raise Retryable("Treehand is starting or stopping. Try again in a moment.")
        if (other := self.of(run)) and other.is_up:
            raise NeedsHuman(
                f"{other.name} is running, and a run can have one server at a time. Stop {other.name} first."
            )
        server = ServerProcess(name, by)
        self._remember(run, server)
        server.task = self._group.create_task(self._run(run, server))
        server.task.add_done_callback(lambda _: self._on_end(run, server))
        await server.has_started_or_failed.wait()
        if not server.address:
            if self.of(run) is server:
                del self._servers[run.id]
            raise NeedsHuman(server.end_reason)

    async def stop(self, run: Run) -> None:
        """Returns when the server has ended."""
        server = self.of(run)
        if server and server.task:
            server.task.cancel()
            await asyncio.wait([server.task])

    async def _run(self, run: Run, server: ServerProcess) -> None:
        on_start, on_output = partial(self._on_start, run, server), partial(self._on_output, server)
        try:
            server.end_reason = await self._details.run_server(run, server.name, on_start=on_start, on_output=on_output)
        except* (BotError, OSError) as problems:
            server.end_reason = "; ".join(str(problem) for problem in _flatten(problems))

    def _on_start(self, run: Run, server: ServerProcess, address: str, command: SetupStep) -> None:
        log.info("server started run=%s server=%s person=%s command=%s", run.id, server.name, server.by, command)
        server.address = address
        self._publish_change(run, server)
        server.has_started_or_failed.set()

    def _on_output(self, server: ServerProcess, lines: Sequence[str]) -> None:
        server.lines.extend(line[:_LONGEST_LINE] for line in lines[-_KEPT_LINES:])
        server.version = next(self._versions)

    def _on_end(self, run: Run, server: ServerProcess) -> None:
        server.end_reason = server.end_reason or "stopped"
        if server.address:
            log.info("server ended run=%s server=%s reason=%s", run.id, server.name, server.end_reason)
        self._publish_change(run, server)
        server.has_started_or_failed.set()

    def _publish_change(self, run: Run, server: ServerProcess) -> None:
        server.version = next(self._versions)
        self._hub.publish(run_topic(run.id), "show", "")

    def _remember(self, run: Run, server: ServerProcess) -> None:
        self._servers.pop(run.id, None)
        self._servers[run.id] = server
        ended = [run_id for run_id, known in self._servers.items() if not known.is_up]
        for run_id in ended[: max(len(ended) - _KEPT_ENDED, 0)]:
            del self._servers[run_id]


def _flatten(problems: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for problem in problems.exceptions:
        if isinstance(problem, BaseExceptionGroup):
            yield from _flatten(problem)
        else:
            yield problem

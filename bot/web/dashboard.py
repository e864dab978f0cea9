"""Dashboard: holds the readers, the user actions and the live updates that its pages share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.status.interface import DashboardReader, RunDetailsReader, UserActions
from bot.web.board_feed import BoardFeed
from bot.web.event_hub import EventHub, run_topic
from bot.web.highlight import Highlighter
from bot.web.run.server_processes import ServerProcesses


@dataclass(slots=True)
class Dashboard:
    data: DashboardReader
    actions: UserActions
    details: RunDetailsReader
    hub: EventHub = field(default_factory=EventHub)
    board_feed: BoardFeed = field(init=False)
    highlighter: Highlighter = field(default_factory=Highlighter)
    servers: ServerProcesses = field(init=False)

    def __post_init__(self) -> None:
        self.board_feed = BoardFeed(self.data, self.hub)
        self.servers = ServerProcesses(self.details, self.hub)

    def publish_transcript_line(self, run_id: str, line: str) -> None:
        self.hub.publish(run_topic(run_id), "line", line)
        self.hub.notify()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Publishes changes to open pages until the block ends; then stops the servers that people have started."""
        async with asyncio.TaskGroup() as group:
            updates = group.create_task(self.board_feed.run())
            self.servers.open(group)
            try:
                yield
            finally:
                updates.cancel()
                self.servers.close()
                await self.highlighter.close()
                self.hub.close()

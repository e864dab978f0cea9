"""What every page of the dashboard is given."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.status.closeup import Closeup
from bot.status.interface import Voice, Window
from bot.web.board_feed import Lookout
from bot.web.event_hub import Hub, topic_of
from bot.web.highlight import Painting
from bot.web.run.server_processes import Shows


@dataclass(slots=True)
class Dashboard:
    window: Window
    voice: Voice
    closeup: Closeup
    hub: Hub = field(default_factory=Hub)
    lookout: Lookout = field(init=False)
    painting: Painting = field(default_factory=Painting)
    shows: Shows = field(init=False)

    def __post_init__(self) -> None:
        self.lookout = Lookout(self.window, self.hub)
        self.shows = Shows(self.closeup, self.hub)

    def hear(self, run_id: str, line: str) -> None:
        """An agent did something: a line of its transcript."""
        self.hub.tell(topic_of(run_id), "line", line)
        self.hub.stir()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Until the block ends, whoever watches is told what changes. What they have started then ends."""
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self.lookout.watch())
            self.shows.open(group)
            try:
                yield
            finally:
                watch.cancel()
                self.shows.close()
                await self.painting.close()
                self.hub.close()

"""A day at the demo's shop: a real daemon and real agents, stopped when every lane has a run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import plot

from bot.app import App, open_app
from bot.daemon import Daemon
from bot.demo.people import PROJECT, create_repository
from bot.demo.scripted_model import ScriptedModel
from bot.domain.run import Phase, Run
from bot.services.local.connect import open_local_server
from bot.services.local.server import LocalServer
from bot.settings.schema import LimitSettings, NotifySettings, PollSettings, ProjectSettings, Settings, WebSettings

_PATIENCE = 600


@dataclass
class Shop:
    app: App
    desk: LocalServer
    model: ScriptedModel

    async def day(self) -> None:
        """Mira and Jonas request changes and review them."""
        self.ask(plot.TOTAL, by="Mira")
        await self.until(plot.TOTAL, Phase.REVIEW)
        self.ask(plot.PRICES, by="Jonas")
        await self.until(plot.PRICES, Phase.REVIEW)
        self.desk.merger(PROJECT).merge(self.number(plot.TOTAL), by="Mira")
        await self.until(plot.TOTAL, Phase.DONE)
        self.ask(plot.DISCOUNT, by="Mira")
        self.ask(plot.SUPPLIERS, by="Jonas")
        await self.until(plot.SUPPLIERS, Phase.ASKING)
        self.ask(plot.HISTORY, "ai:plan", by="Mira")
        await self.until(plot.DISCOUNT, Phase.REVIEW)
        self.desk.pull_requests(PROJECT).comment(self.number(plot.DISCOUNT), plot.REDIRECTION, by="Jonas")
        await self.until(plot.HISTORY, Phase.ASKING)
        await self.until(plot.DISCOUNT, Phase.REVIEW, turn=2)
        for title in (plot.GERMAN, plot.TAX, plot.WRAPPING):
            self.ask(title, by="Jonas")
            await self.until(title, Phase.WORKING)
        await self.until_written(plot.GERMAN, "teashop/words.py")
        self.desk.issues(PROJECT).comment(self.number(plot.GERMAN), plot.WISH, by="Mira")
        await self.until_heard(plot.GERMAN)
        self.ask(plot.POSTAGE, by="Mira", after=plot.TAX)
        self.ask(plot.VOUCHERS, by="Jonas")
        await self.until(plot.VOUCHERS, Phase.QUEUED)
        await self.until_written(plot.GERMAN, "test_languages.py")

    def ask(self, title: str, *labels: str, by: str, after: str = "") -> None:
        blocked = f"\n\nBlocked by: #{self.number(after)}" if after else ""
        self.desk.issues(PROJECT).open(title, by=by, body=plot.BODIES[title] + blocked, labels=["ai", *labels])

    def key(self, title: str) -> str:
        return next(one.key for one in self.desk.issues(PROJECT).list_issues(closed=True) if one.title == title)

    def number(self, title: str) -> int:
        return self.desk.parse_key(self.key(title))[1]

    def run(self, title: str) -> Run | None:
        return self.app.store.find_run(self.key(title))

    async def until(self, title: str, phase: Phase, *, turn: int = 0) -> None:
        print(f"{title}: waiting until it is {phase}", flush=True)
        async with asyncio.timeout(_PATIENCE):
            while not ((run := self.run(title)) and run.phase is phase and run.turns.number >= turn):
                await asyncio.sleep(0.1)

    async def until_heard(self, title: str) -> None:
        """Waits until the agent reads the comment, which it does after its next tool call."""
        async with asyncio.timeout(_PATIENCE):
            while not ((run := self.run(title)) and run.comments):
                await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        plot.HEARD.set()

    async def until_written(self, title: str, words: str) -> None:
        """Waits until the text is in the transcript of the agent."""
        run = self.run(title)
        assert run
        async with asyncio.timeout(_PATIENCE):
            while not any(words in str(line) for line in self.app.transcripts.read(run.id)):
                await asyncio.sleep(0.1)


@asynccontextmanager
async def opened(folder: Path, port: int) -> AsyncIterator[Shop]:
    repository = folder / PROJECT
    create_repository(repository)
    settings = Settings(
        state_dir=folder / "state",
        poll=PollSettings(interval=2),
        limits=LimitSettings(working=3, working_per_project=3, free_disk_gb=0, claim_seconds=0),
        web=WebSettings(bind=f"127.0.0.1:{port}", login="never"),
        notify=NotifySettings(on=()),
        projects=(
            ProjectSettings(name=PROJECT, repository=str(repository), base="main", verify=("python3 -m unittest",)),
        ),
    )
    desk = open_local_server(settings)
    async with ScriptedModel(plot.play) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}
        async with open_app(settings, environment) as app, asyncio.TaskGroup() as group:
            daemon = Daemon(app)
            group.create_task(daemon.run())
            yield Shop(app, desk, model)
            daemon.stop()
    desk.close()

"""Process life: one daemon per state directory, its clocks, its wake-ups, its signals and how it goes down."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.domain.run import Phase
from bot.errors import MustRestart, Retryable
from bot.settings import operator
from bot.settings.credentials import linear_webhook_secret, web_token, webhook_secret
from bot.system import clock

if TYPE_CHECKING:
    from bot.app import App

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
_RELEASE_SECONDS = 5.0
_WATCH_SECONDS = 1.0
_PULSE_SECONDS = 5.0
_FLUSH_SECONDS = 0.5
_DISK_SECONDS = 60.0
_POOL_SECONDS = 5.0
_HUSH_SECONDS = 3.0
_TELL_SECONDS = 1.0
_LOOK_AFTER_SECONDS = 15.0
_LAST_WORDS_SECONDS = 3.0


class Daemon:
    def __init__(self, app: "App") -> None:
        self._app = app
        self._stopping = False
        self._stays = False
        self._broken: MustRestart | None = None
        self._ticking: asyncio.Timeout | None = None
        self._waking: asyncio.TimerHandle | None = None
        self._next_poll: Callable[[], datetime | None] | None = None
        self._watchers: list[Callable[[], None]] = []
        """Told after each look at the world."""

    async def run(self) -> None:
        """Until a signal; then drain."""
        async with self._web():
            await self._live()
        await self._drain()

    async def _live(self) -> None:
        with self._signals(), self._clocks():
            await self._app.recover()
            self._stays = True
            while not self._stopping:
                await self._tick()
                await self._app.woken.wait()

    async def once(self) -> None:
        """Until nothing is left to do now. Raises what kept it from looking, if that lasted to the end."""
        with self._signals(), self._clocks():
            await self._app.recover()
            while not self._stopping:
                await self._tick()
                await self._app.engine.settled()
                if not self._app.woken.is_set() and not self._app.engine.may_go_on():
                    break
                await self._app.woken.wait()
        await self._drain()
        if away := self._app.engine.away:
            raise Retryable("; ".join(f"{name}: {problem}" for name, problem in away.items()))

    def stop(self) -> None:
        self._stopping = True
        self._app.woken.set()
        if self._ticking:  # a service that keeps silent is not waited for
            self._ticking.reschedule(asyncio.get_running_loop().time())

    async def _tick(self) -> None:
        self._app.woken.clear()
        if self._broken:
            raise self._broken
        began, postponed = clock.steady(), True
        try:
            async with asyncio.timeout(None) as self._ticking:
                await self._app.engine.tick()
            self._app.house.looked, postponed = True, False
        except (Retryable, TimeoutError) as problem:
            log.warning("postponed tick reason=%s", str(problem) or "going down")
        finally:
            self._ticking = None
            for tell in self._watchers:
                tell()
            self._app.vitals.ticks.ended(clock.steady() - began, postponed=postponed)

    def wake(self, repository: str = "") -> None:
        """Somebody says that there is news: of one repository, or anywhere."""
        projects = self._app.settings.projects
        meant = [one.name for one in projects if repository.lower() in {"", one.repository.lower()}]
        if meant:
            self._expect(meant)

    def _expect(self, projects: Sequence[str]) -> None:
        self._app.engine.expect_news(projects)
        self._app.woken.set()

    def wake_linear(self) -> None:
        """Linear tells of every edit, ours included: of many at once one is enough."""
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(_HUSH_SECONDS, self._wake_linear)

    def _wake_linear(self) -> None:
        self._waking = None
        self._app.engine.expect_news([one.name for one in self._app.settings.projects if one.tracker == "linear"])
        self._app.woken.set()

    @asynccontextmanager
    async def _web(self) -> AsyncIterator[None]:
        bind = self._app.settings.web.bind
        if not bind:
            yield
            return
        from bot.control.user_actions import Speaking
        from bot.status.dashboard_data import Showing
        from bot.status.metrics import measures_of
        from bot.status.run_details import CloseUp
        from bot.web import Access, Dashboard, Door, pages_of, serving

        settings = self._app.settings
        door = Door(
            self.wake,
            self._app.vitals.is_ready,
            wake_linear=self.wake_linear,
            github_secret=webhook_secret(settings),
            linear_secret=linear_webhook_secret(settings),
            access=Access(web_token(settings), settings.web.user_header, settings.web.proxies, operator()),
            bound=bind.rpartition(":")[0],
            hosts=settings.web.hosts,
            figures=lambda: measures_of(self._app),
        )
        showing = Showing(settings, self._app.executor.progress, self._beats)
        dashboard = Dashboard(showing, Speaking(settings, self._expect), CloseUp(settings, self._app.store.find_run))
        self._app.transcripts.listen(dashboard.hear)
        self._watchers.append(dashboard.hub.stir)
        async with serving(pages_of(door, dashboard), bind), dashboard.open():
            log.info("dashboard at http://%s", bind)
            yield

    def _beats(self) -> Mapping[str, str]:
        """What is due when, in words."""
        if self._next_poll is None or (due := self._next_poll()) is None:
            return {}
        return {"next look at the services": f"{due:%H:%M:%S} UTC, or when somebody says that there is news"}

    def _is_working(self) -> bool:
        return any(run.phase is Phase.WORKING for run in self._app.store.active())

    async def _drain(self) -> None:
        """No new turns; running sessions are interrupted, their work and session ids kept."""
        log.info("going down")
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._app.executor.drain(DRAIN_SECONDS / 2)
                await self._app.engine.park()
        except (TimeoutError, Retryable) as problem:
            log.warning("went down without a word reason=%s", str(problem) or "no time left")
        self._app.engine.let_go()
        await self._release_claims()
        await self._app.vitals.last_words()
        await self._flush()

    async def _release_claims(self) -> None:
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._app.release_claims()
        except TimeoutError:
            log.warning("others wait until the claim runs out reason=no time left")

    # Clocks

    @contextmanager
    def _clocks(self) -> Iterator[None]:
        """APScheduler owns every clock: a job that is late is run once, one that still runs is not run twice."""
        scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        every: list[tuple[float, Callable[[], Coroutine[Any, Any, None]]]] = [
            (self._app.settings.poll.interval, self._poll),
            (_WATCH_SECONDS, self._watch),
            (_PULSE_SECONDS, self._pulse),
            (_FLUSH_SECONDS, self._flush),
            (_DISK_SECONDS, self._make_room),
            (_TELL_SECONDS, self._tell),
            (_LOOK_AFTER_SECONDS, self._look_after),
            (3600.0, self._sweep),
            (86400.0, self._upkeep),
        ]
        jobs = [scheduler.add_job(self._on_time, "interval", (job,), seconds=seconds) for seconds, job in every]
        pools = (self._fill_pools,)  # the second of two at once has nothing to do, and to be late is no news
        scheduler.add_job(self._on_time, "interval", pools, seconds=_POOL_SECONDS, max_instances=2)
        scheduler.start()
        self._next_poll = lambda: cast("datetime | None", jobs[0].next_run_time)
        try:
            yield
        finally:
            scheduler.shutdown(wait=False)

    async def _on_time(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """What must end us ends the loop, not only a job of a clock."""
        try:
            await job()
        except MustRestart as problem:
            self._broken = problem
            self._app.woken.set()

    async def _poll(self) -> None:
        self._app.vitals.next_look = clock.now() + self._app.settings.poll.interval
        self._app.engine.expect_news()
        self._app.woken.set()

    async def _watch(self) -> None:
        """Trackers that can tell cheaply that something changed need not wait for the poll."""
        for project in self._app.outside.projects.values():
            try:
                if await project.tracker.changed():
                    self._app.woken.set()
            except Retryable as problem:
                log.warning("looked away project=%s reason=%s", project.name, problem)

    async def _pulse(self) -> None:
        """While agents work, time limits pass and progress is shown; and what was put off becomes due."""
        if self._is_working() or self._app.engine.is_due():
            self._app.woken.set()

    async def _flush(self) -> None:
        try:
            self._app.transcripts.flush()
        except OSError as problem:
            log.warning("transcripts wait reason=%s", problem)

    async def _sweep(self) -> None:
        await self._app.house.sweep()
        await self._app.house.tend()

    async def _make_room(self) -> None:
        """Before anything has to wait for it."""
        try:
            self._app.house.watch()
            if await self._app.house.make_room():
                self._app.woken.set()
        except (Retryable, OSError) as problem:
            log.warning("made no room reason=%s", problem)

    async def _fill_pools(self) -> None:
        """Not where it is over as soon as nothing is left to do."""
        if self._stays and not self._stopping:
            await self._app.house.pools.fill()

    async def _upkeep(self) -> None:
        await self._app.house.maintain()
        self._app.vitals.forget_old()

    async def _tell(self) -> None:
        self._app.vitals.tell()

    async def _look_after(self) -> None:
        await self._app.vitals.take({name: str(problem) for name, problem in self._app.engine.away.items()})

    # Signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        is_deaf = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by `nohup`: it outlives its terminal
        numbers = (signal.SIGTERM, signal.SIGINT, *(() if is_deaf else (signal.SIGHUP,)))
        for number in numbers:
            loop.add_signal_handler(number, self._signalled, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.add_signal_handler(number, os._exit, 128 + number)

    def _signalled(self, number: int) -> None:
        """The first one drains; the second ends at once."""
        if self._stopping:
            os._exit(128 + number)
        self.stop()

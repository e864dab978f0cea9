"""Daemon: the life of the process, with its clocks, wake-ups, signals and shutdown."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.domain.run import Phase
from bot.errors import BadSettings, CannotStart, MustRestart, Retryable
from bot.services.interface import Service
from bot.services.registry import SERVICES
from bot.settings.dashboard_access import cookie_key, dashboard_bind, web_token
from bot.settings.load import operator
from bot.settings.schema import Settings
from bot.settings.watch_file import SettingsFile
from bot.status.health_monitor import SettingsFileState
from bot.system import clock

if TYPE_CHECKING:
    from bot.app import App
    from bot.web.auth import Authenticator
    from bot.web.webhooks import Webhook

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
_RELEASE_SECONDS = 5.0
_WATCH_SECONDS = 1.0
_TICK_WHILE_WORKING_SECONDS = 5.0
_FLUSH_SECONDS = 0.5
_DISK_SECONDS = 60.0
_POOL_SECONDS = 5.0
_NOTIFY_SECONDS = 1.0
_HEALTH_SECONDS = 15.0


class _Clock(AsyncIOExecutor):  # type: ignore[misc]
    """Runs jobs. One that shutdown cancels before it begins leaves no error in the log."""

    def _run_job_error(self, job_id: str, exc: BaseException, traceback: object = None) -> None:
        if isinstance(exc, asyncio.CancelledError):
            self._run_job_success(job_id, [])
        else:
            super()._run_job_error(job_id, exc, traceback)


class Daemon:
    def __init__(self, app: "App", file: SettingsFile | None = None) -> None:
        """`file`: is watched, and its changes take effect without a restart."""
        self._app = app
        self._file = file
        self._changed: Settings | None = None
        """Settings of the file that the next tick takes over."""
        self._stopping = False
        self._stays = False
        self._broken: MustRestart | None = None
        self._ticking: asyncio.Timeout | None = None
        self._waking: dict[str, asyncio.TimerHandle] = {}
        self._next_poll: Callable[[], datetime | None] | None = None
        self._reschedule_poll: Callable[[float], object] = lambda _: None
        self._watchers: list[Callable[[], None]] = []
        """Called after each tick."""

    async def run(self) -> None:
        """Run until a signal, then drain."""
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
        """Run until nothing is left to do now. Raises Retryable if a project could not be read to the end."""
        with self._signals(), self._clocks():
            await self._app.recover()
            while not self._stopping:
                await self._tick()
                await self._app.engine.wait_until_idle()
                if not self._app.woken.is_set() and not self._app.engine.may_go_on():
                    break
                await self._app.woken.wait()
        await self._drain()
        if unreachable := self._app.engine.failed_projects:
            raise Retryable("; ".join(f"{name}: {problem}" for name, problem in unreachable.items()))

    def stop(self) -> None:
        self._stopping = True
        self._app.woken.set()
        if self._ticking:  # the dashboard does not wait for a service that does not answer
            self._ticking.reschedule(asyncio.get_running_loop().time())

    async def _tick(self) -> None:
        self._app.woken.clear()
        if self._broken:
            raise self._broken
        self._take_over_settings()
        began, postponed = clock.steady(), True
        try:
            async with asyncio.timeout(None) as self._ticking:
                await self._app.engine.tick()
            self._app.maintenance.trackers_read, postponed = True, False
        except (Retryable, TimeoutError) as problem:
            log.warning("tick postponed reason=%s", str(problem) or "shutdown")
        finally:
            self._ticking = None
            for call in self._watchers:
                call()
            self._app.monitor.ticks.ended(clock.steady() - began, postponed=postponed)

    # Settings

    async def _watch_settings(self) -> None:
        """Reads the file once it has changed. What cannot be used changes nothing."""
        if self._file is None:
            return
        try:
            file = self._file.poll()
            if file is None:
                return
            await self._app.ensure_usable(file)
        except (BadSettings, CannotStart) as problem:
            log.warning("settings not changed, the previous ones stay in force reason=%s", problem)
            self._app.monitor.file = SettingsFileState(str(problem))
            await self._check_health()
            return
        self._changed = file
        self._app.woken.set()

    def _take_over_settings(self) -> None:
        if self._changed is None:
            return
        file, self._changed, interval = self._changed, None, self._app.settings.poll.interval
        change = self._app.take_over(file)
        self._note(change.applied)
        if change.waiting:
            log.warning("settings changed that take effect after a restart: %s", ", ".join(change.waiting))
        if not (change.applied or change.waiting):
            log.info("settings: the file was saved without a change")
        self._app.monitor.file = SettingsFileState(waiting=change.waiting)
        if self._app.settings.poll.interval != interval:
            self._reschedule_poll(self._app.settings.poll.interval)

    def _note(self, changes: Sequence[str]) -> None:
        """Writes them to the log, and to the journal of every run that is not over."""
        for words in changes:
            log.info("settings: %s", words)
        notes = [f"settings: {words}" for words in changes]
        try:
            for run in self._app.store.active() if notes else ():
                self._app.store.save(run, at=clock.now(), notes=notes)
        except Retryable as problem:
            log.warning("journal not written reason=%s", problem)

    def wake(self, repository: str = "") -> None:
        """Poll soon: the projects of one repository, or all."""
        projects = self._app.settings.projects
        names = [one.name for one in projects if repository.lower() in {"", one.repository.lower()}]
        if names:
            self._expect(names)

    def _expect(self, projects: Sequence[str]) -> None:
        self._app.engine.expect_news(projects)
        self._app.woken.set()

    def _wake_for(self, service: Service, repository: str) -> None:
        """Handles webhooks: several in a short time wake the daemon once if the service says so."""
        if not service.webhook_pause_seconds:
            self.wake(repository)
        elif service.name not in self._waking:
            self._waking[service.name] = asyncio.get_running_loop().call_later(
                service.webhook_pause_seconds, self._wake_users_of, service
            )

    def _wake_users_of(self, service: Service) -> None:
        self._waking.pop(service.name, None)
        projects = self._app.settings.projects
        self._expect([one.name for one in projects if service.name in {one.tracker, one.forge}])

    @asynccontextmanager
    async def _web(self) -> AsyncIterator[None]:
        bind = dashboard_bind(self._app.settings)
        if not bind:
            yield
            return
        from bot.control.user_actions import UserActionService
        from bot.status.dashboard_data import DashboardData
        from bot.status.metrics import collect_metrics
        from bot.status.run_details import RunDetails
        from bot.web.app import AppConfig, build_app
        from bot.web.dashboard import Dashboard
        from bot.web.server import serving

        settings = self._app.settings
        config = AppConfig(
            self.wake,
            self._app.monitor.is_ready,
            webhooks=self._webhooks(),
            authenticator=_authenticator(settings),
            bind_host=bind.rpartition(":")[0],
            hosts=settings.web.hosts,
            collect_metrics=lambda: collect_metrics(self._app.monitor, self._app.engine.failed_projects),
        )
        showing = DashboardData(settings, self._app.executor.progress, self._schedule)
        dashboard = Dashboard(
            showing, UserActionService(settings, self._expect), RunDetails(settings, self._app.store.find_run)
        )
        self._app.transcripts.listen(dashboard.publish_transcript_line)
        self._watchers.append(dashboard.hub.notify)
        async with serving(build_app(config, dashboard), bind), dashboard.open():
            log.info("dashboard at http://%s", bind)
            yield

    def _webhooks(self) -> Mapping[str, "Webhook"]:
        from bot.web.webhooks import Webhook

        return {
            service.name: Webhook(
                service.webhook_secret(self._app.settings),
                service.webhook_signature_header,
                service.parse_webhook,
                partial(self._wake_for, service),
            )
            for service in SERVICES.values()
            if service.has_webhook
        }

    def _schedule(self) -> Mapping[str, str]:
        """Keyed by name: when something is due, in words."""
        if self._next_poll is None or (due := self._next_poll()) is None:
            return {}
        return {"next poll": f"{due:%H:%M:%S} UTC, or earlier if a webhook arrives"}

    def _is_working(self) -> bool:
        return any(run.phase is Phase.WORKING for run in self._app.store.active())

    async def _drain(self) -> None:
        """Starts no new turns and interrupts running sessions; their work and session ids are kept."""
        log.info("shutdown started")
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._app.executor.drain(DRAIN_SECONDS / 2)
                await self._app.engine.park()
        except (TimeoutError, Retryable) as problem:
            log.warning("shutdown: state not saved reason=%s", str(problem) or "timed out")
        self._app.engine.abandon()
        await self._release_leases()
        await self._app.monitor.send_last()
        await self._flush()

    async def _release_leases(self) -> None:
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._app.release_leases()
        except TimeoutError:
            log.warning("lease not released: timed out; expires by itself")

    # Clocks

    @contextmanager
    def _clocks(self) -> Iterator[None]:
        """APScheduler owns every clock: a late job runs once, and a job that still runs is not started again."""
        scheduler = AsyncIOScheduler(
            executors={"default": _Clock()},
            timezone=UTC,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        every: list[tuple[float, Callable[[], Coroutine[Any, Any, None]]]] = [
            (self._app.settings.poll.interval, self._poll),
            (_WATCH_SECONDS, self._watch),
            (_WATCH_SECONDS, self._watch_settings),
            (_TICK_WHILE_WORKING_SECONDS, self._tick_while_working),
            (_FLUSH_SECONDS, self._flush),
            (_DISK_SECONDS, self._make_room),
            (_NOTIFY_SECONDS, self._notify),
            (_HEALTH_SECONDS, self._check_health),
            (3600.0, self._sweep),
            (86400.0, self._upkeep),
        ]
        jobs = [scheduler.add_job(self._on_time, "interval", (job,), seconds=seconds) for seconds, job in every]
        pools = (self._fill_pools,)  # a second call at once returns, and lateness is not logged
        scheduler.add_job(self._on_time, "interval", pools, seconds=_POOL_SECONDS, max_instances=2)
        scheduler.start()
        self._next_poll = lambda: cast("datetime | None", jobs[0].next_run_time)
        self._reschedule_poll = lambda seconds: jobs[0].reschedule("interval", seconds=seconds)
        try:
            yield
        finally:
            scheduler.shutdown(wait=False)

    async def _on_time(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """MustRestart ends the daemon, not only this job. A job that shutdown cancels leaves no error in the log."""
        try:
            await job()
        except MustRestart as problem:
            self._broken = problem
            self._app.woken.set()
        except asyncio.CancelledError:
            log.debug("job cancelled by shutdown")

    async def _poll(self) -> None:
        self._app.monitor.next_poll = clock.now() + self._app.settings.poll.interval
        self._app.engine.expect_news()
        self._app.woken.set()

    async def _watch(self) -> None:
        """Ask trackers that notice changes cheaply; the others wait for the poll."""
        for project in self._app.ports.projects.values():
            try:
                if await project.tracker.changed():
                    self._app.woken.set()
            except Retryable as problem:
                log.warning("poll failed project=%s reason=%s", project.name, problem)

    async def _tick_while_working(self) -> None:
        """Tick for time limits and progress while agents work, and when a retry is due."""
        if self._is_working() or self._app.engine.is_due():
            self._app.woken.set()

    async def _flush(self) -> None:
        try:
            self._app.transcripts.flush()
        except OSError as problem:
            log.warning("transcripts not written reason=%s", problem)

    async def _sweep(self) -> None:
        await self._app.maintenance.sweep()
        await self._app.maintenance.sync_salvage()

    async def _make_room(self) -> None:
        """Free disk space before work has to wait for it."""
        try:
            self._app.maintenance.watch_disk()
            if await self._app.maintenance.make_room():
                self._app.woken.set()
        except (Retryable, OSError) as problem:
            log.warning("disk space not freed reason=%s", problem)

    async def _fill_pools(self) -> None:
        """Only in a daemon that stays: `treehand run --once` ends when nothing is left to do."""
        if self._stays and not self._stopping:
            await self._app.maintenance.pools.fill()

    async def _upkeep(self) -> None:
        await self._app.maintenance.pack_mirrors()
        self._app.monitor.forget_old()

    async def _notify(self) -> None:
        self._app.monitor.send_notifications()

    async def _check_health(self) -> None:
        await self._app.monitor.check(
            {name: str(problem) for name, problem in self._app.engine.failed_projects.items()}
        )

    # Signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        ignores_hangup = (
            signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        )  # set by `nohup`, so that it outlives its terminal
        numbers = (signal.SIGTERM, signal.SIGINT, *(() if ignores_hangup else (signal.SIGHUP,)))
        for number in numbers:
            loop.add_signal_handler(number, self._signalled, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.add_signal_handler(number, os._exit, 128 + number)

    def _signalled(self, number: int) -> None:
        """The first signal drains, the second ends the process at once."""
        if self._stopping:
            os._exit(128 + number)
        self.stop()


def _authenticator(settings: Settings) -> "Authenticator":
    from bot.web.auth import Authenticator

    web = settings.web
    return Authenticator(web_token(settings), web.user_header, web.proxies, operator(), cookie_key=cookie_key(settings))

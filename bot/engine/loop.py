"""Engine loop: in each tick it observes every run, decides, acts and saves."""

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from bot.domain.run import Phase, Run
from bot.domain.run_names import log_fields, turn_id_for
from bot.domain.spend import TotalSpend
from bot.engine import comment_ledger, stuck, unshown
from bot.engine.act import perform_all
from bot.engine.actions import ShowLabels
from bot.engine.backoff import Backoff
from bot.engine.circuit_breaker import pause_reasons
from bot.engine.decide import ask_for_help, decide, park, send_back_to_agent
from bot.engine.decision import Decision
from bot.engine.intake import Intake
from bot.engine.leases import Leases
from bot.engine.messages import question_comment
from bot.engine.messages.journal import history
from bot.engine.notifications import notifications_of
from bot.engine.observation import Observation
from bot.engine.observe import ProjectSnapshot, has_ended, has_succeeded, observe, take_snapshots, with_started_turn
from bot.engine.recheck_permissions import Judge, confirm
from bot.engine.schedule import Capacity, may_go_on, schedule
from bot.engine.withhold_secrets import without_secrets
from bot.errors import BotError, Elsewhere, MustRestart, NeedsHuman, NeedsTurn, NoBranch, Retryable
from bot.ports import LeaseState, Ports, Project
from bot.system.log_context import logging_about

log = logging.getLogger(__name__)

QUEUED_STEPS_AT_ONCE = 5
QUEUED_LABELS_AT_ONCE = 20
"""Steps of queued runs that only change labels: services may take many of those in one request."""
_POLL_FAILED = "poll failed project=%s reason=%s"
_RUN_DELAYED = "run delayed run=%s reason=%s"


class Engine:
    """Actions of one run are serial, different runs act concurrently: a slow push delays no other run."""

    def __init__(
        self,
        outside: Ports,
        *,
        clock: Callable[[], float],
        capacity: Callable[[], Capacity],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.ports = outside
        self._clock = clock
        self._capacity = capacity
        self._on_change = on_change
        self._busy: dict[str, Run] = {}
        self._moving: set[asyncio.Task[None]] = set()
        self._bugs: dict[str, str] = {}
        self._pause_log = PauseLog()
        self._paused: frozenset[str] = frozenset()
        self._intake = Intake(outside, clock)
        self._leases = Leases(outside, clock)
        self._backoff = Backoff()
        self._logged: dict[str, str] = {}
        """Last logged reason by delayed run or project."""
        self._ended: frozenset[str] = frozenset()
        """Runs whose turn has ended and is not recorded yet, as of the last tick."""
        self.failed_projects: Mapping[str, BotError] = {}
        """Projects whose last poll failed, and the error."""
        self._fresh = set(outside.projects)
        self._idle = asyncio.Event()
        self._idle.set()
        self._steps: asyncio.TaskGroup
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._steps = await self._stack.enter_async_context(asyncio.TaskGroup())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, exc, trace)

    @property
    def unseen_projects(self) -> Collection[str]:
        """Projects whose last poll failed, or that are stale: they may have runs that are not known yet."""
        return {*self.failed_projects, *self._intake.stale}

    def expect_news(self, projects: Collection[str] | None = None) -> None:
        """Makes the next tick poll these projects, or all; otherwise it may use the cache."""
        self._fresh |= set(self.ports.projects if projects is None else projects)

    async def tick(self) -> None:
        """Observes all projects once and starts each run's step. Safe at any time, any number of times."""
        store = self.ports.store
        reports = await self.ports.executor.reports()
        before = store.active()
        over = store.ended_unshown()
        self._ended = frozenset(run.id for run in before if has_ended(run, reports))
        # A run whose step ends during the poll is newer than its snapshot: the next tick decides about it.
        left_alone, elsewhere = self._skipped(before), await self._held_elsewhere()
        # permissions are read again before work is published: those of the start of the turn may be outdated
        fresh = self._fresh | {run.project for run in before if run.id in self._ended - left_alone}
        views = await self._start_runs(await self._look((*before, *over), fresh, elsewhere), before)
        runs, spent, now = store.active(), store.spent_by_issue(), self._clock()
        looked = [
            (run, observe(run, views[run.project], reports, now=now, spent=spent.get(run.key, TotalSpend())))
            for run in runs
            if run.project in views and run.id not in left_alone | self._intake.restored
        ]
        judged = {run.id for run, _ in looked}
        here = [run for run in runs if not self._leases.is_held_elsewhere(run.project)]
        others = [with_started_turn(self._busy.get(run.id, run), reports) for run in here if run.id not in judged]
        policies = {name: project.policy for name, project in self.ports.projects.items()}
        endings = store.turn_outcomes()
        slots = schedule(looked, others, policies, self._capacity(), endings)
        self._paused = frozenset(name for name, slot in slots.items() if slot.paused)
        self._pause_log.log_changes(pause_reasons(here, endings, now))
        for run, seen in looked:
            self._set_moving(run, replace(seen, slot=slots[run.id]))
        for run in store.ended_unshown() if over else ():
            if run.project in views and run.id not in left_alone:
                self._set_moving(run, observe(run, views[run.project], reports, now=now, spent=TotalSpend()))

    def _skipped(self, runs: Sequence[Run]) -> frozenset[str]:
        """Returns runs that are busy or must not be tried yet."""
        now = self._clock()
        held = (run.id for run in runs if self._backoff.is_delayed(run.id, now))
        return frozenset((*self._busy, *held))

    async def _look(
        self, runs: Sequence[Run], fresh: Collection[str], elsewhere: Collection[str]
    ) -> Mapping[str, ProjectSnapshot]:
        self._fresh -= set(fresh)  # news during the poll may be missing from its snapshot
        views, away = await take_snapshots(self.ports, runs, fresh=fresh, but=elsewhere)
        self._fresh |= set(fresh) & set(away)
        for name in views:
            self._backoff.succeeded(name)
            if self._logged.pop(name, ""):
                log.info("poll recovered project=%s", name)
        self.failed_projects = away
        for name, problem in away.items():
            self._delay(name, problem, _POLL_FAILED)
        for run in runs:
            if run.project in away:
                self._backoff.expect_at(run.id, None)
        return views

    async def _start_runs(
        self, views: Mapping[str, ProjectSnapshot], before: Sequence[Run]
    ) -> Mapping[str, ProjectSnapshot]:
        """Returns snapshots of the projects that we may act on, after starting their runs."""
        ours = {}
        self._intake.restored.clear()
        for name, view in views.items():
            project = self.ports.projects[name]
            try:
                if await self._holds_lease(project, view, before):
                    await self._intake.start_runs(project, view, before)
                    ours[name] = view
            except (Retryable, NeedsHuman) as problem:
                self._delay(name, problem, _POLL_FAILED)
                self.failed_projects = {**self.failed_projects, name: problem}
        self._backoff.expect_at("arrivals", self._intake.next_due())
        if self._intake.restored:
            self.expect_news(ours)
            self._on_change()
        return ours

    async def _held_elsewhere(self) -> Collection[str]:
        """Returns projects that another daemon holds: no snapshot is taken. Returned projects are marked stale."""
        elsewhere = set()
        for project in self._leases.held_elsewhere():
            try:
                state = await self._leases.acquire(project)
            except (Retryable, NeedsHuman) as problem:
                state = LeaseState.HELD_ELSEWHERE
                self._delay(project.name, problem, _POLL_FAILED)
            if state is LeaseState.HELD_ELSEWHERE:
                elsewhere.add(project.name)
            elif state is LeaseState.REACQUIRED:
                self._mark_stale(project.name)
        return elsewhere

    async def may_maintain(self, project: Project) -> bool:
        """Returns True if we hold the project's lease; acquires it if no run needs it."""
        if project.lease is None:
            return True
        has_runs = any(run.project == project.name for run in self.ports.store.active())
        if not has_runs and await self._leases.acquire(project, quiet=True) is LeaseState.REACQUIRED:
            self._mark_stale(project.name)
        try:
            project.lease.check()
        except Elsewhere:
            return False
        return True

    async def _holds_lease(self, project: Project, view: ProjectSnapshot, before: Sequence[Run]) -> bool:
        """Acquires the lease only if the project has work; returns False if another daemon holds it."""
        if not self._intake.is_needed(project, view, before):
            return True
        is_working = any(run.project == project.name and run.phase is Phase.WORKING for run in before)
        state = await self._leases.acquire(project, quiet=not is_working)
        if state is LeaseState.HELD:
            return True
        await self._cancel_steps(project)
        await self._leases.end_turns(project, [run for run in before if run.id not in self._busy])
        if state is LeaseState.REACQUIRED:  # the snapshot may be older than the action
            self._mark_stale(project.name)
            self._on_change()
        return False

    def _mark_stale(self, project: str) -> None:
        self._intake.mark_stale(project)
        self.expect_news([project])

    async def _cancel_steps(self, project: Project) -> None:
        """Cancels the project's steps, which were decided before another daemon acted."""
        await asyncio.sleep(0)  # a task that has not started cannot clean up
        stale = {run.id for run in self._busy.values() if run.project == project.name}
        for step in self._moving:
            if step.get_name() in stale:
                step.cancel()

    def _delay(self, name: str, problem: BotError, log_line: str) -> None:
        """Logs each reason once, and not again because fewer seconds are left to wait."""
        self._backoff.delay(name, problem, self._clock())
        why = re.sub(r"\d+", "", str(problem))
        if self._logged.get(name) != why:
            log.warning(log_line, name, problem)
        self._logged[name] = why

    def is_due(self) -> bool:
        """Returns True if a delayed step is due."""
        return self._backoff.has_due(self._clock())

    def may_go_on(self) -> bool:
        """Returns True if any run will continue soon without a person's help."""
        now, everything = self._clock(), self.ports.store.active()
        runs = [run for run in everything if not self._leases.is_held_elsewhere(run.project)]
        moving = [
            run for run in runs if run.id not in self._paused
        ]  # a project paused by failures stays paused for long
        hopeful = [run for run in moving if not (run.id in self._ended and self._backoff.is_exhausted(run.id, now))]
        return may_go_on(hopeful) or self._backoff.is_worth_waiting(now)

    async def wait_until_idle(self) -> None:
        """Waits until all steps started so far have ended."""
        await self._idle.wait()

    async def park(self) -> None:
        """Keeps the place of each interrupted run at shutdown, after the executor has drained."""
        await self.wait_until_idle()
        store = self.ports.store
        reports = await self.ports.executor.reports()
        ours = [run for run in store.active() if not self._leases.is_held_elsewhere(run.project)]
        interrupted = [run for run in ours if run.has_turn_in_flight]
        if not interrupted:
            return
        fresh = {run.project for run in interrupted if has_succeeded(run, reports)}  # the result may be published
        views, _ = await take_snapshots(self.ports, store.active(), fresh=fresh)
        now, spent = self._clock(), store.spent_by_issue()
        for run in interrupted:
            if run.project in views:
                seen = observe(run, views[run.project], reports, now=now, spent=spent.get(run.key, TotalSpend()))
                await self._step(run, seen, partial(park, run, policy=self.ports.projects[run.project].policy))

    def abandon(self) -> None:
        """Cancels steps: they are repeated after the restart."""
        for step in self._moving:
            step.cancel()

    def _set_moving(self, run: Run, seen: Observation) -> None:
        policy = self.ports.projects[run.project].policy
        with logging_about(**log_fields(run)), self._isolated(run):
            bug = self._bugs.pop(run.id, "")
            judge = (
                partial(ask_for_help, run, policy=policy, reason=bug) if bug else partial(decide, run, policy=policy)
            )
            decision = judge(seen)
            times = (comment_ledger.next_due(decision.run, seen, policy), unshown.next_due(decision.run))
            self._backoff.expect_at(run.id, min((at for at in times if at is not None), default=None))
            if (decision.run != run or decision.actions) and not self._must_wait_to_show(run, decision):
                self._busy[run.id] = decision.run
                self._idle.clear()
                step = self._steps.create_task(self._step(run, seen, judge), name=run.id)
                self._moving.add(step)
                step.add_done_callback(self._moving.discard)
            else:
                self._backoff.succeeded(run.id)

    def _must_wait_to_show(self, run: Run, decision: Decision) -> bool:
        """Limits concurrent updates of queued issues: services take one write after the other, and work comes first."""
        still_queued = run.phase is Phase.QUEUED and decision.run.phase is Phase.QUEUED
        only_labels = all(isinstance(action, ShowLabels) for action in decision.actions)
        most = QUEUED_LABELS_AT_ONCE if only_labels else QUEUED_STEPS_AT_ONCE
        return still_queued and sum(one.phase is Phase.QUEUED for one in self._busy.values()) >= most

    async def _step(self, run: Run, seen: Observation, judge: Judge) -> None:
        try:
            with logging_about(**log_fields(run)):
                with self._isolated(run):
                    seen, decision = await confirm(run, seen, self.ports.projects[run.project], judge)
                    await self._carry_out_or_ask(run, seen, decision)
                    self._backoff.succeeded(run.id)
                    self._logged.pop(run.id, None)
                await self._tell_stuck(run)
        finally:
            self._busy.pop(run.id, None)
            if not self._busy:
                self._idle.set()

    @contextmanager
    def _isolated(self, run: Run) -> Iterator[None]:
        """Isolates a run's failure. This is the only broad `except` in the engine; the next tick asks people."""
        try:
            yield
        except (Retryable, NeedsHuman) as problem:
            self._delay(run.id, problem, _RUN_DELAYED)
        except MustRestart:
            raise
        except Exception as bug:
            log.exception("run crashed run=%s", run.id)
            self._bugs[run.id] = question_comment.met_a_bug(type(bug).__name__, self.ports.projects[run.project].policy)

    async def _tell_stuck(self, run: Run) -> None:
        """A failure that may pass is logged at first, and told to people after a while."""
        project, now = self.ports.projects[run.project], self._clock()
        problem, seconds = self._backoff.lasting(run.id, now)
        why = without_secrets(problem, project.find_secrets)
        decision = stuck.tell(run, why, seconds=seconds)
        if not decision.actions:
            return
        try:
            if not await perform_all(decision.actions, run, project, self.ports.executor):
                self.ports.store.save(decision.run, at=now, notes=[f"a step keeps failing: {why}"])
        except (Retryable, NeedsHuman) as trouble:
            log.info("comment not posted run=%s reason=%s", run.id, trouble)

    async def _carry_out_or_ask(self, run: Run, seen: Observation, decision: Decision) -> None:
        try:
            await self._carry_out(run, decision)
        except NeedsHuman as problem:
            project = self.ports.projects[run.project]
            asking = partial(ask_for_help, once=isinstance(problem, NoBranch))
            turn_to = send_back_to_agent if isinstance(problem, NeedsTurn) else asking
            trouble = without_secrets(str(problem), project.find_secrets)
            await self._carry_out(run, turn_to(run, seen, project.policy, trouble))

    async def _carry_out(self, run: Run, decision: Decision) -> None:
        project = self.ports.projects[run.project]
        refused = [
            replace(one, why=without_secrets(one.why, project.find_secrets))
            for one in await perform_all(decision.actions, decision.run, project, self.ports.executor)
        ]
        now = self._clock()
        decision = unshown.record(decision, refused, now, before=run.status)
        notes = history(run, decision)
        if decision.run.question != run.question:
            decision = replace(decision, run=replace(decision.run, asked_at=now))  # from now on people can see it
        self.ports.store.save(
            decision.run,
            at=now,
            notes=notes,
            notifications=notifications_of(run, decision, now),
            spend=decision.spend,
            outcome=decision.outcome,
        )
        for note in notes:
            log.info("journal run=%s: %s", run.id, note)
        if decision.run.turns.ended > run.turns.ended:
            await self.ports.executor.release(turn_id_for(run, decision.run.turns.ended))
        if decision.run != run:
            self._on_change()


class PauseLog:
    """Logs each pause once when it begins and once when it is over."""

    def __init__(self) -> None:
        self._logged: frozenset[str] = frozenset()

    def log_changes(self, paused: Mapping[str, str]) -> None:
        """`paused`: reasons by `project NAME`, or `model` if all projects wait."""
        for name in sorted(paused.keys() - self._logged):
            if name == "model":
                log.warning("all projects paused reason=%s", paused[name])
            else:
                log.warning("project paused project=%s reason=%s", name.removeprefix("project "), paused[name])
        for name in sorted(self._logged - paused.keys()):
            if name == "model":
                log.info("all projects resumed")
            else:
                log.info("project resumed project=%s", name.removeprefix("project "))
        self._logged = frozenset(paused)

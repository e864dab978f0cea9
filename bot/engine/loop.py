"""The heartbeat: one direction, four words. Observe, decide, act, save."""

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from bot.claim import Tenure
from bot.domain.names import turn_id_for
from bot.domain.run import Phase, Run
from bot.domain.spend import Spent
from bot.engine import comment_ledger as ledger
from bot.engine.act import perform
from bot.engine.backoff import Patience
from bot.engine.bulletin import Bulletin
from bot.engine.circuit_breaker import notices
from bot.engine.decide import ask_for_help, decide, let_the_agent_see, park
from bot.engine.decision import Decision
from bot.engine.intake import Arrivals
from bot.engine.leases import Sharing
from bot.engine.messages import issue as messages
from bot.engine.messages.journal import history
from bot.engine.notifications import tidings_of
from bot.engine.observation import Observation
from bot.engine.observe import View, as_begun, has_ended, has_succeeded, look, observe
from bot.engine.schedule import Capacity, may_go_on, schedule
from bot.engine.withhold_secrets import without_leaks
from bot.errors import BotError, Elsewhere, MustRestart, NeedsHuman, NeedsTurn, Retryable
from bot.ports import Outside, Project
from bot.system.log_context import about

log = logging.getLogger(__name__)

TOLD_AT_ONCE = 5


class Engine:
    """A run's actions are serial, different runs act concurrently: a slow push holds up nobody else."""

    def __init__(
        self,
        outside: Outside,
        *,
        clock: Callable[[], float],
        capacity: Callable[[], Capacity],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.outside = outside
        self._clock = clock
        self._capacity = capacity
        self._on_change = on_change
        self._busy: dict[str, Run] = {}
        self._moving: set[asyncio.Task[None]] = set()
        self._bugs: dict[str, str] = {}
        self._bulletin = Bulletin()
        self._braked: frozenset[str] = frozenset()
        self._arrivals = Arrivals(outside, clock)
        self._sharing = Sharing(outside, clock)
        self._patience = Patience()
        self._told: dict[str, str] = {}
        """Why each run and project that was put off was, as it was told last."""
        self._over: frozenset[str] = frozenset()
        """Runs whose turn has ended and is to be taken in, at the last look."""
        self.away: Mapping[str, BotError] = {}
        """Projects that could not be looked at the last time, and why."""
        self._news = set(outside.projects)
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
    def out_of_sight(self) -> Collection[str]:
        """Projects that could not be looked at the last time, or never yet as ours: runs may live there unknown."""
        return {*self.away, *self._arrivals.doubted}

    def expect_news(self, projects: Collection[str] | None = None) -> None:
        """The next look asks the services of these projects, or of all; else it may go by what is known already."""
        self._news |= set(self.outside.projects if projects is None else projects)

    async def tick(self) -> None:
        """Look at the whole world once and set every run moving. Safe at any time, any number of times."""
        store = self.outside.store
        reports = await self.outside.executor.reports()
        before = store.active()
        self._over = frozenset(run.id for run in before if has_ended(run, reports))
        # A run whose last step ends while we look is older in our eyes than it is: it is judged at the next look.
        left_alone, lent = self._left_alone(before), await self._still_lent()
        # nothing is published on the strength of what was known when the turn began
        fresh = self._news | {run.project for run in before if run.id in self._over - left_alone}
        views = await self._welcomed(await self._look(before, fresh, lent), before)
        runs, spent, now = store.active(), store.spent_by_issue(), self._clock()
        looked = [
            (run, observe(run, views[run.project], reports, now=now, spent=spent.get(run.key, Spent())))
            for run in runs
            if run.project in views and run.id not in left_alone | self._arrivals.returned
        ]
        judged = {run.id for run, _ in looked}
        here = [run for run in runs if not self._sharing.is_lent(run.project)]
        others = [self._busy.get(run.id) or as_begun(run, reports) for run in here if run.id not in judged]
        policies = {name: project.policy for name, project in self.outside.projects.items()}
        endings = store.endings()
        slots = schedule(looked, others, policies, self._capacity(), endings)
        self._braked = frozenset(name for name, slot in slots.items() if slot.braked)
        self._bulletin.tell(notices(here, endings, now))
        for run, seen in looked:
            self._set_moving(run, replace(seen, slot=slots[run.id]))

    def _left_alone(self, runs: Sequence[Run]) -> frozenset[str]:
        """Those that are moving, or must not be tried yet."""
        now = self._clock()
        held = (run.id for run in runs if self._patience.holds(run.id, now))
        return frozenset((*self._busy, *held))

    async def _look(self, runs: Sequence[Run], fresh: Collection[str], lent: Collection[str]) -> Mapping[str, View]:
        self._news -= set(fresh)  # what is told of while we look may have come too late for it
        views, away = await look(self.outside, runs, fresh=fresh, but=lent)
        self._news |= set(fresh) & set(away)
        for name in views:
            self._patience.succeeded(name)
            if self._told.pop(name, ""):
                log.info("looking again project=%s", name)
        self.away = away
        for name, problem in away.items():
            self._put_off(name, problem, "looked away project")
        for run in runs:
            if run.project in away:
                self._patience.expect(run.id, None)
        return views

    async def _welcomed(self, views: Mapping[str, View], before: Sequence[Run]) -> Mapping[str, View]:
        """Those projects that are ours to act on, with a run for everything that is asked for there."""
        welcomed = {}
        self._arrivals.returned.clear()
        for name, view in views.items():
            project = self.outside.projects[name]
            try:
                if await self._is_ours(project, view, before):
                    await self._arrivals.welcome(project, view, before)
                    welcomed[name] = view
            except (Retryable, NeedsHuman) as problem:
                self._put_off(name, problem, "looked away project")
                self.away = {**self.away, name: problem}
        self._patience.expect("arrivals", self._arrivals.next_due())
        if self._arrivals.returned:
            self.expect_news(welcomed)
            self._on_change()
        return welcomed

    async def _still_lent(self) -> Collection[str]:
        """What another daemon has is not even looked at. What has come back is looked at anew, and doubted."""
        lent = set()
        for project in self._sharing.lent():
            try:
                tenure = await self._sharing.claim(project)
            except (Retryable, NeedsHuman) as problem:
                tenure = Tenure.OTHERS
                self._put_off(project.name, problem, "looked away project")
            if tenure is Tenure.OTHERS:
                lent.add(project.name)
            elif tenure is Tenure.REGAINED:
                self._doubt(project.name)
        return lent

    async def may_tend(self, project: Project) -> bool:
        """May what is kept there be written to now? Where no run needs the claim, it is asked for here."""
        if project.claim is None:
            return True
        has_runs = any(run.project == project.name for run in self.outside.store.active())
        if not has_runs and await self._sharing.claim(project) is Tenure.REGAINED:
            self._doubt(project.name)
        try:
            project.claim.check()
        except Elsewhere:
            return False
        return True

    async def _is_ours(self, project: Project, view: View, before: Sequence[Run]) -> bool:
        """Asked for only where there is something to do."""
        if not self._arrivals.is_needed(project, view, before):
            return True
        tenure = await self._sharing.claim(project)
        if tenure is Tenure.OURS:
            return True
        await self._leave_off(project)
        await self._sharing.end_turns(project, [run for run in before if run.id not in self._busy])
        if tenure is Tenure.REGAINED:  # what was seen just now may be older than what was done there
            self._doubt(project.name)
            self._on_change()
        return False

    def _doubt(self, project: str) -> None:
        self._arrivals.doubt(project)
        self.expect_news([project])

    async def _leave_off(self, project: Project) -> None:
        """Another daemon has it, or had: what was decided before that is not carried out any further."""
        await asyncio.sleep(0)  # what has not begun cannot tidy up after itself
        stale = {run.id for run in self._busy.values() if run.project == project.name}
        for step in self._moving:
            if step.get_name() in stale:
                step.cancel()

    def _put_off(self, name: str, problem: BotError, deed: str) -> None:
        """Told once, and not again because fewer seconds are left to wait."""
        self._patience.put_off(name, problem, self._clock())
        why = re.sub(r"\d+", "", str(problem))
        if self._told.get(name) != why:
            log.warning("%s=%s reason=%s", deed, name, problem)
        self._told[name] = why

    def is_due(self) -> bool:
        """Has the time come for something that nobody announces?"""
        return self._patience.is_over(self._clock())

    def may_go_on(self) -> bool:
        """Will anything move soon without anybody's help?"""
        now, everything = self._clock(), self.outside.store.active()
        runs = [run for run in everything if not self._sharing.is_lent(run.project)]
        moving = [run for run in runs if run.id not in self._braked]  # what trouble pauses, pauses for long
        hopeful = [run for run in moving if not (run.id in self._over and self._patience.is_spent(run.id, now))]
        return may_go_on(hopeful) or self._patience.is_worth_waiting(now)

    async def settled(self) -> None:
        """Until every action set moving so far has been carried out."""
        await self._idle.wait()

    async def park(self) -> None:
        """The daemon goes down and the executor has drained: keep every interrupted run's place."""
        await self.settled()
        store = self.outside.store
        reports = await self.outside.executor.reports()
        ours = [run for run in store.active() if not self._sharing.is_lent(run.project)]
        interrupted = [run for run in ours if run.phase is Phase.WORKING and run.ended < run.turn]
        if not interrupted:
            return
        fresh = {run.project for run in interrupted if has_succeeded(run, reports)}  # it may be published
        views, _ = await look(self.outside, store.active(), fresh=fresh)
        now, spent = self._clock(), store.spent_by_issue()
        for run in interrupted:
            if run.project in views:
                seen = observe(run, views[run.project], reports, now=now, spent=spent.get(run.key, Spent()))
                await self._step(run, seen, park(run, seen, self.outside.projects[run.project].policy))

    def let_go(self) -> None:
        """What is still being carried out is left as it is: it is done again after the restart."""
        for step in self._moving:
            step.cancel()

    def _set_moving(self, run: Run, seen: Observation) -> None:
        policy = self.outside.projects[run.project].policy
        with about(run), self._isolated(run):
            bug = self._bugs.pop(run.id, "")
            decision = ask_for_help(run, seen, policy, bug) if bug else decide(run, seen, policy)
            self._patience.expect(run.id, ledger.next_due(decision.run, seen, policy))
            if (decision.run != run or decision.actions) and not self._must_wait_to_tell(run, decision):
                self._busy[run.id] = decision.run
                self._idle.clear()
                step = self._steps.create_task(self._step(run, seen, decision), name=run.id)
                self._moving.add(step)
                step.add_done_callback(self._moving.discard)
            else:
                self._patience.succeeded(run.id)

    def _must_wait_to_tell(self, run: Run, decision: Decision) -> bool:
        """A long queue is told of a few at a time: services take one write after the other, and work comes first."""
        still_queued = run.phase is Phase.QUEUED and decision.run.phase is Phase.QUEUED
        return still_queued and sum(one.phase is Phase.QUEUED for one in self._busy.values()) >= TOLD_AT_ONCE

    async def _step(self, run: Run, seen: Observation, decision: Decision) -> None:
        try:
            with about(run), self._isolated(run):
                await self._carry_out_or_ask(run, seen, decision)
                self._patience.succeeded(run.id)
                self._told.pop(run.id, None)
        finally:
            self._busy.pop(run.id, None)
            if not self._busy:
                self._idle.set()

    @contextmanager
    def _isolated(self, run: Run) -> Iterator[None]:
        """One run's trouble never stops another. The only broad `except` in the engine; people are told next tick."""
        try:
            yield
        except (Retryable, NeedsHuman) as problem:
            self._put_off(run.id, problem, "postponed run")
        except MustRestart:
            raise
        except Exception as bug:
            log.exception("crashed run=%s", run.id)
            self._bugs[run.id] = messages.met_a_bug(type(bug).__name__)

    async def _carry_out_or_ask(self, run: Run, seen: Observation, decision: Decision) -> None:
        try:
            await self._carry_out(run, decision)
        except NeedsHuman as problem:
            project = self.outside.projects[run.project]
            turn_to = let_the_agent_see if isinstance(problem, NeedsTurn) else ask_for_help
            trouble = without_leaks(str(problem), project.leaks_in)
            await self._carry_out(run, turn_to(run, seen, project.policy, trouble))

    async def _carry_out(self, run: Run, decision: Decision) -> None:
        project = self.outside.projects[run.project]
        for action in decision.actions:
            await perform(action, decision.run, project, self.outside.executor)
        notes, now = history(run, decision), self._clock()
        spend, ending, tidings = decision.spend, decision.ending, tidings_of(run, decision, now)
        self.outside.store.save(decision.run, at=now, notes=notes, tidings=tidings, spend=spend, ending=ending)
        for note in notes:
            log.info("%s run=%s", note, run.id)
        if decision.run.ended > run.ended:
            await self.outside.executor.release(turn_id_for(run, decision.run.ended))
        if decision.run != run:
            self._on_change()

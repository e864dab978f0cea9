"""Leases: decides which projects this daemon may act on, where several daemons serve one repository.

Rule: a project that another daemon holds is left alone; a project that comes back is read again first.
"""

import logging
from collections.abc import Callable, Sequence

from bot.domain.run import Run
from bot.domain.run_names import turn_id_for
from bot.domain.turn import TurnReport
from bot.engine.finish_turn import record_spend
from bot.engine.observation import Observation
from bot.ports import LeaseState, Ports, Project

log = logging.getLogger(__name__)


class Leases:
    def __init__(self, outside: Ports, clock: Callable[[], float]) -> None:
        self._ports = outside
        self._clock = clock
        self._held_elsewhere: set[str] = set()
        self._paid: set[tuple[str, int]] = set()
        """Turns that were ended because another daemon took the lease, by run and number."""

    def is_held_elsewhere(self, project: str) -> bool:
        """Returns True if another daemon held the lease at the last check."""
        return project in self._held_elsewhere

    def held_elsewhere(self) -> Sequence[Project]:
        return [project for name, project in self._ports.projects.items() if name in self._held_elsewhere]

    async def acquire(self, project: Project, *, quiet: bool = False) -> LeaseState:
        if project.lease is None:
            return LeaseState.HELD
        state = await project.lease.ensure(quiet=quiet)
        if state is LeaseState.HELD_ELSEWHERE and project.name not in self._held_elsewhere:
            log.warning("lease held elsewhere project=%s", project.name)
            self._held_elsewhere.add(project.name)
        elif state is not LeaseState.HELD_ELSEWHERE:
            self._held_elsewhere.discard(project.name)
        return state

    async def end_turns(self, project: Project, runs: Sequence[Run]) -> None:
        """Ends the turns that run here for the project; they report nothing more. Their cost is still recorded.

        The reports stay, so that this daemon can read them when it gets the lease back, and nothing is charged twice.
        """
        executor = self._ports.executor
        for run in runs:
            if run.project == project.name:
                # the next tick, too: runs started while the lease was lost are not recorded yet
                for number in (run.turns.number, run.turns.number + 1):
                    await executor.cancel(turn_id_for(run, number))
                report = (await executor.reports()).get(turn_id_for(run, run.turns.number))
                if report and (run.id, run.turns.number) not in self._paid:
                    self._pay(run, report)

    def _pay(self, run: Run, report: TurnReport) -> None:
        """Records only the cost: the daemon that continues the run does not know of this turn."""
        seen = Observation(self._clock(), None, turn=report)
        self._ports.store.save(run, at=seen.now, spend=record_spend(run, seen).spend)
        self._paid.add((run.id, run.turns.number))

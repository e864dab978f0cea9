"""Which projects are ours to act on, where several daemons serve one repository.

Rule: what another one has is looked at and left alone; what comes back to us is doubted first.
"""

import logging
from collections.abc import Callable, Sequence

from bot.claim import Tenure
from bot.domain.names import turn_id_for
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine.finish_turn import account
from bot.engine.observation import Observation
from bot.ports import Outside, Project

log = logging.getLogger(__name__)


class Sharing:
    def __init__(self, outside: Outside, clock: Callable[[], float]) -> None:
        self._outside = outside
        self._clock = clock
        self._lent: set[str] = set()
        self._paid: set[tuple[str, int]] = set()
        """Turns that were ended for others, by run and number."""

    def is_lent(self, project: str) -> bool:
        """Another daemon has it, as far as we know."""
        return project in self._lent

    def lent(self) -> Sequence[Project]:
        return [project for name, project in self._outside.projects.items() if name in self._lent]

    async def claim(self, project: Project) -> Tenure:
        if project.claim is None:
            return Tenure.OURS
        tenure = await project.claim.ensure()
        if tenure is Tenure.OTHERS and project.name not in self._lent:
            log.warning("standing by project=%s: another treehand works on it", project.name)
            self._lent.add(project.name)
        elif tenure is not Tenure.OTHERS:
            self._lent.discard(project.name)
        return tenure

    async def end_turns(self, project: Project, runs: Sequence[Run]) -> None:
        """What is at work here for it is ended, and says nothing any more. Its bill is ours all the same.

        The reports stay: whoever goes on from there, if it is us, takes them in, and pays for nothing twice.
        """
        executor = self._outside.executor
        for run in runs:
            if run.project == project.name:
                # the next one, too: what was started as the claim was lost is not noted yet
                for number in (run.turn, run.turn + 1):
                    await executor.cancel(turn_id_for(run, number))
                report = (await executor.reports()).get(turn_id_for(run, run.turn))
                if report and (run.id, run.turn) not in self._paid:
                    self._pay(run, report)

    def _pay(self, run: Run, report: TurnReport) -> None:
        """In the ledger only: whoever goes on with the run does not know of it."""
        seen = Observation(self._clock(), None, turn=report)
        self._outside.store.save(run, at=seen.now, spend=account(run, seen).spend)
        self._paid.add((run.id, run.turn))

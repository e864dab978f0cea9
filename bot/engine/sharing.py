"""Which projects are ours to act on, where several daemons serve one repository.

Rule: what another one has is looked at and left alone; what comes back to us is doubted first.
"""

import logging
from collections.abc import Callable, Sequence

from bot.domain.claim import Tenure
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine.names import turn_id_for
from bot.engine.observation import Observation
from bot.engine.outcome import account
from bot.ports import Outside, Project

log = logging.getLogger(__name__)


class Sharing:
    def __init__(self, outside: Outside, clock: Callable[[], float]) -> None:
        self._outside = outside
        self._clock = clock
        self._lent: set[str] = set()

    def is_lent(self, project: str) -> bool:
        """Another daemon has it, as far as we know."""
        return project in self._lent

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
        """What is at work here for it is ended, and says nothing any more. Its bill is ours all the same."""
        executor = self._outside.executor
        reports = await executor.reports()
        for run in runs:
            turn = turn_id_for(run, run.turn)
            if run.project == project.name and turn in reports:
                await executor.cancel(turn)
                self._pay(run, (await executor.reports())[turn])
                await executor.release(turn)

    def _pay(self, run: Run, report: TurnReport) -> None:
        """In the ledger only: whoever goes on with the run does not know of it."""
        seen = Observation(self._clock(), None, turn=report)
        self._outside.store.save(run, at=seen.now, spend=account(run, seen).spend)

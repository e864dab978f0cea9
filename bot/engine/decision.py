"""Decision: the run after all its actions have succeeded, the actions, and the bill."""

from dataclasses import dataclass, replace
from typing import Self

from bot.domain.run import Run
from bot.domain.spend import Spend
from bot.domain.turn import TurnOutcome
from bot.engine.actions import Action


@dataclass(frozen=True, slots=True)
class Decision:
    run: Run
    actions: tuple[Action, ...] = ()
    spend: Spend | None = None
    outcome: TurnOutcome | None = None
    """Outcome of a turn with an agent."""

    def then(self, run: Run, *actions: Action) -> Self:
        """Returns the decision with another run and further actions."""
        return replace(self, run=run, actions=(*self.actions, *actions))

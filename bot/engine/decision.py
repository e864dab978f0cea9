"""What the run becomes once every action has succeeded."""

from dataclasses import dataclass, replace
from typing import Self

from bot.domain.ending import Ending
from bot.domain.run import Run
from bot.domain.spend import Spend
from bot.engine.actions import Action


@dataclass(frozen=True, slots=True)
class Decision:
    run: Run
    actions: tuple[Action, ...] = ()
    spend: Spend | None = None
    ending: Ending | None = None
    """Of a turn that an agent brought to an end, good or bad."""

    def then(self, run: Run, *actions: Action) -> Self:
        """The same decision, taken further."""
        return replace(self, run=run, actions=(*self.actions, *actions))

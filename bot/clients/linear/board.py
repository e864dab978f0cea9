"""Where an issue stands among its team's states, and where we may move it. Pure.

Rule: what a person has moved since work was asked for is that person's to move.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.clients.linear.facts import Standing, State
from bot.clients.linear.notebook import Move, Row
from bot.domain import issue

Choice: TypeAlias = bool | str
"""The name of a state; or whether it is to be found by its type."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Which moves are wanted."""

    started: Choice = True
    review: Choice = True
    completed: Choice = True
    back: bool = True


class Board:
    """The states of one team."""

    def __init__(self, team: Standing, moves: Moves) -> None:
        self._states = team.states
        self._us = team.us
        review = self._named(moves.review, "started", "review")
        started = self._named(moves.started, "started", besides=[review])
        completed = None if moves.completed is True and team.completes else self._named(moves.completed, "completed")
        self._back = moves.back
        found = {issue.Stage.STARTED: started, issue.Stage.REVIEW: review, issue.Stage.COMPLETED: completed}
        self._ours = {stage: state.id for stage, state in found.items() if state}
        self._review = self._named(True, "started", "review")  # noqa: FBT003 - as if it were to be found

    def standing(self, row: Row, request: str, asked_at: str, move: Move | None) -> issue.Standing:
        move = move if move and move.request == request else None
        stage, since = self._stage_of(row["state"]), moved_since(row, asked_at)
        if self._is_others(row, since, move):
            return issue.Standing(stage)
        back = {issue.Stage.BEFORE} if self._back and self.before(since, move) else set[issue.Stage]()
        return issue.Standing(stage, frozenset({*self._ours, *back}))

    def state_for(self, stage: issue.Stage) -> str:
        """Where an issue at this stage is moved to; empty: nowhere."""
        return self._ours.get(stage, "")

    def target(self, stage: issue.Stage, row: Row, asked_at: str, move: Move | None) -> str:
        """The state's id; empty: there is none."""
        if stage is issue.Stage.BEFORE:
            return self.before(moved_since(row, asked_at), move)
        return self.state_for(stage)

    def before(self, since: Sequence[Row], move: Move | None) -> str:
        """Where it was before we first moved it; empty: we never did."""
        known = {state.id for state in self._states}
        first = move.came_from if move else next((step["from_state"] for step in since if self._is_us(step)), "")
        return first if first in known else ""

    def _named(
        self, choice: Choice, kind: str, word: str = "", besides: Collection[State | None] = ()
    ) -> State | None:  # fmt: skip
        if isinstance(choice, str):
            return next((state for state in self._states if state.name.lower() == choice.lower()), None)
        found = [state for state in self._states if state.type == kind and word in state.name.lower()]
        fitting = [state for state in found if state not in besides]
        return next(iter(fitting), None) if choice else None

    def _stage_of(self, state: str) -> issue.Stage:
        for stage, one in self._ours.items():
            if one == state:
                return stage
        kind = next((one.type for one in self._states if one.id == state), "")
        if kind == "started":
            is_review = self._review is not None and self._review.id == state
            return issue.Stage.REVIEW if is_review else issue.Stage.STARTED
        return issue.Stage.COMPLETED if kind == "completed" else issue.Stage.BEFORE

    def _is_others(self, row: Row, since: Sequence[Row], move: Move | None) -> bool:
        """A person has moved it. Where our account is shared, we go by what we remember of ourselves."""
        if move is None:
            return any(step["who"]["id"] and not self._is_us(step) for step in since)
        if row["state"] == move.went_to or (row["state"] == move.prior and last_move(since) == move.after):
            return False
        told = bool(since) and since[-1]["to_state"] == row["state"]
        return not told or bool(since[-1]["who"]["id"])

    def _is_us(self, step: Row) -> bool:
        return bool(self._us) and step["who"]["id"] == self._us


def last_move(since: Sequence[Row]) -> str:
    """When it was; empty: there was none."""
    return str(since[-1]["at"]) if since else ""


def moved_since(row: Row, asked_at: str) -> Sequence[Row]:
    return [step for step in row["steps"] if step["to_state"] and step["at"] >= asked_at]

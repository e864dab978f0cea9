"""Where an issue stands among its team's states, and where we may move it. Pure.

Rule: what a person has moved since work was asked for is that person's to move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.domain import issue
from bot.services.linear.cache import Move, Row
from bot.services.linear.team_info import Standing, State

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
        self._team, self._back = team, moves.back
        self._review = self._chosen(moves.review or True, "started", "review")
        started = self._chosen(moves.started, "started")
        completed = None if moves.completed is True and team.completes else self._chosen(moves.completed, "completed")
        review = self._review if moves.review else None
        found = {issue.Stage.STARTED: started, issue.Stage.REVIEW: review, issue.Stage.COMPLETED: completed}
        self._ours = {stage: state.id for stage, state in found.items() if state}

    def standing(self, row: Row, given: Row, move: Move | None) -> issue.Standing:
        """`given`: the consent to it; `move`: what we remember of having moved it for that request."""
        stage, is_here = self._stage_of(row["state"]), row["in_team"] == self._team.id and not row["away"]
        if not is_here or self._is_others(row, moved_since(row, given), move):
            return issue.Standing(stage)
        back = {issue.Stage.BEFORE} if self.target(issue.Stage.BEFORE, row, given, move) else set[issue.Stage]()
        return issue.Standing(stage, frozenset({*self._ours, *back}))

    def state_for(self, stage: issue.Stage) -> str:
        """Where an issue at this stage is moved to; empty: nowhere."""
        return self._ours.get(stage, "")

    def target(self, stage: issue.Stage, row: Row, given: Row, move: Move | None) -> str:
        """The state's id; empty: there is none."""
        if stage is issue.Stage.BEFORE:
            return self.before(row, given, move) if self._back else ""
        return self.state_for(stage)

    def before(self, row: Row, given: Row, move: Move | None) -> str:
        """Where it was before we first moved it; empty: we never did, or there is no such state any more."""
        ours = (step["from_state"] for step in moved_since(row, given) if self._is_us(step))
        first = move.came_from if move else next(ours, "")
        return first if any(state.id == first for state in self._team.states) else ""

    def _chosen(self, choice: Choice, kind: str, word: str = "") -> State | None:
        """By its name, or the first of its type; what is for review is nothing else."""
        if isinstance(choice, str):
            return next((state for state in self._team.states if state.name.lower() == choice.lower()), None)
        found = (state for state in self._team.states if state.type == kind and word in state.name.lower())
        return next((state for state in found if word or state != self._review), None) if choice else None

    def _stage_of(self, state: str) -> issue.Stage:
        for stage, one in self._ours.items():
            if one == state:
                return stage
        kind = next((one.type for one in self._team.states if one.id == state), "")
        if kind == "started":
            is_review = self._review is not None and self._review.id == state
            return issue.Stage.REVIEW if is_review else issue.Stage.STARTED
        return issue.Stage.COMPLETED if kind == "completed" else issue.Stage.BEFORE

    def _is_others(self, row: Row, since: Sequence[Row], move: Move | None) -> bool:
        """A person has moved it; or something has, and nothing tells what."""
        if any(step["who"]["id"] and not self._is_us(step) for step in since):
            return True
        last = since[-1] if since else None
        if move is None:  # where our account is shared: we move to our own states only
            return any(step["who"]["id"] and step["to_state"] not in self._ours.values() for step in since)
        if row["state"] == move.went_to or (row["state"] == move.prior and last_move(since) == move.after):
            return False
        return last is None or last["to_state"] != row["state"] or bool(last["who"]["id"])

    def _is_us(self, step: Row) -> bool:
        return bool(self._team.us) and step["who"]["id"] == self._team.us


def last_move(since: Sequence[Row]) -> str:
    """When it was; empty: there was none."""
    return str(since[-1]["at"]) if since else ""


def moved_since(row: Row, given: Row) -> Sequence[Row]:
    """After work was asked for. Linear may tell of both in one entry: what it was moved to by then is where it was."""
    asked = given["at"]
    return [
        step
        for step in row["steps"]
        if step["to_state"]
        and step["at"] > asked
        and not (step["began"] <= asked and step["to_state"] == given["state"])
    ]

"""Workflow states: maps an issue's state to our stages, and tells to which states we may move it. Pure.

Rule: after a person has moved an issue since work was requested, we do not move it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.domain import issue
from bot.services.linear.cache import RecordedMove, Row
from bot.services.linear.team_info import TeamStatus, WorkflowState

Choice: TypeAlias = bool | str
"""Name of a state; True: find it by its type; False: no move."""


@dataclass(frozen=True, slots=True)
class WantedMoves:
    """Moves that the settings ask for."""

    started: Choice = True
    review: Choice = True
    completed: Choice = True
    back: bool = True


class WorkflowStates:
    def __init__(self, team: TeamStatus, moves: WantedMoves) -> None:
        self._team, self._back = team, moves.back
        self._review = self._chosen(moves.review or True, "started", "review")
        started = self._chosen(moves.started, "started")
        completed = None if moves.completed is True and team.completes else self._chosen(moves.completed, "completed")
        review = self._review if moves.review else None
        found = {
            issue.IssueStage.STARTED: started,
            issue.IssueStage.REVIEW: review,
            issue.IssueStage.COMPLETED: completed,
        }
        self._ours = {stage: state.id for stage, state in found.items() if state}

    def issue_state(self, row: Row, authorization: Row, move: RecordedMove | None) -> issue.IssueState:
        """`move`: our last move of the issue for this request."""
        stage, is_here = self._stage_of(row["state"]), row["in_team"] == self._team.id and not row["away"]
        if not is_here or self._was_moved_by_others(row, moved_since(row, authorization), move):
            return issue.IssueState(stage)
        back = (
            {issue.IssueStage.ORIGINAL}
            if self.target(issue.IssueStage.ORIGINAL, row, authorization, move)
            else set[issue.IssueStage]()
        )
        return issue.IssueState(stage, frozenset({*self._ours, *back}))

    def state_for(self, stage: issue.IssueStage) -> str:
        """Id of the state for this stage; empty if there is none."""
        return self._ours.get(stage, "")

    def target(self, stage: issue.IssueStage, row: Row, authorization: Row, move: RecordedMove | None) -> str:
        """Id of the state to move to; empty if there is none."""
        if stage is issue.IssueStage.ORIGINAL:
            return self.before(row, authorization, move) if self._back else ""
        return self.state_for(stage)

    def before(self, row: Row, authorization: Row, move: RecordedMove | None) -> str:
        """State before our first move; empty if we never moved it, or if that state is gone."""
        ours = (step["from_state"] for step in moved_since(row, authorization) if self._is_us(step))
        first = move.came_from if move else next(ours, "")
        return first if any(state.id == first for state in self._team.states) else ""

    def _chosen(self, choice: Choice, kind: str, word: str = "") -> WorkflowState | None:
        """Finds a state by name, or the first of its type. The state for review serves no other stage."""
        if isinstance(choice, str):
            return next((state for state in self._team.states if state.name.lower() == choice.lower()), None)
        found = (state for state in self._team.states if state.type == kind and word in state.name.lower())
        return next((state for state in found if word or state != self._review), None) if choice else None

    def _stage_of(self, state: str) -> issue.IssueStage:
        for stage, own in self._ours.items():
            if own == state:
                return stage
        kind = next((known.type for known in self._team.states if known.id == state), "")
        if kind == "started":
            is_review = self._review is not None and self._review.id == state
            return issue.IssueStage.REVIEW if is_review else issue.IssueStage.STARTED
        return issue.IssueStage.COMPLETED if kind == "completed" else issue.IssueStage.ORIGINAL

    def _was_moved_by_others(self, row: Row, since: Sequence[Row], move: RecordedMove | None) -> bool:
        """True as well if it was moved and the history does not say by whom."""
        if any(step["who"]["id"] and not self._is_us(step) for step in since):
            return True
        last = since[-1] if since else None
        if move is None:  # with a shared account: we move to our own states only
            return any(step["who"]["id"] and step["to_state"] not in self._ours.values() for step in since)
        if row["state"] == move.went_to or (row["state"] == move.prior and last_move(since) == move.after):
            return False
        return last is None or last["to_state"] != row["state"] or bool(last["who"]["id"])

    def _is_us(self, step: Row) -> bool:
        return bool(self._team.us) and step["who"]["id"] == self._team.us


def last_move(since: Sequence[Row]) -> str:
    """Time of the last move; empty if there was none."""
    return str(since[-1]["at"]) if since else ""


def moved_since(row: Row, authorization: Row) -> Sequence[Row]:
    """Moves after work was requested. Linear may put both into one entry: then its state is the one at the request."""
    requested_at = authorization["at"]
    return [
        step
        for step in row["steps"]
        if step["to_state"]
        and step["at"] > requested_at
        and not (step["began"] <= requested_at and step["to_state"] == authorization["state"])
    ]

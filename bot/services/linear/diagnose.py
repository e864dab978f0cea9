"""Is a team ready for us, and if not, what is missing: for people, before anything is started."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.domain.issue import Stage
from bot.errors import BotError
from bot.services.linear import graphql_queries as documents
from bot.services.linear.parse import expected_shapes
from bot.services.linear.project_issues import Scope
from bot.services.linear.workflow_states import Board, Moves


class Finding(NamedTuple):
    name: str
    ok: bool
    detail: str


_MOVED = {
    Stage.STARTED: "when work begins",
    Stage.REVIEW: "when a pull request is open",
    Stage.COMPLETED: "when merged",
}
_KEYS = {Stage.STARTED: "started", Stage.REVIEW: "review", Stage.COMPLETED: "completed"}


class Inspecting:
    def __init__(self, scope: Scope, moves: Moves) -> None:
        self._scope, self._moves = scope, moves
        self._team = scope.team

    async def inspect(self, names: Sequence[str], *, fix: bool) -> list[Finding]:
        """Each of them ok, or what is wrong and how to mend it."""
        try:
            account = await self._account()
            await self._team.facts.refresh()
        except BotError as problem:  # the rest would only say the same
            return [Finding("linear", ok=False, detail=str(problem))]
        team = self._team.facts.standing
        found = [Finding("linear", ok=True, detail=f"{account}; team {team.key} ({team.name})"), *self._states()]
        try:
            found.append(await self._labels(names, fix=fix))
        except BotError as problem:
            found.append(Finding("labels", ok=False, detail=str(problem)))
        return [*found, self._limits()]

    async def _account(self) -> str:
        with expected_shapes():
            told = await self._team.service.query(documents.VIEWER)
            viewer, place = told["viewer"], told["organization"]
            kind = "an application" if viewer["app"] else "a person's key"
            return f"{viewer['displayName'] or viewer['name']} in {place['name']} ({kind})"

    def _states(self) -> list[Finding]:
        team = self._team.facts.standing
        board, named = Board(team, self._moves), {state.id: state.name for state in team.states}
        words = []
        for stage, when in _MOVED.items():
            choice, state = getattr(self._moves, _KEYS[stage]), board.state_for(stage)
            if isinstance(choice, str) and not state:
                known = ", ".join(state.name for state in team.states)
                wrong = f"linear.{_KEYS[stage]} = {choice!r} is no state of team {team.key}. It has: {known}."
                return [Finding("states", ok=False, detail=wrong)]
            by_itself = stage is Stage.COMPLETED and choice is True and team.completes
            left = "left to Linear's integration" if by_itself else "not moved"
            words.append(f"{when}: {named[state] if state else left}")
        return [Finding("states", ok=True, detail="; ".join(words))]

    async def _labels(self, names: Sequence[str], *, fix: bool) -> Finding:
        with expected_shapes():
            known = await self._scope.labels.look(names)
            missing = [name for name in names if name.lower() not in known]
            if missing and fix:
                await self._scope.labels.ids_of(missing)
                return Finding("labels", ok=True, detail=f"made: {', '.join(missing)}")
        if missing:
            listed = ", ".join(missing)
            return Finding("labels", ok=False, detail=f"missing: {listed}. `treehand check --fix` makes them.")
        return Finding("labels", ok=True, detail=f"all {len(names)} are there")

    def _limits(self) -> Finding:
        """As the last answer told."""
        left = (f"{left:,.0f} of {limit:,.0f} {name}" for name, (left, limit) in self._team.service.left().items())
        return Finding("limits", ok=True, detail=f"left for this hour: {', '.join(left)}")

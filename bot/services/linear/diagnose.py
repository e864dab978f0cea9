"""Diagnoses a team for `treehand check`: account, workflow states, labels, rate limits."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.domain.issue import IssueStage
from bot.errors import BotError
from bot.services.linear import graphql_queries
from bot.services.linear.parse import expected_shapes
from bot.services.linear.project_issues import ProjectIssues
from bot.services.linear.workflow_states import WantedMoves, WorkflowStates


class Finding(NamedTuple):
    name: str
    ok: bool
    detail: str


_MOVES = {
    IssueStage.STARTED: "when work begins",
    IssueStage.REVIEW: "when a pull request is open",
    IssueStage.COMPLETED: "when merged",
}
_KEYS = {IssueStage.STARTED: "started", IssueStage.REVIEW: "review", IssueStage.COMPLETED: "completed"}


class SetupCheck:
    def __init__(self, issues: ProjectIssues, moves: WantedMoves) -> None:
        self._issues, self._moves = issues, moves
        self._team = issues.team

    async def inspect(self, names: Sequence[str], *, fix: bool) -> list[Finding]:
        """Findings that are ok, or say what is wrong and how to fix it."""
        try:
            account = await self._account()
            await self._team.info.refresh()
        except BotError as problem:  # every other request would fail in the same way
            return [Finding("linear", ok=False, detail=str(problem))]
        team = self._team.info.status
        findings = [Finding("linear", ok=True, detail=f"{account}; team {team.key} ({team.name})"), *self._states()]
        try:
            findings.append(await self._labels(names, fix=fix))
        except BotError as problem:
            findings.append(Finding("labels", ok=False, detail=str(problem)))
        return [*findings, self._limits()]

    async def _account(self) -> str:
        with expected_shapes():
            answer = await self._team.client.query(graphql_queries.VIEWER)
            viewer, workspace = answer["viewer"], answer["organization"]
            kind = "an application" if viewer["app"] else "a person's key"
            return f"{viewer['displayName'] or viewer['name']} in {workspace['name']} ({kind})"

    def _states(self) -> list[Finding]:
        team = self._team.info.status
        states, names = WorkflowStates(team, self._moves), {state.id: state.name for state in team.states}
        words = []
        for stage, when in _MOVES.items():
            choice, state = getattr(self._moves, _KEYS[stage]), states.state_for(stage)
            if isinstance(choice, str) and not state:
                known = ", ".join(state.name for state in team.states)
                wrong = f"linear.{_KEYS[stage]} = {choice!r} is not a state of team {team.key}. Its states: {known}."
                return [Finding("states", ok=False, detail=wrong)]
            by_integration = stage is IssueStage.COMPLETED and choice is True and team.completes
            left = "set by Linear's integration" if by_integration else "not moved"
            words.append(f"{when}: {names[state] if state else left}")
        return [Finding("states", ok=True, detail="; ".join(words))]

    async def _labels(self, names: Sequence[str], *, fix: bool) -> Finding:
        with expected_shapes():
            known = await self._issues.labels.find(names, self._issues.team.info.status.id)
            missing = [name for name in names if name.lower() not in known]
            if missing and fix:
                await self._issues.labels.ids_of(missing, self._issues.team.info.status.id)
                return Finding("labels", ok=True, detail=f"created: {', '.join(missing)}")
        if missing:
            listed = ", ".join(missing)
            return Finding("labels", ok=False, detail=f"missing: {listed}. `treehand check --fix` creates them.")
        return Finding("labels", ok=True, detail=f"all {len(names)} exist")

    def _limits(self) -> Finding:
        """As the last answer stated."""
        left = (f"{left:,.0f} of {limit:,.0f} {name}" for name, (left, limit) in self._team.client.remaining().items())
        return Finding("limits", ok=True, detail=f"left this hour: {', '.join(left)}")

"""The eyes of the bot: gathers one Observation per run from one snapshot per project. Looks, never judges.

It sees what a person sees: whatever is hidden in what others wrote is left out here, and reaches no prompt.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.issue import Issue
from bot.domain.issue_directives import clauses_of
from bot.domain.names import branch_for, turn_id_for
from bot.domain.read_untrusted import read, read_comment, read_issue, read_pull_request
from bot.domain.run import Phase, Run
from bot.domain.spend import Spent
from bot.domain.turn import TurnReport, TurnState
from bot.engine.authorization import words_of, words_that_count
from bot.engine.observation import Observation
from bot.errors import BotError, NeedsHuman, Retryable
from bot.ports import ForgeView, Outside, Project, TrackerView

_UNKNOWN_TURN = TurnReport(TurnState.LOST)


@dataclass(frozen=True, slots=True)
class View:
    """One project's tracker and forge at one moment."""

    tracker: TrackerView
    forge: ForgeView


async def look(
    outside: Outside, runs: Sequence[Run], *, fresh: Collection[str], but: Collection[str] = ()
) -> tuple[Mapping[str, View], Mapping[str, BotError]]:
    """What every project shows now, `but` some; those in `fresh` are asked, the others may go by what they know.

    One that does not answer is left out, with the reason: an outage changes nothing.
    """
    projects = [project for name, project in outside.projects.items() if name not in but]
    found = await asyncio.gather(*(_look(project, runs, fresh=project.name in fresh) for project in projects))
    looks = {project.name: look for project, look in zip(projects, found, strict=True)}
    views = {name: look for name, look in looks.items() if isinstance(look, View)}
    return views, {name: look for name, look in looks.items() if not isinstance(look, View)}


async def _look(project: Project, runs: Sequence[Run], *, fresh: bool) -> View | BotError:
    ours = [run for run in runs if run.project == project.name]
    keys = [run.key for run in ours]
    try:
        tracker = await project.tracker.look(keys, fresh=fresh)
        if named := _named_in(tracker, ours):  # what has to come first may be no work of ours
            tracker = await project.tracker.look([*keys, *named], fresh=fresh)
        # afterwards: a merge closes its issue, which would look as if somebody had closed that instead
        forge = await project.forge.look([branch_for(run) for run in ours], fresh=fresh)
    except (Retryable, NeedsHuman) as problem:
        return problem
    return View(tracker, forge)


def _named_in(tracker: TrackerView, runs: Sequence[Run]) -> Collection[str]:
    """What must come before those that have not begun, as far as it was not seen yet.

    Each of them may cost a request in every look, so strangers name none.
    """
    known = {run.key: run for run in runs}
    waiting = (one for one in tracker.issues.values() if one.open and _has_not_begun(known.get(one.key)))
    texts = ((one.key, words_that_count(known.get(one.key), one)) for one in waiting)
    named = {name for key, text in texts for name in clauses_of(key, read(text).text).blocked_by}
    return sorted(named - tracker.issues.keys())


def _has_not_begun(run: Run | None) -> bool:
    return run is None or run.phase is Phase.QUEUED


def _with_blockers(run: Run, issue: Issue, tracker: TrackerView) -> Issue:
    """Relations of the tracker's own, and those that its text names. What is not there keeps nobody waiting."""
    named = clauses_of(issue.key, words_of(run, issue).body).blocked_by
    still = (key for key in named if (found := tracker.issues.get(key)) and found.open)
    return replace(issue, blocked_by=tuple(dict.fromkeys((*issue.blocked_by, *still))))


def observe(run: Run, view: View, reports: Mapping[str, TurnReport], *, now: float, spent: Spent) -> Observation:
    branch = branch_for(run)
    issue, pull = view.tracker.issues.get(run.key), view.forge.pulls.get(branch)
    said = (*view.tracker.comments.get(run.key, ()), *view.forge.comments.get(branch, ()))
    request, hidden = read_issue(issue) if issue else (None, 0)
    read = [read_comment(comment) for comment in sorted(said, key=lambda comment: comment.at)]
    return Observation(
        now=now,
        issue=_with_blockers(run, request, view.tracker) if request else None,
        comments=tuple(comment for comment, _ in read),
        pull_request=read_pull_request(pull) if pull else None,
        turn=reports.get(turn_id_for(run, run.turn), _UNKNOWN_TURN),
        begun=reports.get(turn_id_for(run, run.turn + 1)) if run.ended == run.turn else None,
        spent=spent,
        hidden=hidden + sum(unseen for comment, unseen in read if comment.author.trusted),
    )


def as_begun(run: Run, reports: Mapping[str, TurnReport]) -> Run:
    """Its agent is at work already, though that could not be noted yet."""
    report = reports.get(turn_id_for(run, run.turn + 1))
    is_begun = run.ended == run.turn and report is not None and report.state is TurnState.RUNNING
    return replace(run, phase=Phase.WORKING, turn=run.turn + 1) if is_begun else run


def has_ended(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    """Is there a turn of it to be taken in?"""
    if run.phase is not Phase.WORKING or run.ended == run.turn:
        return False
    report = reports.get(turn_id_for(run, run.turn))
    return report is None or report.state is not TurnState.RUNNING


def has_succeeded(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    report = reports.get(turn_id_for(run, run.turn))
    return report is not None and report.state is TurnState.SUCCEEDED

"""Builds one observation per run from one snapshot per project. It never judges.

Rule: text that is hidden from people is removed here, and reaches no prompt.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.branch_name import branch_for
from bot.domain.comment import Comment, CommentOutcome
from bot.domain.issue import Issue
from bot.domain.issue_directives import parse_directives
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run
from bot.domain.run_names import turn_id_for
from bot.domain.spend import TotalSpend
from bot.domain.turn import TurnReport, TurnState
from bot.domain.visible_content import read_comment, read_issue, read_pull_request, unread_comment
from bot.engine.authorization import effective_issue, effective_text, with_accepted
from bot.engine.observation import Observation
from bot.errors import BotError, NeedsHuman, Retryable
from bot.ports import ForgeView, Poll, Ports, Project, TrackerView
from bot.text.read_untrusted import read

_UNKNOWN_TURN = TurnReport(TurnState.LOST)


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """Tracker and forge of one project at one moment. The visible text of both is read, outside of the event loop."""

    tracker: TrackerView
    forge: ForgeView
    issues: Mapping[str, tuple[Issue, int]]
    """Keyed by key: the issue with its visible text, and the number of hidden passages."""
    comments: Mapping[str, tuple[tuple[Comment, int], ...]]
    """Keyed by key or branch: comments with their visible text; those of people without permission are not read."""
    pulls: Mapping[str, PullRequest]
    """Keyed by branch."""


async def take_snapshots(
    outside: Ports, runs: Sequence[Run], *, fresh: Collection[str], but: Collection[str] = ()
) -> tuple[Mapping[str, ProjectSnapshot], Mapping[str, BotError]]:
    """Returns the snapshots of all projects `but` some; those in `fresh` are read again, the others may use the cache.

    A project that does not answer is left out, with the reason: an outage changes nothing.
    """
    projects = [project for name, project in outside.projects.items() if name not in but]
    polls = {True: Poll(), False: Poll(fresh=False)}  # for all projects, because some share a team
    found = await asyncio.gather(*(_take_snapshot(one, runs, polls[one.name in fresh]) for one in projects))
    looks = {project.name: look for project, look in zip(projects, found, strict=True)}
    views = {name: look for name, look in looks.items() if isinstance(look, ProjectSnapshot)}
    return views, {name: look for name, look in looks.items() if not isinstance(look, ProjectSnapshot)}


async def _take_snapshot(project: Project, runs: Sequence[Run], poll: Poll) -> ProjectSnapshot | BotError:
    ours = [run for run in runs if run.project == project.name]
    keys = [run.key for run in ours]
    try:
        tracker = await project.tracker.snapshot(keys, poll=poll)
        if named := await asyncio.to_thread(_named_in, tracker, ours):  # a blocking issue may have no run
            tracker = await project.tracker.snapshot([*keys, *named], poll=poll)
        # after the forge: a merge closes its issue, which would look as if a person had closed the issue
        forge = await project.forge.snapshot([branch_for(run) for run in ours], poll=poll)
    except (Retryable, NeedsHuman) as problem:
        return problem
    return await asyncio.to_thread(
        read_texts, tracker, forge
    )  # text of people without permission must not delay the daemon


def read_texts(tracker: TrackerView, forge: ForgeView) -> ProjectSnapshot:
    return ProjectSnapshot(
        tracker,
        forge,
        {key: read_issue(issue) for key, issue in tracker.issues.items()},
        {place: _read_comments(found) for view in (tracker, forge) for place, found in view.comments.items()},
        {branch: read_pull_request(pull) for branch, pull in forge.pulls.items()},
    )


def _read_comments(comments: Sequence[Comment]) -> tuple[tuple[Comment, int], ...]:
    return tuple(
        read_comment(one) if one.author.trusted or one.edited_by else (unread_comment(one), 0) for one in comments
    )


def _named_in(tracker: TrackerView, runs: Sequence[Run]) -> Collection[str]:
    """Returns the blocking issues of queued runs that no snapshot contains.

    Each of them may cost a request in every poll, so text of people without permission names none.
    """
    known = {run.key: run for run in runs}
    waiting = (one for one in tracker.issues.values() if one.open and _has_not_begun(known.get(one.key)))
    texts = ((one.key, effective_text(known.get(one.key), one)) for one in waiting)
    named = {name for key, text in texts for name in parse_directives(key, read(text).text).blocked_by}
    return sorted(named - tracker.issues.keys())


def _has_not_begun(run: Run | None) -> bool:
    return run is None or run.phase is Phase.QUEUED


def _with_blockers(run: Run, issue: Issue, tracker: TrackerView) -> Issue:
    """Adds open issues that the text names to the tracker's relations; issues that do not exist block nothing."""
    named = parse_directives(issue.key, effective_issue(run, issue).body).blocked_by
    still = (key for key in named if (found := tracker.issues.get(key)) and found.open)
    return replace(issue, blocked_by=tuple(dict.fromkeys((*issue.blocked_by, *still))))


def _with_full_texts(run: Run, view: ProjectSnapshot, comments: Sequence[Comment]) -> tuple[Comment, ...]:
    """Reads comments in full that an agent has got or a person approved, even if the author lost the permission."""
    raw = (*view.tracker.comments.get(run.key, ()), *view.forge.comments.get(branch_for(run), ()))
    ours = {row.comment for row in run.comments if row.outcome is CommentOutcome.PENDING}
    ours |= {accepted.partition(":")[0] for accepted in run.consent.accepted_comments}
    full = {one.id: read_comment(one)[0] for one in raw if one.id in ours and not one.author.trusted}
    read = sorted((full.get(comment.id, comment) for comment in comments), key=lambda comment: comment.at)
    return with_accepted(run, read)


def observe(
    run: Run, view: ProjectSnapshot, reports: Mapping[str, TurnReport], *, now: float, spent: TotalSpend
) -> Observation:
    branch = branch_for(run)
    request, hidden = view.issues.get(run.key, (None, 0))
    comments = (*view.comments.get(run.key, ()), *view.comments.get(branch, ()))
    return Observation(
        now=now,
        issue=_with_blockers(run, request, view.tracker) if request else None,
        comments=_with_full_texts(run, view, [comment for comment, _ in comments]),
        pull_request=view.pulls.get(branch),
        turn=reports.get(turn_id_for(run, run.turns.number), _UNKNOWN_TURN),
        next_turn=reports.get(turn_id_for(run, run.turns.number + 1)) if run.turns.ended == run.turns.number else None,
        spent=spent,
        hidden_passages=hidden + sum(unseen for _, unseen in comments),
    )


def with_started_turn(run: Run, reports: Mapping[str, TurnReport]) -> Run:
    """Returns the run as working if its turn was started and not saved yet."""
    report = reports.get(turn_id_for(run, run.turns.number + 1))
    is_begun = run.turns.ended == run.turns.number and report is not None and report.state is TurnState.RUNNING
    return replace(run, phase=Phase.WORKING, turns=replace(run.turns, number=run.turns.number + 1)) if is_begun else run


def has_ended(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    """Returns True if a turn has ended that the run has not recorded."""
    if not run.has_turn_in_flight:
        return False
    report = reports.get(turn_id_for(run, run.turns.number))
    return report is None or report.state is not TurnState.RUNNING


def has_succeeded(run: Run, reports: Mapping[str, TurnReport]) -> bool:
    report = reports.get(turn_id_for(run, run.turns.number))
    return report is not None and report.state is TurnState.SUCCEEDED

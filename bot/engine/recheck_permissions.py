"""Permissions at the moment of use: before an action, asks the services again for the permissions it relies on.

Rule: nothing begins, spends, tells an agent or publishes because of a permission that was read earlier. A decision that
relies on nobody, such as every decision of an idle tick, asks for nothing.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from bot.domain.branch_name import branch_for
from bot.domain.comment import Comment, CommentOutcome, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.run import Run
from bot.domain.visible_content import read_comment, read_issue
from bot.engine import authorization, comment_ledger
from bot.engine.actions import PushBranch, StartTurn
from bot.engine.decision import Decision
from bot.engine.observation import Observation
from bot.errors import Retryable
from bot.ports import Project

REQUEST = "request"
"""Stands for the issue: its requester, and the editors of its text."""

_USED = frozenset(CommentOutcome) - {CommentOutcome.NOT_TRUSTED, CommentOutcome.DECLINED}

Judge = Callable[[Observation], Decision]


async def confirm(run: Run, seen: Observation, project: Project, judge: Judge) -> tuple[Observation, Decision]:
    """Returns the observation and the decision under current permissions. Raises Retryable if they are unknown."""
    decision, judged = judge(seen), frozenset[str]()
    while relied := relied_on(run, seen, decision) - judged:
        seen = await _with_present_rights(run, seen, project, relied)
        judged |= relied
        decision = judge(seen)
    return seen, decision


def relied_on(run: Run, seen: Observation, decision: Decision) -> frozenset[str]:
    """Ids of the comments that the decision uses, and `REQUEST` if it begins or first publishes what was requested."""
    before = set(run.comments)
    used = {row.comment for row in decision.run.comments if row not in before and row.outcome in _USED}
    begins = any(isinstance(action, StartTurn) for action in decision.actions)
    publishes = any(isinstance(action, PushBranch) for action in decision.actions)
    if begins:
        used |= {name for comment in seen.comments for name in comment_ledger.ids_of(comment)} - _closed(run)
    relied = {comment.id for comment in _trusted(seen) if used.intersection(comment_ledger.ids_of(comment))}
    if begins or publishes:
        approvals = {run.consent.approved_in, *(one.comment for one in run.hold.allowed)}
        relied |= {comment.id for comment in _trusted(seen) if comment.id in approvals}
    if (begins and not _has_worked(run, seen)) or (publishes and seen.pull_request is None):
        relied.add(REQUEST)
    return frozenset(relied)


def _trusted(seen: Observation) -> Collection[Comment]:
    return [comment for comment in seen.comments if comment.author.trusted]


def _closed(run: Run) -> set[str]:
    """Comments that no turn gets any more. Text in the same comment as a command goes to the next turn."""
    return {
        row.comment
        for row in run.comments
        if row.outcome is not CommentOutcome.PENDING
        and not (row.outcome is CommentOutcome.COMMAND and row.turn == run.turns.number)
    }


def _has_worked(run: Run, seen: Observation) -> bool:
    return bool(run.turns.number) and seen.issue is not None and seen.issue.request in {"", run.request}


async def _with_present_rights(run: Run, seen: Observation, project: Project, relied: Collection[str]) -> Observation:
    on_issue, on_pull = (_ids(seen, place, relied) for place in CommentPlace)
    found: list[Comment] = []
    issue = seen.issue
    if on_issue or REQUEST in relied:
        view = await project.tracker.judge_again(run.key, on_issue, request=REQUEST in relied)
        found += view.comments.get(run.key, ())
        issue = _judged_issue(issue, view.issues.get(run.key)) if REQUEST in relied else issue
    if on_pull:
        branch = branch_for(run)
        found += (await project.forge.judge_again(branch, on_pull)).comments.get(branch, ())
    return replace(seen, issue=issue, comments=_judged_comments(run, seen, relied, found))


def _ids(seen: Observation, place: CommentPlace, relied: Collection[str]) -> Collection[str]:
    return [comment.id for comment in seen.comments if comment.place is place and comment.id in relied]


def _judged_issue(before: Issue | None, now: Issue | None) -> Issue:
    if before is None or now is None:
        raise Retryable("The issue cannot be read at the moment.")
    return replace(read_issue(now)[0], blocked_by=before.blocked_by)


def _judged_comments(
    run: Run, seen: Observation, relied: Collection[str], found: Collection[Comment]
) -> tuple[Comment, ...]:
    """A deleted comment counts as untrusted."""
    now = {comment.id: read_comment(comment)[0] for comment in found}
    judged = (
        now.get(comment.id, replace(comment, author=Person(comment.author.name))) if comment.id in relied else comment
        for comment in seen.comments
    )
    return authorization.with_accepted(run, tuple(judged))

"""Keeps track of refused labels, comments, reactions, states and links, and tries them again later. Pure.

Rule: showing a phase is no condition of being in it, so their refusal stops nothing; nor does that of removing a merged
branch. The refusal of a push or a pull request becomes a question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.domain.comment import CommentPlace
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, Run, RunStatus, Unshown
from bot.domain.run_names import PROGRESS_SLUG
from bot.engine.actions import Action, LinkPullRequest, MoveIssue, PostComment, React, RemoveBranch, ShowLabels
from bot.engine.decision import Decision
from bot.engine.messages import unshown_comment
from bot.engine.messages.unshown_comment import BRANCH, LABELS, LINK, PROGRESS, REPORTED_AFTER, STATE
from bot.engine.observation import Observation

_FIRST_SECONDS, _LONGEST_SECONDS = 15.0, 3600.0
_MOST_TIMES = 12
"""A comment, and the end of a run, are given up after so many refusals: about eight hours."""

ShowingAction: TypeAlias = ShowLabels | MoveIssue | LinkPullRequest | PostComment | React | RemoveBranch


@dataclass(frozen=True, slots=True)
class NotShown:
    action: ShowingAction
    why: str


def hold(decision: Decision, seen: Observation, *, before: RunStatus) -> Decision:
    """Leaves out what was refused and is not due yet, and adds refused comments that are due.

    `before`: the progress comment as it was last written.
    """
    run = decision.run
    if not run.unshown:
        return decision
    waiting = {one.effect for one in run.unshown if seen.now < one.retry_at}
    wanted = {name: action for action in decision.actions if (name := effect_of(action))}
    kept = tuple(_with_text(one, wanted.get(one.effect)) for one in run.unshown if one.slug or one.effect in wanted)
    due = (_comment(one) for one in kept if one.slug and one.effect not in {*waiting, *wanted})
    actions = (*(action for action in decision.actions if effect_of(action) not in waiting), *due)
    status = before if PROGRESS in waiting else run.status
    return _announced(replace(decision, run=replace(run, unshown=kept, status=status), actions=actions), seen)


def record(decision: Decision, refused: Sequence[NotShown], now: float, *, before: RunStatus) -> Decision:
    """Returns the decision with what was refused of it."""
    run = decision.run
    if not (refused or run.unshown):
        return decision
    tried = {effect_of(action) for action in decision.actions}
    known = {one.effect: one for one in run.unshown}
    new = [_refused(known.get(effect_of(one.action)), one, now) for one in refused]
    left = [one for one in new if one.times < _MOST_TIMES or not (one.slug or run.phase is Phase.DONE)]
    status = before if any(one.effect == PROGRESS for one in new) else run.status
    unshown = (*(one for one in run.unshown if one.effect not in tried), *left)
    return replace(decision, run=replace(run, unshown=unshown, status=status))


def show_end_again(run: Run) -> Run:
    """Returns the run with its labels to be removed once more: its issue still has one."""
    return replace(run, unshown=(Unshown(LABELS, "The labels were left.", retry_at=0.0),))


def only_unshown(decision: Decision, run: Run) -> Decision:
    """Leaves of a decision about a run that is over only what was refused at its end."""
    left = {one.effect for one in run.unshown}
    return replace(decision, actions=tuple(action for action in decision.actions if effect_of(action) in left))


def next_due(run: Run) -> float | None:
    return min((one.retry_at for one in run.unshown), default=None)


def effect_of(action: Action) -> str:
    """Empty for an action that does more than show."""
    match action:
        case ShowLabels():
            return LABELS
        case MoveIssue():
            return STATE
        case LinkPullRequest():
            return LINK
        case RemoveBranch():
            return BRANCH
        case PostComment(slug=slug):
            return PROGRESS if slug == PROGRESS_SLUG else f"comment {slug}"
        case React(comment=comment, reaction=reaction):
            return f"reaction {reaction} to {comment}"
        case _:
            return ""


def _refused(before: Unshown | None, refused: NotShown, now: float) -> Unshown:
    times = before.times + 1 if before else 1
    wait = min(_FIRST_SECONDS * 4.0 ** (times - 1), _LONGEST_SECONDS)
    announced = before.announced if before else False
    one = Unshown(effect_of(refused.action), refused.why, now + wait, times, announced)
    return _with_text(one, refused.action)


def _with_text(one: Unshown, action: Action | None) -> Unshown:
    if not isinstance(action, PostComment) or action.slug == PROGRESS_SLUG:
        return one
    return replace(one, slug=action.slug, place=action.place, text=action.text, thread=action.thread)


def _comment(one: Unshown) -> PostComment:
    return PostComment(one.place, one.slug, one.text, one.thread)


def _announced(decision: Decision, seen: Observation) -> Decision:
    """Says on the pull request that comments on the issue are refused, once."""
    run, pull = decision.run, seen.pull_request
    mute = [one for one in run.unshown if (one.slug or one.effect == PROGRESS) and one.place is CommentPlace.ISSUE]
    news = [one for one in mute if one.times >= REPORTED_AFTER and not one.announced]
    if not news or any(one.announced for one in mute) or pull is None or pull.state is not PullRequestState.OPEN:
        return decision
    announced = tuple(replace(one, announced=True) if one in news else one for one in run.unshown)
    text = unshown_comment.refused_on_issue(news[0].why, run)
    post = PostComment(CommentPlace.PULL_REQUEST, f"refused-{run.turns.number}", text)
    return decision.then(replace(run, unshown=announced), post)

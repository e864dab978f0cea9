"""Renders a run on its issue: label, progress comment, tracker state, link. Pure."""

import hashlib
from dataclasses import replace

from bot.domain.comment import CommentPlace
from bot.domain.issue import IssueStage
from bot.domain.phase_labels import phase_label, phase_labels
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.run_names import PROGRESS_SLUG
from bot.engine import comment_ledger, unshown
from bot.engine.actions import (
    Action,
    LinkPullRequest,
    MoveIssue,
    OfferPullRequest,
    PostComment,
    RemoveBranch,
    ShowLabels,
)
from bot.engine.decision import Decision
from bot.engine.messages import progress_comment
from bot.engine.messages.unshown_comment import BRANCH
from bot.engine.observation import Observation
from bot.engine.run_note import note_for

SECONDS_BETWEEN_EDITS = {Phase.WORKING: 15.0, Phase.QUEUED: 300.0, "paused": 15.0}
SHOWN_IN_QUEUE = 25
"""Queued runs with a progress comment; all of them get the label."""


def render_status(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    shown = _rendered(decision, seen, policy) if seen.issue else decision
    return unshown.hold(shown, seen, before=decision.run.status)


def render_end(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Tries again to show the end of a run, unless the issue is gone or asks for work again."""
    if not run.unshown or seen.issue is None or seen.issue.request not in {"", run.request}:
        return Decision(replace(run, unshown=()))
    return unshown.only_unshown(render_status(Decision(run), seen, policy), run)


def _rendered(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    run = decision.run
    decision = decision.then(
        run, *_labels(run, seen, policy), *_stage(run, seen), *_link(run, seen, policy), *_branch(run)
    )
    return _progress(decision, seen, policy)


def _labels(run: Run, seen: Observation, policy: Policy) -> tuple[Action, ...]:
    assert seen.issue
    over = run.phase is Phase.DONE
    wanted = frozenset[str]() if over else frozenset({phase_label(policy.label, run.phase)})
    ours = phase_labels(policy.label) | ({policy.label} if over else frozenset())
    add, remove = wanted - seen.issue.labels, (ours - wanted) & seen.issue.labels
    return (ShowLabels(add, remove),) if add or remove else ()


def _stage(run: Run, seen: Observation) -> tuple[Action, ...]:
    """Returns no move while the run waits for people in the middle of its work."""
    standing, wanted = seen.issue.state if seen.issue else None, _stage_for(run, seen)
    if standing is None or wanted is None or wanted is standing.stage or wanted not in standing.movable:
        return ()
    return (MoveIssue(wanted),)


def _stage_for(run: Run, seen: Observation) -> IssueStage | None:
    match run.phase:
        case Phase.WORKING if seen.pull_request is None:
            return IssueStage.STARTED
        case Phase.REVIEW | Phase.WORKING:
            return IssueStage.REVIEW
        case Phase.DONE:
            merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
            return IssueStage.COMPLETED if merged else IssueStage.ORIGINAL
        case _:
            return None


def _link(run: Run, seen: Observation, policy: Policy) -> tuple[Action, ...]:
    links, pull = seen.issue.links if seen.issue else None, seen.pull_request
    address = progress_comment.pull_address(run, pull, policy) if pull else ""
    if links is None or pull is None or not address or address in links:
        return ()
    return (LinkPullRequest(address, pull.title),)


def _branch(run: Run) -> tuple[Action, ...]:
    """Removes a merged branch again, if that was refused when the run ended."""
    is_left = run.phase is Phase.DONE and any(one.effect == BRANCH for one in run.unshown)
    return (RemoveBranch(),) if is_left else ()


def _is_not_worth_a_comment(run: Run) -> bool:
    """Returns True for a run without a turn and a progress comment that asks for permission, or is over."""
    if run.turns.number or run.status.digest:
        return False
    return run.phase is Phase.DONE or (run.phase is Phase.ASKING and run.wait_reason is WaitReason.CONSENT)


def _progress(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Edits the comment when its content changes; less often while an agent works or the queue moves.

    Not yet while the pull request is being opened: the next tick knows its address, and one edit will do.
    """
    run = decision.run
    if seen.pull_request is None and any(isinstance(action, OfferPullRequest) for action in decision.actions):
        return decision
    if _is_not_worth_a_comment(run) or (run.phase is Phase.QUEUED and seen.slot.ahead >= SHOWN_IN_QUEUE):
        return decision
    text = progress_comment.progress(run, seen, policy)
    content = (
        f"{text}\n{note_for(comment_ledger.without_untrusted(run))}"  # comments of untrusted people must cause no edit
    )
    # news is shown at once, also in the queue; a run that is over is not shown again
    lane = "paused" if seen.slot.paused and run.phase is not Phase.DONE else run.phase
    shown = f"{lane} {hashlib.sha256(content.encode(errors='surrogatepass')).hexdigest()}"
    moved = not run.status.digest.startswith(f"{lane} ")
    pause = 0.0 if moved else SECONDS_BETWEEN_EDITS.get(lane, 0.0)
    if shown == run.status.digest or seen.now - run.status.shown_at < pause:
        return decision
    return decision.then(
        replace(run, status=replace(run.status, digest=shown, shown_at=seen.now)),
        PostComment(CommentPlace.ISSUE, PROGRESS_SLUG, text, note=note_for(run)),
    )

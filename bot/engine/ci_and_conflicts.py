"""Fixes red checks and conflicts of an open pull request. Pure.

Rule: each commit gets one fix attempt. After that a person is asked.
"""

import hashlib
from dataclasses import replace

from bot.domain.comment import CommentPlace
from bot.domain.policy import Policy
from bot.domain.pull_request import CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.engine.actions import OfferPullRequest, PostComment
from bot.engine.ask_human import ask_after, requeue
from bot.engine.decision import Decision
from bot.engine.messages import checks_text, ci_approval_comment
from bot.engine.observation import Observation
from bot.text.pull_request_section import replace_paragraph, section_of

_ANSWERABLE = {WaitReason.QUESTION, WaitReason.NO_CHANGE, WaitReason.FAILED, WaitReason.CHECKS}


def purpose_for(run: Run, seen: Observation, policy: Policy) -> TurnPurpose:
    """Returns the purpose of the next turn. A purpose that was set stays."""
    pull = _open_pull(seen)
    if run.purpose not in {TurnPurpose.NONE, TurnPurpose.FIX_CI, TurnPurpose.REVIEW}:
        return run.purpose
    if pull is None or run.handback_comment or run.hold.objections:
        return TurnPurpose.NONE
    if pull.conflicts and run.checks.merge_fixed_head != pull.head and base_of(seen, policy):
        return TurnPurpose.MERGE_BASE
    if not regressions_in(pull):
        return TurnPurpose.NONE
    is_new = run.checks.ci_fixed_head != pull.head and run.checks.ci_fix_attempts < policy.ci_fixes
    return TurnPurpose.FIX_CI if is_new or run.purpose is TurnPurpose.FIX_CI else TurnPurpose.NONE


def open_base(seen: Observation) -> str:
    """Returns the base of the open pull request, which follows a branch that is renamed; empty if there is none."""
    pull = _open_pull(seen)
    return pull.base if pull else ""


def base_of(seen: Observation, policy: Policy) -> str:
    """Returns the branch that the pull request is to be merged into."""
    return (seen.pull_request.base if seen.pull_request else "") or policy.base


def regressions_in(pull: PullRequest | None) -> tuple[FailedCheck, ...]:
    """Returns checks that are red on the newest commit and not on the base, once none is pending."""
    if pull is None or pull.checks.state is not CheckState.RED or pull.checks.commit != pull.head:
        return ()
    return pull.checks.regressions


def sent_on(run: Run, purpose: TurnPurpose, seen: Observation) -> Run:
    """Counts the fix attempt that begins; a repeat does not count again."""
    pull = seen.pull_request
    run = replace(run, purpose=purpose)
    match purpose:
        case TurnPurpose.MERGE_BASE if pull:
            return replace(run, checks=replace(run.checks, merge_fixed_head=pull.head))
        case TurnPurpose.FIX_CI if pull and run.checks.ci_fixed_head != pull.head:
            return replace(
                run, checks=replace(run.checks, ci_fixed_head=pull.head, ci_fix_attempts=run.checks.ci_fix_attempts + 1)
            )
        case _:
            return run


def superseding(run: Run, seen: Observation, commit: str) -> Run:
    """Marks the old head as handled, because a lagging forge may still show it after our push."""
    return (
        replace(
            run,
            checks=replace(run.checks, ci_fixed_head=seen.pull_request.head, merge_fixed_head=seen.pull_request.head),
        )
        if seen.pull_request and commit
        else run
    )


def reports(run: Run, seen: Observation, commit: str) -> tuple[PostComment, ...]:
    """Reports a turn on red checks that changed nothing. `run` is as it was when the turn ended."""
    if run.purpose is not TurnPurpose.FIX_CI or commit:
        return ()
    names = tuple(check.name for check in regressions_in(seen.pull_request))
    return (
        PostComment(
            CommentPlace.PULL_REQUEST,
            f"checks-{run.turns.number}",
            checks_text.nothing_fixed(names, seen.turn.summary),
        ),
    )


def commit_subject(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the commit's subject; empty for the issue's title."""
    match run.purpose:
        case TurnPurpose.MERGE_BASE:
            return f"Merge {base_of(seen, policy)}"
        case TurnPurpose.FIX_CI:
            return f"Fix {', '.join(check.name for check in regressions_in(seen.pull_request))}"
        case TurnPurpose.FIX_VERIFICATION if run.checks.verification:
            return f"Fix {', '.join(map(str, run.checks.verification.regressions))}"
        case _:
            return ""


def watch_pull_request(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Updates the checks paragraph while the run waits, and asks once about checks that could not be fixed."""
    pull = _open_pull(seen)
    if pull is None:
        return decision
    decision = _update_checks_paragraph(decision, pull, policy)
    run = decision.run
    if run.phase is Phase.ASKING and run.wait_reason is WaitReason.CHECKS and _is_past(run, pull):
        return decision.then(run.to(Phase.REVIEW, now=seen.now))
    if (
        run.phase is Phase.REVIEW
        and run.checks.ci_fixed_head != pull.head
        and run.checks.ci_fix_attempts >= policy.ci_fixes
        and regressions_in(pull)
    ):
        asking = decision.then(replace(run, checks=replace(run.checks, ci_fixed_head=pull.head)))
        text = checks_text.checks_stay_red(regressions_in(pull), run.checks.ci_fix_attempts, policy)
        return ask_after(asking, seen, policy, WaitReason.CHECKS, text, about=pull.head)
    return decision


def rebase(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    base = base_of(seen, policy)
    if _open_pull(seen) is None or not base:
        return Decision(run), checks_text.nothing_to_rebase()
    if run.purpose in {TurnPurpose.PLAN, TurnPurpose.CARRY_OUT_PLAN}:
        return Decision(run), checks_text.no_rebase_before_the_plan()
    ordered = replace(run, purpose=TurnPurpose.MERGE_BASE)
    match run.phase:
        case Phase.REVIEW | Phase.QUEUED:
            return Decision(ordered), checks_text.will_rebase(base)
        case Phase.ASKING if run.wait_reason in _ANSWERABLE:
            return Decision(requeue(ordered, seen.now)), checks_text.will_rebase(base)
        case _:
            return Decision(run), checks_text.no_rebase_now(run)


def reset_fix_attempts(run: Run) -> Run:
    """Allows as many fix attempts again, because a person ordered a retry."""
    return (
        replace(run, checks=replace(run.checks, ci_fix_attempts=0, ci_fixed_head=""))
        if run.wait_reason is WaitReason.CHECKS
        else run
    )


def _open_pull(seen: Observation) -> PullRequest | None:
    pull = seen.pull_request
    return pull if pull and pull.state is PullRequestState.OPEN else None


def _is_past(run: Run, pull: PullRequest) -> bool:
    """Returns True if the checks became green, or the pull request has another head than the question is about."""
    return pull.head != run.checks.ci_fixed_head or (
        pull.checks.state is CheckState.GREEN and pull.checks.commit == pull.head
    )


def _update_checks_paragraph(decision: Decision, pull: PullRequest, policy: Policy) -> Decision:
    """Compares with the text written last, not with the text read: a lagging forge must not cause an edit in every
    tick."""
    ours = section_of(pull.body)
    if not ours or (pull.checks.state is not CheckState.NONE and pull.checks.commit != pull.head):
        return decision
    text = checks_text.of_pull_request(
        pull, waits=ci_approval_comment.waits(policy) if decision.run.checks.ci_held_at else ""
    )
    shown = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16] if text else ""
    if shown == decision.run.checks.shown_digest:
        return decision
    body = replace_paragraph(ours, checks_text.CHECKS, text)
    return decision.then(
        replace(decision.run, checks=replace(decision.run.checks, shown_digest=shown)),
        OfferPullRequest(pull.title, body),
    )

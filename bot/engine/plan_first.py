"""Plan first: the agent proposes a plan, a person approves it, and only then are files changed. Pure."""

from dataclasses import replace

from bot.domain.comment import CommentPlace
from bot.domain.issue_directives import wants_plan
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.engine.actions import PostComment
from bot.engine.ask_human import ask_after, requeue
from bot.engine.decision import Decision
from bot.engine.messages import plan_comment, salvage_comment
from bot.engine.observation import Observation

_ANSWERABLE = {WaitReason.QUESTION, WaitReason.NO_CHANGE, WaitReason.FAILED, WaitReason.CHECKS}


def is_to_plan(run: Run, seen: Observation, policy: Policy) -> bool:
    """A command applies until the plan is approved; a label only until then or until there is a pull request."""
    if run.hold.objections:
        return False  # changes of a planning turn are undone, and changes that are held back would be undone with them
    if run.purpose is TurnPurpose.PLAN:
        return True
    labelled = seen.issue is not None and wants_plan(seen.issue.labels, policy.label)
    return labelled and not run.plan_approved and seen.pull_request is None


def order_plan(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    """Plans in the next turn; a running turn is not interrupted."""
    if run.hold.objections or run.purpose is TurnPurpose.PUBLISH:
        return Decision(run), plan_comment.no_plan_while_held(policy)
    if _is_proposed(run):
        return Decision(run), plan_comment.plan_waits()
    planning = replace(run, purpose=TurnPurpose.PLAN, plan_approved=False)
    if run.phase is Phase.ASKING and run.wait_reason in _ANSWERABLE:
        planning = requeue(planning, seen.now)
    return Decision(planning), plan_comment.plan_scheduled()


def approve_plan(run: Run, seen: Observation) -> tuple[Decision, str]:
    approved = replace(run, purpose=TurnPurpose.CARRY_OUT_PLAN, plan_approved=True)
    return Decision(requeue(approved, seen.now)), plan_comment.plan_approved()


def propose(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Posts the plan. Files that the agent changed are salvaged, and the comment says so."""
    run, ref = replace(decision.run, purpose=TurnPurpose.PLAN), seen.turn.salvage_ref
    aside = (
        (PostComment(CommentPlace.ISSUE, f"salvage-{run.turns.number}", salvage_comment.put_back(run.key, ref)),)
        if ref
        else ()
    )
    return ask_after(
        decision.then(run, *aside), seen, policy, WaitReason.PLAN, plan_comment.plan(seen.turn.summary, policy)
    )


def _is_proposed(run: Run) -> bool:
    return run.phase is Phase.ASKING and run.wait_reason is WaitReason.PLAN

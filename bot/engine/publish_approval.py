"""Publish approval: changes that are held back wait until a person approves them or they are undone. Pure.

Rule: an approval covers exactly the content that people were asked about; anything else needs another approval.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.change import Objection
from bot.domain.comment import Comment
from bot.domain.policy import Policy
from bot.domain.run import ApprovedObjection, Run, TurnPurpose, WaitReason
from bot.engine import acknowledge, comment_ledger
from bot.engine.actions import Action
from bot.engine.ask_human import ask_after, requeue
from bot.engine.decision import Decision
from bot.engine.messages import blocked_work
from bot.engine.observation import Observation


def is_blocked(seen: Observation) -> bool:
    """Returns False while the agent has a question: the next turn's work is checked again."""
    return bool(_objections(seen)) and not seen.turn.question


def block(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Keeps the work in the worktree and the comments open until a person approves."""
    turn, objections, by_hand = seen.turn, _objections(seen), bool(decision.run.handback_comment)
    handed = comment_ledger.pending_comments(decision.run, seen)
    run = comment_ledger.close_answered(decision.run, turn.delivered, turn.answers)
    answered = comment_ledger.only(handed, {answer.comment for answer in turn.answers} & turn.delivered)
    held = replace(
        run, hold=replace(run.hold, objections=objections, agent_summary=turn.summary or run.hold.agent_summary)
    )
    replies: tuple[Action, ...] = (*acknowledge.ack_done(answered), *acknowledge.replies(held, answered, turn))
    text = blocked_work.held(objections, policy, by_hand=by_hand)
    about = " ".join(one.id for one in objections)
    return ask_after(decision.then(held, *replies), seen, policy, WaitReason.BLOCKED, text, about=about)


def remaining_handback(run: Run, seen: Observation) -> str:
    """Returns the handback if no agent has worked since: the blocked work is that person's."""
    return "" if seen.turn.agent_turns else run.handback_comment


def approve(run: Run, seen: Observation, policy: Policy, *, comment: Comment) -> tuple[Decision, str]:
    by = comment.author
    if not by.may_push:
        return Decision(run), blocked_work.may_not_publish(by.name, policy)
    allowed = (*run.hold.allowed, *(ApprovedObjection(one, by.name, comment.id) for one in run.hold.objections))
    run = replace(run, hold=replace(run.hold, objections=(), allowed=allowed))
    if run.handback_comment:
        return Decision(requeue(run, seen.now)), blocked_work.will_go_on(by.name)
    return Decision(requeue(replace(run, purpose=TurnPurpose.PUBLISH), seen.now)), blocked_work.will_publish(by.name)


def lost_approvals(run: Run, seen: Observation) -> Sequence[ApprovedObjection]:
    """Returns those whose comment was deleted, or whose author has lost push access."""
    counting = {comment.id for comment in seen.comments if comment.author.trusted and comment.author.may_push}
    return [one for one in run.hold.allowed if one.comment and one.comment not in counting]


def allow_again(run: Run, seen: Observation, comment: Comment) -> Run:
    """Replaces approvals that no longer count by this comment."""
    lost = lost_approvals(run, seen)
    allowed = tuple(
        replace(one, by=comment.author.name, comment=comment.id) if one in lost else one for one in run.hold.allowed
    )
    return replace(run, hold=replace(run.hold, allowed=allowed))


def ids_allowed(run: Run) -> tuple[str, ...]:
    return tuple(one.objection.id for one in run.hold.allowed)


def with_agent_summary(run: Run, seen: Observation) -> Observation:
    """Restores the agent's summary from the turn whose work was blocked."""
    if run.purpose is not TurnPurpose.PUBLISH:
        return seen
    return replace(seen, turn=replace(seen.turn, summary=run.hold.agent_summary))


def release(run: Run, seen: Observation) -> Run:
    """Clears the hold; objections stay only while the agent has a question."""
    objections = _objections(seen)
    return replace(
        run, hold=replace(run.hold, objections=objections, agent_summary=run.hold.agent_summary if objections else "")
    )


def _objections(seen: Observation) -> tuple[Objection, ...]:
    return seen.turn.change.objections if seen.turn.change else ()

"""Handover: a person takes the worktree, and gives it back. Pure.

Rule: while a person has the worktree, no action touches it.
"""

from dataclasses import replace

from bot.domain.change import Handover
from bot.domain.comment import Comment
from bot.domain.issue import Person
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.engine.actions import CancelTurn, PrintHandover
from bot.engine.ask_human import requeue
from bot.engine.decision import Decision
from bot.engine.messages import commit_message, handover_comment
from bot.engine.observation import Observation


def is_taken(run: Run) -> bool:
    return run.wait_reason is WaitReason.TAKEN_OVER


def take_worktree(run: Run, seen: Observation, policy: Policy, comment: Comment) -> tuple[Decision, str]:
    """The action writes the reply, because only it knows the worktree's path."""
    if not run.turns.number:
        return Decision(run), handover_comment.nothing_to_take()
    answer = PrintHandover(comment.place, f"answer-{comment.id}", again=is_taken(run))
    if is_taken(run):
        return Decision(run, (answer,)), ""
    reason = handover_comment.taken_by(comment.author.name, policy)
    session = seen.turn.session or seen.turn.progress.session or run.session
    run = replace(run, session=session, reason=reason)
    if run.has_turn_in_flight:
        return Decision(replace(run, wait_reason=WaitReason.TAKEN_OVER), (CancelTurn(run.turns.number), answer)), ""
    return Decision(_held(run, reason, seen.now), (answer,)), ""


def give_back(run: Run, seen: Observation, comment: Comment) -> tuple[Decision, str]:
    if not is_taken(run):
        return Decision(run), handover_comment.not_taken()
    return Decision(requeue(replace(run, handback_comment=comment.id), seen.now)), handover_comment.given_back()


def keep_taken(taken: Run, decision: Decision, seen: Observation) -> Decision:
    """Keeps the handover if the turn ended by itself at the same time: a person works there nevertheless."""
    if not is_taken(taken):
        return decision
    return decision.then(_held(decision.run, taken.reason, seen.now))


def handover_for(run: Run, seen: Observation) -> Handover | None:
    """Returns the handover whose work no successful turn has taken in yet."""
    if not run.handback_comment:
        return None
    comment = next((comment for comment in seen.comments if comment.id == run.handback_comment), None)
    person, at = (comment.author, comment.at) if comment else (Person("somebody"), run.begun_at)
    return Handover(person.name, commit_message.given_message(run, person), at)


def _held(run: Run, reason: str, now: float) -> Run:
    return run.to(Phase.ASKING, reason=reason, wait_reason=WaitReason.TAKEN_OVER, now=now)

"""A person takes the worktree over by hand, and hands it back. Rule: in between, nothing of ours touches it. Pure."""

from dataclasses import replace

from bot.domain.comment import Comment
from bot.domain.given import Given
from bot.domain.issue import Person
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine.actions import CancelTurn, HandOver
from bot.engine.ask_human import go_again
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation


def is_taken(run: Run) -> bool:
    return run.cause is Cause.TAKEN


def take(run: Run, seen: Observation, policy: Policy, comment: Comment) -> tuple[Decision, str]:
    """The answer is written by the hands: only they know where things are."""
    if not run.turn:
        return Decision(run), answers.nothing_to_take()
    answer = HandOver(comment.place, f"answer-{comment.id}", again=is_taken(run))
    if is_taken(run):
        return Decision(run, (answer,)), ""
    reason = answers.taken_by(comment.author.name, policy)
    session = seen.turn.session or seen.turn.progress.session or run.session
    run = replace(run, session=session, reason=reason)
    if run.phase is Phase.WORKING and run.ended < run.turn:
        return Decision(replace(run, cause=Cause.TAKEN), (CancelTurn(run.turn), answer)), ""
    return Decision(_held(run, reason, seen.now), (answer,)), ""


def give(run: Run, seen: Observation, comment: Comment) -> tuple[Decision, str]:
    if not is_taken(run):
        return Decision(run), answers.not_taken()
    return Decision(go_again(replace(run, given=comment.id), seen.now)), answers.given_back()


def still_taken(taken: Run, decision: Decision, seen: Observation) -> Decision:
    """The turn came to an end of its own just when it was taken over: a person is at work there nevertheless."""
    if not is_taken(taken):
        return decision
    return decision.then(_held(decision.run, taken.reason, seen.now))


def given_for(run: Run, seen: Observation) -> Given | None:
    """What was done by hand since the last turn that came to a good end."""
    if not run.given:
        return None
    comment = next((comment for comment in seen.comments if comment.id == run.given), None)
    person, at = (comment.author, comment.at) if comment else (Person("somebody"), run.begun_at)
    return Given(person.name, messages.given_message(run, person), at)


def _held(run: Run, reason: str, now: float) -> Run:
    return run.to(Phase.ASKING, reason=reason, cause=Cause.TAKEN, now=now)

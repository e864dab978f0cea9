"""What the host objects to is held: nothing of the turn is published until a person allows it, or it is gone. Pure.

Rule: what is allowed is the very content that people were asked about; anything else is asked about anew.
"""

from dataclasses import replace

from bot.domain.change import Objection
from bot.domain.issue import Person
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Overruled, Run
from bot.engine import acknowledge as receipts
from bot.engine import comment_ledger as ledger
from bot.engine.actions import Action
from bot.engine.ask_human import ask_after, go_again
from bot.engine.decision import Decision
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation


def is_held(seen: Observation) -> bool:
    """A question comes first: once it is answered, there is another turn, and its work is judged again."""
    return bool(_objections(seen)) and not seen.turn.question


def hold(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn came to a good end, but what it made stays where it is; what people said that led to it waits, too."""
    turn, objections, by_hand = seen.turn, _objections(seen), bool(decision.run.given)
    handed = ledger.unsettled(decision.run, seen)
    run = ledger.wait(decision.run, turn.heard, turn.answers)
    answered = ledger.reached(handed, {answer.comment for answer in turn.answers} & turn.heard)
    held = replace(run, held=objections, words=turn.words or run.words)
    replies: tuple[Action, ...] = (*receipts.rockets(answered), *receipts.replies(held, answered, turn))
    text = answers.held(objections, policy, by_hand=by_hand)
    about = " ".join(one.id for one in objections)
    return ask_after(decision.then(held, *replies), seen, policy, Cause.HELD, text, about=about)


def given_still(run: Run, seen: Observation) -> str:
    """No agent has been there since a person handed the worktree back: what is held is that person's work."""
    return "" if seen.turn.agent_turns else run.given


def approve(run: Run, seen: Observation, policy: Policy, *, by: Person) -> tuple[Decision, str]:
    if not by.may_push:
        return Decision(run), answers.may_not_publish(by.name, policy)
    allowed = (*run.allowed, *(Overruled(one, by.name) for one in run.held))
    run = replace(run, held=(), allowed=allowed)
    if run.given:
        return Decision(go_again(run, seen.now)), answers.will_go_on(by.name)
    return Decision(go_again(replace(run, errand=Errand.OFFER), seen.now)), answers.will_publish(by.name)


def ids_allowed(run: Run) -> tuple[str, ...]:
    return tuple(one.objection.id for one in run.allowed)


def with_words(run: Run, seen: Observation) -> Observation:
    """Work that is offered by a person's leave was described by the agent when it was held."""
    if run.errand is not Errand.OFFER:
        return seen
    return replace(seen, turn=replace(seen.turn, words=run.words))


def released(run: Run, seen: Observation) -> Run:
    """Nothing is held any more, unless it was in the way of a question."""
    objections = _objections(seen)
    return replace(run, held=objections, words=run.words if objections else "")


def _objections(seen: Observation) -> tuple[Objection, ...]:
    return seen.turn.change.objections if seen.turn.change else ()

"""Hands the ball to a person: the run asks, once, and waits. Pure."""

from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine import messages
from bot.engine.actions import Say
from bot.engine.decision import Decision
from bot.engine.observation import Observation


def ask(run: Run, seen: Observation, policy: Policy, cause: Cause, text: str) -> Decision:
    return ask_after(Decision(run), seen, policy, cause, text)


def ask_after(decision: Decision, seen: Observation, policy: Policy, cause: Cause, text: str) -> Decision:
    """Ask once, in a comment of its own: an edited one would notify nobody."""
    asking = decision.run.to(Phase.ASKING, reason=messages.first_line(text), cause=cause, now=seen.now)
    say = Say(Place.ISSUE, f"ask-{asking.turn}-{cause}".replace(" ", "-"), messages.asks(text, policy))
    return decision.then(replace(asking, ended=asking.turn), say)

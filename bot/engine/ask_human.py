"""Hands the ball to a person: the run asks, once, and waits. Pure."""

import hashlib
from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine.actions import Say
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.observation import Observation

DEAF = frozenset({Cause.PAUSED, Cause.BUDGET, Cause.TAKEN, Cause.CONSENT, Cause.CHOICE})
"""Why it asks when a comment alone does not make it go on."""


def go_again(run: Run, now: float) -> Run:
    """A person said to go on: what counted against it is forgotten."""
    return replace(run, failures=0, losses=0, not_before=0.0).to(Phase.QUEUED, now=now)


def ask(run: Run, seen: Observation, policy: Policy, cause: Cause, text: str) -> Decision:
    return ask_after(Decision(run), seen, policy, cause, text)


def ask_after(
    decision: Decision, seen: Observation, policy: Policy, cause: Cause, text: str, *, about: str = ""
) -> Decision:
    """Ask once, in a comment of its own: an edited one would notify nobody. `about` tells apart what else is alike."""
    asking = decision.run.to(Phase.ASKING, reason=_gist(text), cause=cause, now=seen.now)
    exactly = f"-{hashlib.sha256(about.encode()).hexdigest()[:10]}" if about else ""
    slug = f"ask-{asking.turn}-{cause}{exactly}".replace(" ", "-")
    asked = messages.asks(text, policy, a_reply_does=cause not in DEAF)
    say = Say(Place.ISSUE, slug, asked, folder=cause is Cause.HELD)
    return decision.then(replace(asking, ended=asking.turn), say)


def _gist(text: str) -> str:
    """In one line: the first, and the beginning of what it leads to."""
    begun = messages.first_line(text)
    quoted = next((said.removeprefix("> ") for said in text.splitlines() if said.startswith("> ")), "")
    return messages.first_line(f"{begun} {quoted}") if begun.endswith(":") else begun

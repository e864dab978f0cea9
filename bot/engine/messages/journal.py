"""Journal lines of one step, for people. Pure."""

import re
from collections.abc import Sequence

from bot.domain.run import Run, TurnPurpose, Unshown
from bot.domain.spend import Spend
from bot.domain.turn import TurnOrder
from bot.engine.actions import StartTurn
from bot.engine.decision import Decision
from bot.text.money import dollars

_NOT_AN_ATTEMPT = re.compile(r"left out: |and \d+ more|\d+ passages? of ")
"""Lines among the refusals that are no attempts, also those of earlier versions."""


def refusal(line: str) -> str:
    """Completes an attempt, such as `reach evil.example:443`, to a sentence."""
    return line if _NOT_AN_ATTEMPT.match(line) else f"the sandbox blocked an attempt to {line}"


def history(run: Run, decision: Decision) -> Sequence[str]:
    after = decision.run
    moved = f"{run.phase} → {after.phase}" + (f": {after.reason}" if after.reason else "")
    began = f"turn {after.turns.number} started{_reasons(decision)}"
    cost = decision.spend and _cost(decision.spend)
    return [
        *([began] if after.turns.number > run.turns.number else []),
        *([cost] if cost else []),
        *([f"turn {after.turns.ended} failed: {after.reason}"] if _is_repeated(run, after) else []),
        *([moved] if after.phase is not run.phase else []),
        *(f"refused by the service: {one.effect} ({one.why})" for one in _lapses(run, after)),
        *(refusal(what) for what in after.refusals if what not in run.refusals),
        *(
            f"{one.by} approved: {one.objection.rule} {one.objection.path}"
            for one in after.hold.allowed
            if one not in run.hold.allowed
        ),
    ]


def _is_repeated(before: Run, after: Run) -> bool:
    """Returns True if a turn has failed and another one follows, so that no change of phase says why."""
    has_ended = after.turns.ended > before.turns.ended and after.is_between_turns
    return has_ended and bool(after.reason) and after.purpose is before.purpose


def _reasons(decision: Decision) -> str:
    """Completes "turn 2 started"; empty for a turn on the issue itself."""
    order = next((action.order for action in decision.actions if isinstance(action, StartTurn)), None)
    reasons = _reasons_of(order, decision.run.purpose) if order else []
    return f" to {' and '.join(reasons)}" if reasons else ""


def _reasons_of(order: TurnOrder, purpose: TurnPurpose) -> Sequence[str]:
    return [
        *([f"merge {order.merge}"] if order.merge else []),
        *(["fix failed checks"] if purpose is TurnPurpose.FIX_CI else []),
        *(["fix failed tests"] if purpose is TurnPurpose.FIX_VERIFICATION else []),
        *(["answer comments"] if order.comments else []),
    ]


def _lapses(before: Run, after: Run) -> Sequence[Unshown]:
    known = {one.effect for one in before.unshown}
    return [one for one in after.unshown if one.effect not in known]


def _cost(spend: Spend) -> str:
    cost = f"turn {spend.turn} cost {dollars(spend.usd)}, {spend.tokens} tokens"
    if spend.unseen_usd:
        cost += f"; up to {dollars(spend.unseen_usd)} of it for requests whose answers were not seen"
    return cost if spend.claimed_usd is None else f"{cost}; the agent says {dollars(spend.claimed_usd)}"

"""Journal lines of one step, for people. Pure."""

import re
from collections.abc import Sequence

from bot.domain.run import Run
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
    began = f"turn {after.turns.number} started"
    cost = (spend := decision.spend) and f"turn {spend.turn} cost {dollars(spend.usd)}, {spend.tokens} tokens"
    return [
        *([began] if after.turns.number > run.turns.number else []),
        *([cost] if cost else []),
        *([moved] if after.phase is not run.phase else []),
        *(refusal(what) for what in after.refusals if what not in run.refusals),
        *(
            f"{one.by} approved: {one.objection.rule} {one.objection.path}"
            for one in after.hold.allowed
            if one not in run.hold.allowed
        ),
    ]

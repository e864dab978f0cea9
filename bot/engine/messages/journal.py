"""What the journal says about a step, in words for people. Pure."""

from collections.abc import Sequence

from bot.domain.run import Run
from bot.engine.decision import Decision


def history(run: Run, decision: Decision) -> Sequence[str]:
    after = decision.run
    moved = f"{run.phase} → {after.phase}" + (f": {after.reason}" if after.reason else "")
    began = f"turn {after.turn} began"
    cost = (
        decision.spend and f"turn {decision.spend.turn} cost ${decision.spend.usd:.2f}, {decision.spend.tokens} tokens"
    )
    return [
        *([began] if after.turn > run.turn else []),
        *([cost] if cost else []),
        *([moved] if after.phase is not run.phase else []),
        *(f"the sandbox refused: {what}" for what in after.refusals if what not in run.refusals),
        *(
            f"{one.by} allowed: {one.objection.rule} {one.objection.path}"
            for one in after.allowed
            if one not in run.allowed
        ),
    ]

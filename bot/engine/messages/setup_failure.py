"""Says why setup of a worktree failed. Pure text in, text out."""

from bot.domain.change import Objection
from bot.domain.policy import Policy
from bot.domain.setup_plan import SetupObstacle
from bot.engine.messages.blocked_work import objection as of_objection
from bot.text.quote_untrusted import code_block, code_span, neutralize_line


def not_ready(obstacle: SetupObstacle, policy: Policy) -> str:
    where = f" in {code_span(obstacle.folder)}" if obstacle.folder else ""
    what = (
        f"{code_span(obstacle.command)}{where} {neutralize_line(obstacle.problem)}"
        if obstacle.command
        else neutralize_line(obstacle.problem)
    )
    parts = [
        f"Setup of the worktree failed: {what}",
        "No agent has started, so this does not count as a failed turn.",
        f"The end of its output:\n\n{code_block(obstacle.output)}" if obstacle.output.strip() else "",
        "\n".join(f"- {neutralize_line(one)}" for one in obstacle.advice),
        _may_approve(obstacle.objection, policy) if obstacle.objection else "",
        f"`/{policy.label} retry` tries again.",
    ]
    return "\n\n".join(part for part in parts if part)


def _may_approve(objection: Objection, policy: Policy) -> str:
    return (
        f"- {of_objection(objection)}\n\nIf somebody with push access comments `/{policy.label} approve`, setup runs "
        "with network and the work is published exactly as it is now."
    )

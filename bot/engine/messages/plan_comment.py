"""Plans, and replies about them. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import quote


def plan(words: str, policy: Policy) -> str:
    proposal = quote(words) or "> (The agent gave no plan.)"
    what_now = (
        f"Comment `/{policy.label} approve` to let the agent carry out the plan, or anything else to have it plan "
        "again."
    )
    return f"The agent proposes a plan and has changed nothing yet. {what_now}\n\n{proposal}"


def plan_scheduled() -> str:
    return "In the next turn the agent proposes a plan. It changes nothing until the plan is approved."


def plan_waits() -> str:
    return "There is a plan already: approve it, or comment on what should be different."


def plan_approved() -> str:
    return "The plan is approved. The run continues as soon as a slot is free."


def nothing_to_approve() -> str:
    return "Nothing waits for approval."


def no_plan_while_held(policy: Policy) -> str:
    return (
        f"Not now: changes are held back. `/{policy.label} approve` publishes them; any other comment lets the agent "
        "change them."
    )

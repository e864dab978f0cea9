"""Plans, and replies about them. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import quote


def plan(words: str, policy: Policy) -> str:
    proposal = quote(words) or "> (It said nothing.)"
    what_now = f"`/{policy.label} approve` lets it begin; any other comment has it think again."
    return f"The agent proposes a plan, and has changed nothing yet. {what_now}\n\n{proposal}"


def plan_scheduled() -> str:
    return "The next turn proposes a plan, and changes nothing until it is approved."


def plan_waits() -> str:
    return "There is a plan already: approve it, or say what should be different."


def plan_approved() -> str:
    return "The plan is approved. Going on as soon as there is a free slot."


def nothing_to_approve() -> str:
    return "Nothing waits for approval."


def no_plan_while_held(policy: Policy) -> str:
    return f"Not now: work is held back. `/{policy.label} approve` lets it out, a comment has the agent change it."

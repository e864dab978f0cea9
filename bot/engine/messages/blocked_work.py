"""Says that work is blocked by the publish guard, and how to approve it. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.change import Objection
from bot.domain.policy import Policy
from bot.text.quote_untrusted import code_span, neutralize_line, short_label

_LISTED = 51
"""All that the host lists: nobody is to allow what was not shown."""


def held(objections: Sequence[Objection], policy: Policy, *, by_hand: bool) -> str:
    """Says that work is blocked, and why."""
    listed = [f"- {objection(one)}" for one in objections[:_LISTED]]
    more = [f"- and {len(objections) - _LISTED} more"] if len(objections) > _LISTED else []
    instead = "change it there by hand" if by_hand else "a comment has the agent change it"
    made = "What was changed by hand" if by_hand else "What the agent made"
    way_out = (
        f"`/{policy.label} approve`, by somebody who may push, publishes it exactly as it is now. Otherwise {instead}."
        if all(one.may_be_approved for one in objections)
        else f"It cannot be approved, because I have not read all of it: {instead}."
    )
    what_now = f"{way_out} Until then all of it stays in the worktree, and nothing is committed or pushed."
    return "\n".join([f"{made} is held back: it needs a person's eyes.", "", *listed, *more, "", what_now])


def kept_in(folder: str) -> str:
    return f"The worktree, on the machine I run on, is\n\n    {folder}"


def may_not_publish(by: str, policy: Policy) -> str:
    return (
        f"{short_label(by)} may steer here, but not push: somebody who may push to the repository can let this out, "
        f"with `/{policy.label} approve`."
    )


def will_publish(by: str) -> str:
    return f"Allowed by {short_label(by)}, exactly as it is now. Publishing it as soon as there is a free slot."


def will_go_on(by: str) -> str:
    return f"Allowed by {short_label(by)}, exactly as it is now. The agent goes on as soon as there is a free slot."


def objection(one: Objection) -> str:
    where = f" {code_span(one.path)}" if one.path else ""
    return f"{one.rule}{where}: {neutralize_line(one.detail)}"

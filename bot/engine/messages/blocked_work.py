"""Says that changes are held back by the publish guard, and how to approve them. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.change import LIMIT, Objection
from bot.domain.policy import Policy
from bot.text.quote_untrusted import code_span, neutralize_line, short_label

_LISTED = 51
"""As many as the host lists: nobody may approve an objection that was not shown."""


def held(objections: Sequence[Objection], policy: Policy, *, by_hand: bool) -> str:
    """Says that changes are held back, and why."""
    listed = [f"- {objection(one)}" for one in objections[:_LISTED]]
    more = [f"- and {len(objections) - _LISTED} more"] if len(objections) > _LISTED else []
    instead = "change them in the worktree yourself" if by_hand else "comment to let the agent change them"
    whose = "The changes made by hand" if by_hand else "The agent's changes"
    way_out = (
        f"If somebody with push access comments `/{policy.label} approve`, they are published exactly as they are now. "
        f"Otherwise {instead}."
        if all(one.may_be_approved for one in objections)
        else f"They cannot be approved, because {_why_not(objections)}: {instead}."
    )
    what_now = f"{way_out} Until then they stay in the worktree, and nothing is committed or pushed."
    return "\n".join([f"{whose} are held back: a person has to review them.", "", *listed, *more, "", what_now])


def _why_not(objections: Sequence[Objection]) -> str:
    is_unread = any(one.rule == LIMIT for one in objections)
    return "Treehand has not read all of them" if is_unread else "nobody could download the content of the files"


def kept_in(folder: str) -> str:
    return f"The worktree on the daemon's machine:\n\n    {folder}"


def may_not_publish(by: str, policy: Policy) -> str:
    return (
        f"{short_label(by)} has no push access. Somebody with push access can publish these changes with "
        f"`/{policy.label} approve`."
    )


def will_publish(by: str) -> str:
    return (
        f"Approved by {short_label(by)}. The changes are published exactly as they are now, as soon as a slot is free."
    )


def will_go_on(by: str) -> str:
    return f"Approved by {short_label(by)}, exactly as it is now. The run continues as soon as a slot is free."


def objection(one: Objection) -> str:
    where = f" {code_span(one.path)}" if one.path else ""
    return f"{one.rule}{where}: {neutralize_line(one.detail)}"

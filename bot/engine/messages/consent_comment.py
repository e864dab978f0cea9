"""Asks people to approve requests and edits by people without permission. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.comment import Comment
from bot.domain.issue import Edit, Person
from bot.domain.policy import Policy
from bot.text.quote_untrusted import short_label


def asked_by_stranger(person: Person, policy: Policy) -> str:
    return (
        f"{short_label(person.name)} put the label `{policy.label}` on, but may not steer here, so I wait.\n\n"
        f"Somebody who may can say `/{policy.label} approve`, or take the label off and put it on again."
    )


def edited_by_stranger(edit: Edit, policy: Policy) -> str:
    changed = f"{short_label(edit.by.name)} changed this issue after it was asked for, but may not steer here."
    accept = f"`/{policy.label} approve` accepts it as it reads now"
    if edit.original_known:
        before = f"`/{policy.label} resume` goes on with what it said before"
        return f"{changed}\n\nI do not use the change. {accept}; {before}."
    return (
        f"{changed}\n\nI do not know what it said before, so I use neither. {accept}; so does taking the label off and "
        "putting it on again."
    )


def held_comments(comments: Sequence[Comment], policy: Policy) -> str:
    reasons = " ".join(dict.fromkeys(map(_why_held, comments)))
    accept = f"`/{policy.label} approve` accepts what is said there as it reads now, and the work on it"
    aside = f"`/{policy.label} resume` goes on without it; what an agent has done for it so far stays in the worktree"
    return f"{reasons}\n\nI do not use it. {accept}; {aside}."


def _why_held(comment: Comment) -> str:
    author = short_label(comment.author.name)
    if comment.edited_by:
        return f"{short_label(comment.edited_by.name)} changed a comment of {author}, but may not steer here."
    return f"{author} asked for something, but may not steer here any more."


def approver_left(names: Sequence[str], policy: Policy) -> str:
    who = " and ".join(dict.fromkeys(map(short_label, names)))
    return (
        f"{who} approved this, but may not do so any more, or has taken it back.\n\n"
        f"`/{policy.label} approve` approves it again."
    )


def changed_since(approver: str, policy: Policy) -> str:
    changed = f"The request has changed since {short_label(approver)} approved it."
    return f"{changed}\n\n`/{policy.label} approve` accepts it as it reads now."


def changed_again() -> str:
    return "It is not any more as it was when I asked. I ask again: have another look, please."


def approved(by: str) -> str:
    return f"Approved by {short_label(by)}. Going on as soon as there is a free slot."


def left_aside() -> str:
    return "Going on with what was asked for; the change is left aside."


def comments_left_aside() -> str:
    return "Going on without that comment."

"""Asks people to approve requests and edits by people without permission. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.comment import Comment
from bot.domain.issue import Edit, Person
from bot.domain.policy import Policy
from bot.text.quote_untrusted import short_label


def requested_without_permission(person: Person, policy: Policy) -> str:
    return (
        f"{short_label(person.name)} added the label `{policy.label}` but has no permission to request work here.\n\n"
        f"To start, somebody with permission can comment `/{policy.label} approve`, or remove the label and add it "
        "again."
    )


def edited_without_permission(edit: Edit, policy: Policy) -> str:
    name = short_label(edit.by.name)
    changed = f"{name} changed this issue after the work was requested, but has no permission to request work here."
    if edit.original_known:
        approve = f"`/{policy.label} approve` approves the current text"
        resume = f"`/{policy.label} resume` continues with the earlier text"
        return f"{changed}\n\nTreehand ignores the change. {approve}; {resume}."
    return (
        f"{changed}\n\nTreehand does not have the earlier text, so it uses neither version. To approve the current "
        f"text, comment `/{policy.label} approve`, or remove the label and add it again."
    )


def held_comments(comments: Sequence[Comment], policy: Policy) -> str:
    reasons = " ".join(dict.fromkeys(map(_why_held, comments)))
    these, their, them = ("this comment", "its", "it") if len(comments) == 1 else ("these comments", "their", "them")
    approve = f"`/{policy.label} approve` approves {their} current text and the work done for {them}."
    resume = f"`/{policy.label} resume` continues without {these}; the work done so far stays in the worktree."
    return f"{reasons}\n\nTreehand ignores {these}. {approve} {resume}"


def _why_held(comment: Comment) -> str:
    author = short_label(comment.author.name)
    if comment.edited_by:
        return f"{short_label(comment.edited_by.name)} changed a comment of {author}, but has no permission to steer."
    return f"{author} asked for something, but no longer has permission to steer."


def approver_left(names: Sequence[str], policy: Policy) -> str:
    who = " and ".join(dict.fromkeys(map(short_label, names)))
    return (
        f"{who} approved this, but may no longer approve it, or withdrew the approval.\n\n"
        f"`/{policy.label} approve` approves it again."
    )


def changed_since(approver: str, policy: Policy) -> str:
    changed = f"The request has changed since {short_label(approver)} approved it."
    return f"{changed}\n\n`/{policy.label} approve` approves the current text."


def changed_again() -> str:
    return "The text has changed again since Treehand asked. Please review the current text and answer again."


def approved(by: str) -> str:
    return f"Approved by {short_label(by)}. The run continues as soon as a slot is free."


def left_aside() -> str:
    return "The run continues with the earlier text and ignores the change."


def comments_left_aside() -> str:
    return "The run continues without the comment."

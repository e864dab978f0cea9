"""What people wrote becomes what an agent may read: what they saw of it, and nothing that was hidden from them.

Rule: what is taken out is counted, and the count is shown to people.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from bot.domain.comment import Comment, Remark
from bot.domain.issue import Edit, Issue
from bot.domain.pull_request import Checks, FailedCheck, PullRequest
from bot.text import visible as letters
from bot.text.hidden_markup import without_markup, without_unseen

_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Reading:
    text: str
    hidden: int = 0
    """Passages that were left out."""


@lru_cache(maxsize=4000)  # the same words, of a thousand issues and what was said there, are looked at in every tick
def read(text: str) -> Reading:
    """Markdown, as people write it."""
    text, hidden = letters.with_count(text)
    for _ in range(_ROUNDS):
        seen, gone = without_unseen(text)
        if seen == text:
            return Reading(text, hidden)
        text, hidden = seen, hidden + gone
    return Reading(without_markup(text), hidden)  # what is left joins to something new again and again: no accident


def read_plain(text: str) -> Reading:
    """Titles, code and what programs print: nothing in it is markup."""
    return Reading(*letters.with_count(text))


def read_issue(issue: Issue) -> tuple[Issue, int]:
    title, body = read_plain(issue.title), read(issue.body)
    edit = _read_edit(issue.edit) if issue.edit else None
    return replace(issue, title=title.text, body=body.text, edit=edit), title.hidden + body.hidden


def _read_edit(edit: Edit) -> Edit:
    return replace(edit, title=read_plain(edit.title).text, body=read(edit.body).text)


def read_comment(comment: Comment) -> tuple[Comment, int]:
    text, remarks = read(comment.text), [_read_remark(remark) for remark in comment.remarks]
    hidden = text.hidden + sum(unseen for _, unseen in remarks)
    return replace(comment, text=text.text, remarks=tuple(remark for remark, _ in remarks)), hidden


def _read_remark(remark: Remark) -> tuple[Remark, int]:
    text = read(remark.text)
    return replace(
        remark, path=letters.on_one_line(remark.path), text=text.text, hunk=read_plain(remark.hunk).text
    ), text.hidden


def read_pull_request(pull: PullRequest) -> PullRequest:
    """Its checks; title and body are not for agents."""
    return replace(pull, checks=_read_checks(pull.checks))


def _read_checks(checks: Checks) -> Checks:
    return replace(checks, failed=tuple(map(_read_check, checks.failed)))


def _read_check(check: FailedCheck) -> FailedCheck:
    return replace(
        check,
        name=letters.on_one_line(check.name),
        summary=read(check.summary).text,
        annotations=tuple(map(letters.visible, check.annotations)),
        log=letters.visible(check.log),
    )

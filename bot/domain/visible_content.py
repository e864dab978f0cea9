"""Removes hidden text from issues, comments and pull requests, before an agent gets them.

Rule: what is removed is counted, and the count is shown to people.
"""

from dataclasses import replace

from bot.domain.comment import Comment, Remark
from bot.domain.issue import Edit, Issue
from bot.domain.pull_request import Checks, FailedCheck, PullRequest
from bot.text import invisible_characters
from bot.text.read_untrusted import read, read_plain

_FIRST_WORDS = 200
"""Letters."""


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


def unread_comment(comment: Comment) -> Comment:
    """Returns a comment by a person without permission: its first words, which may be a command, and nothing else."""
    text = invisible_characters.on_one_line(comment.text[:_FIRST_WORDS].lstrip().partition("\n")[0])
    remarks = tuple(replace(remark, path="", text="", hunk="") for remark in comment.remarks)
    return replace(comment, text=text, remarks=remarks)


def _read_remark(remark: Remark) -> tuple[Remark, int]:
    text = read(remark.text)
    return replace(
        remark, path=invisible_characters.on_one_line(remark.path), text=text.text, hunk=read_plain(remark.hunk).text
    ), text.hidden


def read_pull_request(pull: PullRequest) -> PullRequest:
    """Reads only its checks: agents do not get title and body."""
    return replace(pull, checks=_read_checks(pull.checks))


def _read_checks(checks: Checks) -> Checks:
    return replace(checks, failed=tuple(map(_read_check, checks.failed)))


def _read_check(check: FailedCheck) -> FailedCheck:
    return replace(
        check,
        name=invisible_characters.on_one_line(check.name),
        summary=read(check.summary).text,
        annotations=tuple(map(invisible_characters.strip_invisible, check.annotations)),
        log=invisible_characters.strip_invisible(check.log),
    )

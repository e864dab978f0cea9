"""Every sentence an agent is told. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.comment import Comment
from bot.domain.issue import Issue

_RULES = """\
You work alone in a git worktree made for this issue. Change the files here so that the issue is resolved, and run the
project's own tests if it has any. Leave your work in the files: it is committed and offered as a pull request when you
finish, so do not push, do not switch branches and do not touch anything outside this folder. Keep to what is asked.
Messages from the team may reach you while you work; they take precedence over the issue. If you cannot go on without
an answer from a person, call the `ask` tool with one clear question. When you are done, say in a few sentences what
you changed and how you checked it."""


def briefing(issue: Issue, thread: Sequence[Comment]) -> str:
    """For an agent that knows nothing yet: the request and what was said about it so far."""
    said = f"\n\nWhat the team has said about it, oldest first:\n{_quote(thread)}" if thread else ""
    body = issue.body.strip() or "(The issue has no description.)"
    return f"{_RULES}\n\n# {issue.title} ({issue.key})\n\n{body}{said}"


def follow_up(comments: Sequence[Comment]) -> str:
    """For an agent that remembers the briefing: only what it has not heard."""
    if not comments:
        return "Please go on with the issue: you were interrupted before you had finished. Look at what is there first."
    return f"The team replied. Adjust your work accordingly.\n{_quote(comments)}"


def message(comment: Comment) -> str:
    """Said into a running turn."""
    return f"A message from the team about the work you are doing. Adjust it accordingly.\n{_quote((comment,))}"


def try_again(detail: str, comments: Sequence[Comment]) -> str:
    told = _quote(comments) if comments else ""
    return f"The last attempt ended early: {detail} Look at what is there and finish the issue.\n{told}"


def _quote(comments: Sequence[Comment]) -> str:
    return "".join(f"\n**{comment.author.name}:** {comment.text.strip()}\n{_remarks(comment)}" for comment in comments)


def _remarks(comment: Comment) -> str:
    return "".join(
        f"\n- `{remark.path}` line {remark.line}: {remark.text.strip()}\n{_hunk(remark.hunk)}"
        for remark in comment.remarks
    )


def _hunk(hunk: str) -> str:
    return "".join(f"    {line}\n" for line in hunk.splitlines())

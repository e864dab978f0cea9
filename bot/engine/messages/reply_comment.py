"""Replies to comments and inline comments after a turn. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.comment import Comment, CommentOutcome, CommentRecord
from bot.domain.turn import TurnReport
from bot.engine.messages import commit_message
from bot.text.quote_untrusted import quote


def answer(spoken: Sequence[tuple[Comment, CommentRecord]], turn: TurnReport) -> str:
    """The reply to comments: facts first, then the agent's own words."""
    on_their_own = [f"{_recalled(comment)}\n\n{verdict(row)}" for comment, row in spoken if row.reason]
    together = [(comment, row) for comment, row in spoken if not row.reason]
    jointly = "\n".join(_recalled(comment) for comment, _ in together)
    did = [f"{jointly}\n\n{verdict(together[0][1])}"] if together else []
    words = [f"The agent says:\n\n{quote(turn.summary)}"] if turn.summary.strip() else []
    return "\n\n".join([*on_their_own, *did, *words])


def _recalled(comment: Comment) -> str:
    quoted = quote(commit_message.first_line(comment.text))
    if not comment.remarks:
        return quoted or ">"
    remarks = f"{len(comment.remarks)} inline comment{'s' if len(comment.remarks) != 1 else ''}, answered in place"
    return f"{quoted} ({remarks})" if quoted else f"> A review: {remarks}"


def verdict(row: CommentRecord, words: str = "") -> str:
    """Outcome of one comment. Reasons and answers are the agent's."""
    match row.outcome:
        case CommentOutcome.APPLIED:
            did = f"Done in {row.commit[:10]}."
        case CommentOutcome.DECLINED:
            return f"Declined:\n\n{quote(row.reason)}"
        case _ if row.reason:
            return f"The agent answers:\n\n{quote(row.reason)}"
        case _:
            did = "No file was changed."
    return f"{did}\n\nThe agent says:\n\n{quote(words)}" if words.strip() else did

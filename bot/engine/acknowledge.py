"""Acknowledges comments: an eyes reaction when seen, a rocket and a reply when done. Pure."""

from bot.domain.comment import Comment, CommentPlace, CommentRecord, Remark
from bot.domain.reaction import Reaction
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine import comment_ledger
from bot.engine.actions import PostComment, React
from bot.engine.messages import reply_comment


def ack_seen(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(
        React(comment.place, comment.id, Reaction.SEEN)
        for comment in comments
        if Reaction.SEEN not in comment.reactions
    )


def ack_done(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(React(comment.place, comment.id, Reaction.DONE) for comment in comments)


def replies(run: Run, heard: tuple[Comment, ...], turn: TurnReport) -> tuple[PostComment, ...]:
    """Replies to each inline remark in its thread, and to everything else in one reply per place.

    Comments from before the run are part of the request and get no reply. `run` holds the outcomes.
    """
    since = tuple(comment for comment in heard if comment.at >= run.begun_at)
    rows = {row.comment: row for row in run.comments}
    return tuple(say for place in CommentPlace for say in _replies_at(place, run, since, rows, turn))


def _replies_at(
    place: CommentPlace, run: Run, heard: tuple[Comment, ...], rows: dict[str, CommentRecord], turn: TurnReport
) -> tuple[PostComment, ...]:
    here = tuple(comment for comment in heard if comment.place is place)
    threads = tuple(remark for comment in here for remark in comment.remarks if remark.id in rows)
    spoken = tuple((comment, rows[comment.id]) for comment in here if _needs_words(comment, here))
    in_all = (
        (PostComment(place, f"reply-{run.turns.number}", reply_comment.answer(spoken, turn), _thread_of(spoken)),)
        if spoken
        else ()
    )
    return (*in_all, *(_in_thread(place, run, remark, rows[remark.id], turn, alone=not spoken) for remark in threads))


def _thread_of(spoken: tuple[tuple[Comment, CommentRecord], ...]) -> str:
    """Returns the thread to reply in if all comments are in one thread of the issue; otherwise empty."""
    threads = {comment.thread for comment, _ in spoken}
    return threads.pop() if len(threads) == 1 else ""


def _needs_words(comment: Comment, here: tuple[Comment, ...]) -> bool:
    """Returns True if the comment gets a part in the joint reply; a lone remark is answered in its thread only."""
    threads = sum(len(each.remarks) for each in here)
    return bool(comment.text.strip()) or (comment.review and threads > 1) or not comment_ledger.has_threads(comment)


def _in_thread(
    place: CommentPlace, run: Run, remark: Remark, row: CommentRecord, turn: TurnReport, *, alone: bool
) -> PostComment:
    text = reply_comment.verdict(row, turn.summary if alone else "")
    return PostComment(place, f"reply-{run.turns.number}-{remark.id}", text, thread=remark.id)

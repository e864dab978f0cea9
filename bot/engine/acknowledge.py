"""How people see that they were heard: eyes when it was noticed, a rocket and a reply when it was worked on. Pure."""

from bot.domain.comment import Comment, Heard, Place, Reaction, Remark
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine import comment_ledger as ledger
from bot.engine.actions import React, Say
from bot.engine.messages import issue as messages


def eyes(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(
        React(comment.place, comment.id, Reaction.SEEN)
        for comment in comments
        if Reaction.SEEN not in comment.reactions
    )


def rockets(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(React(comment.place, comment.id, Reaction.ENDED) for comment in comments)


def replies(run: Run, heard: tuple[Comment, ...], turn: TurnReport) -> tuple[Say, ...]:
    """Each inline remark is answered in its thread, everything else in one reply per place.

    What was said before the work began was part of the request. `run` holds what has become of each.
    """
    since = tuple(comment for comment in heard if comment.at >= run.begun_at)
    rows = {row.comment: row for row in run.heard}
    return tuple(say for place in Place for say in _replies_at(place, run, since, rows, turn))


def _replies_at(
    place: Place, run: Run, heard: tuple[Comment, ...], rows: dict[str, Heard], turn: TurnReport
) -> tuple[Say, ...]:
    here = tuple(comment for comment in heard if comment.place is place)
    threads = tuple(remark for comment in here for remark in comment.remarks if remark.id in rows)
    spoken = tuple((comment, rows[comment.id]) for comment in here if _needs_words(comment, here))
    in_all = (Say(place, f"reply-{run.turn}", messages.answer(spoken, turn), _thread_of(spoken)),) if spoken else ()
    return (*in_all, *(_in_thread(place, run, remark, rows[remark.id], turn, alone=not spoken) for remark in threads))


def _thread_of(spoken: tuple[tuple[Comment, Heard], ...]) -> str:
    """All was said in one thread of the issue: it is answered there."""
    threads = {comment.thread for comment, _ in spoken}
    return threads.pop() if len(threads) == 1 else ""


def _needs_words(comment: Comment, here: tuple[Comment, ...]) -> bool:
    """A lone remark is answered in its thread, at length; of several, the conversation says once what was done."""
    threads = sum(len(each.remarks) for each in here)
    return bool(comment.text.strip()) or (comment.review and threads > 1) or not ledger.has_threads(comment)


def _in_thread(place: Place, run: Run, remark: Remark, row: Heard, turn: TurnReport, *, alone: bool) -> Say:
    text = messages.verdict(row, turn.words if alone else "")
    return Say(place, f"reply-{run.turn}-{remark.id}", text, thread=remark.id)

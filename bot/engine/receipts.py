"""How people see that they were heard: eyes when it was noticed, a rocket and a reply when it was worked on. Pure."""

from bot.domain.comment import Comment, Place, Reaction
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine import messages
from bot.engine.actions import React, Say


def eyes(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(
        React(comment.place, comment.id, Reaction.SEEN)
        for comment in comments
        if Reaction.SEEN not in comment.reactions
    )


def rockets(comments: tuple[Comment, ...]) -> tuple[React, ...]:
    return tuple(React(comment.place, comment.id, Reaction.ENDED) for comment in comments)


def replies(run: Run, heard: tuple[Comment, ...], turn: TurnReport, commit: str) -> tuple[Say, ...]:
    """One reply per place, to what was said since the work began; what came before was part of the request."""
    by_place = {
        place: tuple(comment for comment in heard if comment.place is place and comment.at >= run.begun_at)
        for place in Place
    }
    return tuple(
        Say(place, f"reply-{run.turn}", messages.answer(comments, turn, commit))
        for place, comments in by_place.items()
        if comments
    )

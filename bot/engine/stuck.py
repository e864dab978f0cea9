"""Says on the issue, once, that a step of a run has failed for long, and takes it back when it succeeds. Pure.

Rule: the step is tried again all the time; only people are told of it so late.
"""

from dataclasses import replace

from bot.domain.comment import CommentPlace
from bot.domain.run import Run
from bot.engine.actions import PostComment
from bot.engine.decision import Decision
from bot.engine.messages import stuck_comment

TOLD_AFTER_SECONDS = 900.0


def tell(run: Run, why: str, *, seconds: float) -> Decision:
    """Returns the comment, unless it is posted already or not due. `seconds`: how long the step has failed."""
    if run.stuck or not why or seconds < TOLD_AFTER_SECONDS:
        return Decision(run)
    slug = f"stuck-{run.turns.number}"
    comment = PostComment(CommentPlace.ISSUE, slug, stuck_comment.stuck(why, seconds))
    return Decision(replace(run, stuck=slug), (comment,))


def take_back(decision: Decision) -> Decision:
    """Adds the edit of that comment to the next step, after all of its other actions: it is posted if they succeed."""
    run = decision.run
    if not (run.stuck and decision.actions):
        return decision
    edit = PostComment(CommentPlace.ISSUE, run.stuck, stuck_comment.is_over())
    return decision.then(replace(run, stuck=""), edit)

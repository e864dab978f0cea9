"""Asks a person: the run posts one question, and waits. Pure."""

import hashlib
from dataclasses import replace

from bot.domain.comment import CommentPlace
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.engine.actions import PostComment
from bot.engine.decision import Decision
from bot.engine.messages import commit_message, question_comment
from bot.engine.observation import Observation

NOT_WOKEN_BY_COMMENTS = frozenset(
    {WaitReason.PAUSED, WaitReason.BUDGET, WaitReason.TAKEN_OVER, WaitReason.CONSENT, WaitReason.MODEL_CHOICE}
)
"""Wait reasons that a comment alone does not end."""


def requeue(run: Run, now: float) -> Run:
    """Clears the failure counts, because a person asked to continue."""
    return replace(run, turns=replace(run.turns, failures=0, losses=0, not_before=0.0)).to(Phase.QUEUED, now=now)


def ask(run: Run, seen: Observation, policy: Policy, cause: WaitReason, text: str) -> Decision:
    return ask_after(Decision(run), seen, policy, cause, text)


def ask_after(
    decision: Decision, seen: Observation, policy: Policy, cause: WaitReason, text: str, *, about: str = ""
) -> Decision:
    """Posts a new comment, because an edit notifies nobody. `about` distinguishes questions with the same cause."""
    asking = decision.run.to(Phase.ASKING, reason=_gist(text), wait_reason=cause, now=seen.now)
    exactly = f"-{hashlib.sha256(about.encode()).hexdigest()[:10]}" if about else ""
    slug = f"ask-{asking.turns.number}-{cause}{exactly}".replace(" ", "-")
    question = question_comment.asks(text, policy, a_reply_does=cause not in NOT_WOKEN_BY_COMMENTS)
    post = PostComment(CommentPlace.ISSUE, slug, question, folder=cause is WaitReason.BLOCKED)
    return decision.then(replace(asking, turns=replace(asking.turns, ended=asking.turns.number)), post)


def _gist(text: str) -> str:
    """Returns the first line; if it ends with a colon, also the beginning of the quote after it."""
    begun = commit_message.first_line(text)
    quoted = next((line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")), "")
    return commit_message.first_line(f"{begun} {quoted}") if begun.endswith(":") else begun

"""Asks a person: the run posts one question, and waits. Pure."""

import hashlib
from dataclasses import replace

from bot.domain.command import CommentCommand
from bot.domain.comment import Comment, CommentPlace
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.engine.actions import PostComment
from bot.engine.decision import Decision
from bot.engine.messages import commit_message, question_comment
from bot.engine.observation import Observation

NOT_WOKEN_BY_COMMENTS = frozenset(
    {
        WaitReason.PAUSED,
        WaitReason.BUDGET,
        WaitReason.DAY_BUDGET,
        WaitReason.TAKEN_OVER,
        WaitReason.CONSENT,
        WaitReason.MODEL_CHOICE,
    }
)
"""Wait reasons that a comment alone does not end."""

_APPROVABLE = frozenset({WaitReason.CONSENT, WaitReason.PLAN, WaitReason.BLOCKED})
"""Wait reasons that an approval ends."""


def requeue(run: Run, now: float) -> Run:
    """Clears the failure counts, because a person asked to continue."""
    return replace(run, turns=replace(run.turns, failures=0, losses=0, not_before=0.0)).to(Phase.QUEUED, now=now)


def ask(run: Run, seen: Observation, policy: Policy, cause: WaitReason, text: str) -> Decision:
    return ask_after(Decision(run), seen, policy, cause, text)


def ask_after(
    decision: Decision, seen: Observation, policy: Policy, cause: WaitReason, text: str, *, about: str = ""
) -> Decision:
    """Posts a new comment, because an edit notifies nobody. `about` distinguishes questions with the same cause.

    A failure that is `about` something is asked once: after a reply that changed nothing, the question stands already.
    """
    asking = decision.run.to(Phase.ASKING, reason=_gist(text), wait_reason=cause, now=seen.now)
    exactly = f"-{_digest(about)[:10]}" if about else ""
    turn = "" if about and cause is WaitReason.FAILED else f"{asking.turns.number}-"
    slug = f"ask-{turn}{cause}{exactly}".replace(" ", "-")
    name = f"q-{_digest(f'{asking.id} {slug} {about or text}')[:6]}" if cause in _APPROVABLE else ""
    text = question_comment.with_question_named(text, name, policy)
    question = question_comment.asks(text, policy, a_reply_does=cause not in NOT_WOKEN_BY_COMMENTS)
    post = PostComment(CommentPlace.ISSUE, slug, question, folder=cause is WaitReason.BLOCKED)
    turns = replace(asking.turns, ended=asking.turns.number)
    return decision.then(replace(asking, turns=turns, question=name, asked_at=0.0), post)


def why_not_approved(run: Run, policy: Policy, command: CommentCommand, comment: Comment) -> str:
    """Returns the reply to an approval of another question than the one that waits; empty if it is of this one.

    Without a name it is of the question that stood when it was written.
    """
    if command.question:
        return question_comment.other_question(run.question, policy) if command.question != run.question else ""
    is_open = run.phase is Phase.ASKING and bool(run.question)
    return question_comment.asked_since(run.question, policy) if is_open and comment.at < run.asked_at else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _gist(text: str) -> str:
    """Returns the first line; if it ends with a colon, also the beginning of the quote after it."""
    begun = commit_message.first_line(text)
    quoted = next((line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")), "")
    return commit_message.first_line(f"{begun} {quoted}") if begun.endswith(":") else begun

"""Replies about taking over a worktree and giving it back. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.text.quote_untrusted import short_label


def taken_by(name: str, policy: Policy) -> str:
    return f"{short_label(name)} has taken over the worktree; `/{policy.label} give` gives it back"


def handed_over(folder: str, command: str, policy: Policy) -> str:
    resume = f"To resume the agent's session yourself, run:\n\n    {command}\n\n" if command else ""
    return (
        "The worktree is yours until you give it back; Treehand does not touch it. Its path on the daemon's machine:"
        f"\n\n    {folder}\n\n{resume}"
        f"`/{policy.label} give` gives it back: your changes become a separate commit, and the agent continues."
    )


def nothing_to_take() -> str:
    return "There is no worktree to take over yet: no agent has started."


def not_taken() -> str:
    return "The worktree is not taken over, so there is nothing to give back."


def while_taken(run: Run) -> str:
    return f"Not now: {run.reason}."


def given_back() -> str:
    return "Thank you. Your changes become a separate commit, and the agent continues from there."

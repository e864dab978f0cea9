"""Replies about taking a worktree over and giving it back. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.text.quote_untrusted import short_label


def taken_by(name: str, policy: Policy) -> str:
    return f"{short_label(name)} has taken the worktree over; `/{policy.label} give` hands it back"


def handed_over(folder: str, command: str, policy: Policy) -> str:
    resume = f"The agent's conversation goes on by hand with\n\n    {command}\n\n" if command else ""
    return (
        f"It is yours, and nothing of mine touches it meanwhile. The worktree, on the machine I run on, is\n\n"
        f"    {folder}\n\n{resume}"
        f"`/{policy.label} give` hands it back: what you changed is kept as a commit of its own, and the agent goes on."
    )


def nothing_to_take() -> str:
    return "There is nothing to take over yet: no agent has begun."


def not_taken() -> str:
    return "Nobody has taken this over, so there is nothing to hand back."


def while_taken(run: Run) -> str:
    return f"Not now: {run.reason}."


def given_back() -> str:
    return "Thank you. What you changed is kept as a commit of its own, and the agent goes on from there."

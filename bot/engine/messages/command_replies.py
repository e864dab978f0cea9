"""Replies to comment commands: help, status, why. Pure text in, text out."""

from bot.domain.command import MEANINGS, CommandName
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run
from bot.engine.messages import progress_comment
from bot.engine.observation import Observation
from bot.text.quote_untrusted import code_span, neutralize_line, short_label


def help_text(policy: Policy) -> str:
    commands = "\n".join(f"- `/{policy.label} {name}`: {MEANINGS[name]}" for name in CommandName)
    return f"Any other comment steers the agent. Commands, in the first line of a comment:\n\n{commands}"


def unknown_command(word: str, policy: Policy) -> str:
    return f"I do not know {code_span(word)}. {help_text(policy)}"


def not_trusted(author: str) -> str:
    return f"{short_label(author)} may not steer here, so I did not do that."


def status(run: Run, seen: Observation) -> str:
    doing = (
        f" Now: {neutralize_line(seen.turn.progress.action)}."
        if run.phase is Phase.WORKING and seen.turn.progress.action
        else ""
    )
    headline = progress_comment.headline(run)
    return f"{headline}.{doing}\n\n{progress_comment.spent_so_far(run, seen)}".strip()


def why(run: Run, seen: Observation) -> str:
    match run.phase:
        case Phase.QUEUED:
            return f"It is queued: {neutralize_line(run.reason) or 'it starts at the next look'}."
        case Phase.WORKING if 0 < run.turns.ended == run.turns.number and run.reason:
            return f"It waits: {neutralize_line(run.reason)}"
        case Phase.WORKING:
            action = neutralize_line(seen.turn.progress.action or run.reason)
            return f"An agent is at work on it: {action or 'it has just begun'}."
        case Phase.REVIEW if run.reason:
            return f"A pull request is open: {neutralize_line(run.reason)}"
        case Phase.REVIEW:
            return "A pull request is open, and waits for you: comment to steer, merge to finish."
        case Phase.ASKING:
            return f"I need you: {neutralize_line(run.reason)}"
        case Phase.DONE:
            return f"It is over: {run.reason}."


def already_waiting() -> str:
    return "It waits for you already: nothing is at work."

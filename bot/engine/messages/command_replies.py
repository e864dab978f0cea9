"""Replies to comment commands: help, status, why. Pure text in, text out."""

from bot.domain.command import MEANINGS, CommandName
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run
from bot.engine.messages import progress_comment, verification_text
from bot.engine.observation import Observation
from bot.text.quote_untrusted import code_span, neutralize_line, short_label


def help_text(policy: Policy) -> str:
    commands = "\n".join(f"- `/{policy.label} {name}`: {MEANINGS[name]}" for name in CommandName)
    return f"Any other comment steers the agent. Commands, in the first line of a comment:\n\n{commands}"


def unknown_command(word: str, policy: Policy) -> str:
    return f"{code_span(word)} is not a command. {help_text(policy)}"


def not_trusted(author: str) -> str:
    return f"{short_label(author)} has no permission to steer this run, so Treehand ignored the command."


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
            return f"The run is queued: {neutralize_line(run.reason) or 'it starts at the next poll'}."
        case Phase.WORKING if waits := _waiting_text(run):
            return waits
        case Phase.WORKING:
            action = neutralize_line(seen.turn.progress.action or run.reason)
            return f"An agent is working: {action or 'it has just started'}."
        case Phase.REVIEW if run.reason:
            return f"A pull request is open: {neutralize_line(run.reason)}"
        case Phase.REVIEW:
            short = verification_text.in_short(run.checks.verification)
            return f"A pull request is open and waits for you: comment to steer, merge to finish. {short}".rstrip()
        case Phase.ASKING:
            return f"The run waits for you: {neutralize_line(run.reason)}"
        case Phase.DONE:
            return f"The run is over: {run.reason}."


def why_without_daemon(run: Run, action: str, suspended: str = "") -> str:
    """`action` is the agent's last one; `suspended` the pid of a daemon that is there and does nothing."""
    state = "it stays queued" if run.phase is Phase.QUEUED else "no agent is working on it"
    text = (
        f"The daemon is suspended, so {state}. `kill -CONT {suspended}` continues it."
        if suspended
        else f"No daemon is running, so {state}. `treehand run` starts one, which continues from here."
    )
    if waits := _waiting_text(run):
        return f"{waits.rstrip('.')}. {text}"
    last = f" Its agent's last action: {neutralize_line(action)}." if action and run.phase is Phase.WORKING else ""
    return text + last


def _waiting_text(run: Run) -> str:
    """Returns why a run between two turns waits; nothing where it does not."""
    waits = run.phase is Phase.WORKING and 0 < run.turns.ended == run.turns.number and run.reason
    return f"The run waits: {neutralize_line(run.reason)}" if waits else ""


def back_in_review() -> str:
    return "The run is in review again: comment to steer, merge to finish."


def answered_on_the_issue() -> str:
    return "Treehand answers on the issue."


def already_waiting() -> str:
    return "The run is already waiting for you; no agent is working."

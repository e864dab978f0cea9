"""What a comment command does to a run. Pure: the part of `decide` that answers people without a model."""

from dataclasses import replace

from bot.domain.command import Command, CommandName, parse_command
from bot.domain.comment import Comment, Outcome, Reaction
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine import ledger, messages
from bot.engine.actions import CancelTurn, React, Say
from bot.engine.decision import Decision
from bot.engine.observation import Observation

PAUSED = "paused by command"


def obey(run: Run, seen: Observation, policy: Policy, comment: Comment) -> Decision:
    """Carry out one command and answer it where it was given."""
    command = parse_command(comment.text, policy.label)
    assert command
    if not comment.author.trusted:
        said = _say(comment, messages.not_trusted(comment.author.name))
        return Decision(ledger.close(run, comment, Outcome.NOT_TRUSTED), (said,))
    run = ledger.close(run, comment, Outcome.COMMAND)
    seen_it = React(comment.place, comment.id, Reaction.SEEN)
    decision, text = _effect(run, seen, policy, command)
    return replace(decision, actions=(seen_it, *decision.actions, _say(comment, text)))


def _say(comment: Comment, text: str) -> Say:
    return Say(comment.place, f"answer-{comment.id}", text)


def _effect(  # noqa: C901 - one case per command
    run: Run, seen: Observation, policy: Policy, command: Command
) -> tuple[Decision, str]:
    match command.name:
        case None:
            return Decision(run), messages.unknown_command(command.word, policy)
        case CommandName.HELP:
            return Decision(run), messages.help_text(policy)
        case CommandName.STATUS:
            return Decision(run), messages.status(run, seen)
        case CommandName.WHY:
            return Decision(run), messages.why(run, seen)
        case CommandName.STOP:
            return Decision(replace(run, cause=Cause.STOPPED)), "Stopping. What is published nowhere is kept safe."
        case CommandName.PAUSE:
            return _pause(run, seen)
        case CommandName.RESUME | CommandName.RETRY:
            return _requeue(run, seen, command.name)
        case CommandName.BUDGET:
            return _allow(run, seen, command.argument)


def _pause(run: Run, seen: Observation) -> tuple[Decision, str]:
    if run.phase is Phase.ASKING and run.cause is Cause.PAUSED:
        return Decision(run), "It is paused already. `resume` goes on."
    if run.phase is Phase.WORKING and run.ended < run.turn:
        decision = Decision(replace(run, cause=Cause.PAUSED), (CancelTurn(run.turn),))
    else:
        decision = Decision(run.to(Phase.ASKING, reason=PAUSED, cause=Cause.PAUSED, now=seen.now))
    return decision, "Paused. The work and the agent's memory are kept; `resume` goes on."


def _requeue(run: Run, seen: Observation, name: CommandName) -> tuple[Decision, str]:
    match run.phase:
        case Phase.ASKING:
            again = replace(run, failures=0, losses=0, not_before=0.0).to(Phase.QUEUED, now=seen.now)
            return Decision(again), "Going on as soon as there is a free slot."
        case Phase.WORKING if run.ended == run.turn:
            return Decision(replace(run, failures=0, not_before=0.0)), "Trying again now."
        case _:
            return Decision(run), f"There is nothing to {name} just now: {messages.why(run, seen)}"


def _allow(run: Run, seen: Observation, argument: str) -> tuple[Decision, str]:
    try:
        usd = float(argument.removeprefix("$"))
    except ValueError:
        usd = 0.0
    if not 0 < usd < float("inf"):
        return Decision(run), "Say how many dollars this issue may cost in all, for example `budget 10`."
    allowed = replace(run, budget_usd=usd)
    text = f"This issue may now cost ${usd:.2f} in all; ${seen.spent_usd:.2f} are spent."
    if run.phase is Phase.ASKING and run.cause is Cause.BUDGET and usd > seen.spent_usd:
        return Decision(allowed.to(Phase.QUEUED, now=seen.now)), f"{text} Going on."
    return Decision(allowed), text

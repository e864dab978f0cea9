"""What a comment command does to a run. Pure: the part of `decide` that answers people without a model."""

from dataclasses import replace

from bot.domain.command import Command, CommandName, parse_command
from bot.domain.comment import Comment, Outcome, Reaction
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine import (
    authorization as consent,
)
from bot.engine import (
    budget,
)
from bot.engine import (
    ci_and_conflicts as mending,
)
from bot.engine import (
    comment_ledger as ledger,
)
from bot.engine import (
    handover as handing,
)
from bot.engine import (
    model_choice as choosing,
)
from bot.engine import (
    plan_first as planning,
)
from bot.engine import (
    publish_approval as holding,
)
from bot.engine.actions import CancelTurn, React, Say
from bot.engine.ask_human import go_again
from bot.engine.circuit_breaker import CANARIES
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation

PAUSED = "paused by command"
_TOUCH_THE_WORKTREE = {
    CommandName.PLAN,
    CommandName.PAUSE,
    CommandName.RESUME,
    CommandName.RETRY,
    CommandName.REBASE,
}


def obey(run: Run, seen: Observation, policy: Policy, comment: Comment) -> Decision:
    """Carry out one command and answer it where it was given."""
    command = parse_command(comment.text, policy.label)
    assert command
    if not comment.author.trusted:
        said = _say(comment, messages.not_trusted(comment.author.name))
        return Decision(ledger.turn_away(run, comment), (said,))
    run = ledger.close(run, comment, Outcome.COMMAND)
    seen_it = React(comment.place, comment.id, Reaction.SEEN)
    decision, text = _effect(run, seen, policy, command, comment)
    answer = (_say(comment, text),) if text else ()
    return replace(decision, actions=(seen_it, *decision.actions, *answer))


def _say(comment: Comment, text: str) -> Say:
    return Say(comment.place, f"answer-{comment.id}", text, comment.thread)


def _effect(  # noqa: C901, PLR0912 - one case per command
    run: Run, seen: Observation, policy: Policy, command: Command, comment: Comment
) -> tuple[Decision, str]:
    if handing.is_taken(run) and command.name in _TOUCH_THE_WORKTREE:
        return Decision(run), answers.while_taken(run)
    match command.name:
        case None:
            return Decision(run), messages.unknown_command(command.word, policy)
        case CommandName.HELP:
            return Decision(run), messages.help_text(policy)
        case CommandName.STATUS:
            return Decision(run), messages.status(run, seen)
        case CommandName.WHY:
            return Decision(run), messages.why(run, seen)
        case CommandName.PLAN:
            return planning.plan(run, seen, policy)
        case CommandName.APPROVE:
            return _approve(run, seen, policy, comment)
        case CommandName.STOP:
            return Decision(replace(run, cause=Cause.STOPPED)), "Stopping. What is published nowhere is kept safe."
        case CommandName.PAUSE:
            return _pause(run, seen)
        case CommandName.RESUME | CommandName.RETRY:
            return _requeue(run, seen, policy, command.name)
        case CommandName.BUDGET:
            return budget.allow(run, seen, policy, command.argument)
        case CommandName.MODEL:
            return choosing.choose_model(run, seen, policy, command.argument)
        case CommandName.REBASE:
            return mending.rebase(run, seen, policy)
        case CommandName.TAKE:
            return handing.take(run, seen, policy, comment)
        case CommandName.GIVE:
            return handing.give(run, seen, comment)


def _approve(run: Run, seen: Observation, policy: Policy, comment: Comment) -> tuple[Decision, str]:
    match run.cause:
        case Cause.CONSENT:
            return consent.approve(run, seen, policy, by=comment.author.name)
        case Cause.PLAN if run.phase is Phase.ASKING:
            return planning.approve_plan(run, seen)
        case Cause.HELD if run.phase is Phase.ASKING:
            return holding.approve(run, seen, policy, by=comment.author)
        case _:
            return Decision(run), answers.nothing_to_approve()


def _pause(run: Run, seen: Observation) -> tuple[Decision, str]:
    if run.phase is Phase.ASKING and run.cause is Cause.PAUSED:
        return Decision(run), "It is paused already. `resume` goes on."
    if run.phase is Phase.ASKING and run.cause is Cause.HELD:
        return Decision(run), answers.waits_already()
    if run.phase is Phase.WORKING and run.ended < run.turn:
        decision = Decision(replace(run, cause=Cause.PAUSED), (CancelTurn(run.turn),))
    else:
        decision = Decision(run.to(Phase.ASKING, reason=PAUSED, cause=Cause.PAUSED, now=seen.now))
    return decision, "Paused. The work and the agent's memory are kept; `resume` goes on."


def _requeue(run: Run, seen: Observation, policy: Policy, name: CommandName) -> tuple[Decision, str]:
    match run.phase:
        case Phase.ASKING if run.cause is Cause.CONSENT:
            return consent.leave_aside(run, seen, policy)
        case Phase.ASKING:
            again = replace(go_again(mending.forgiven(run), seen.now), cause=Cause.RETRY)
            return Decision(again), "Going on as soon as there is a free slot."
        case Phase.WORKING if run.ended == run.turn:
            cause = run.cause if run.cause in CANARIES else Cause.RETRY
            return Decision(replace(run, failures=0, not_before=0.0, cause=cause)), "Trying again now."
        case _:
            return Decision(run), f"There is nothing to {name} just now: {messages.why(run, seen)}"

"""Runs comment commands such as `/ai stop`, and answers them without a model. Pure; a part of `decide`."""

from dataclasses import replace

from bot.domain.command import CommandName, CommentCommand, parse_command
from bot.domain.comment import Comment, CommentOutcome
from bot.domain.policy import Policy
from bot.domain.reaction import Reaction
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.engine import (
    authorization,
    ci_and_conflicts,
    ci_approval,
    comment_ledger,
    handover,
    issue_budget,
    model_choice,
    plan_first,
    publish_approval,
)
from bot.engine.actions import CancelTurn, PostComment, React
from bot.engine.ask_human import requeue, why_not_approved
from bot.engine.circuit_breaker import PROBE_REASONS
from bot.engine.decision import Decision
from bot.engine.messages import command_replies, handover_comment, plan_comment
from bot.engine.observation import Observation

PAUSED = "paused by command"
_JUDGED_BY_THE_RUN = {
    None,
    CommandName.HELP,
    CommandName.STOP,
    CommandName.PAUSE,
    CommandName.RESUME,
    CommandName.RETRY,
    CommandName.GIVE,
}
"""Commands whose effect does not depend on the issue or the pull request."""
_TOUCH_THE_WORKTREE = {
    CommandName.PLAN,
    CommandName.PAUSE,
    CommandName.RESUME,
    CommandName.RETRY,
    CommandName.REBASE,
}


def run_command(run: Run, seen: Observation, policy: Policy, comment: Comment) -> Decision:
    """Runs one command and replies where it was given."""
    command = parse_command(comment.text, policy.label)
    assert command
    if not comment.author.trusted:
        refusal = _say(comment, command_replies.not_trusted(comment.author.name))
        return Decision(comment_ledger.refuse(run, comment), (refusal,))
    run = comment_ledger.close(run, comment, CommentOutcome.COMMAND)
    seen_it = React(comment.place, comment.id, Reaction.SEEN)
    decision, text = _apply(run, seen, policy, command, comment)
    answer = (_say(comment, text),) if text else ()
    return replace(decision, actions=(seen_it, *decision.actions, *answer))


def foresee(run: Run, seen: Observation, policy: Policy, comment: Comment) -> tuple[bool, str]:
    """Returns whether a trusted person's command would change anything, and the reply, as far as the run tells."""
    command = parse_command(comment.text, policy.label)
    assert command
    if command.name not in _JUDGED_BY_THE_RUN:
        return True, command_replies.answered_on_the_issue()
    decision, text = _apply(run, seen, policy, command, comment)
    return bool(decision.actions) or decision.run != run, text


def _say(comment: Comment, text: str) -> PostComment:
    return PostComment(comment.place, f"answer-{comment.id}", text, comment.thread)


def _apply(  # noqa: C901, PLR0912 - one case per command
    run: Run, seen: Observation, policy: Policy, command: CommentCommand, comment: Comment
) -> tuple[Decision, str]:
    if handover.is_taken(run) and command.name in _TOUCH_THE_WORKTREE:
        return Decision(run), handover_comment.while_taken(run)
    match command.name:
        case None:
            return Decision(run), command_replies.unknown_command(command.typed, policy)
        case CommandName.HELP:
            return Decision(run), command_replies.help_text(policy)
        case CommandName.STATUS:
            return Decision(run), command_replies.status(run, seen)
        case CommandName.WHY:
            return Decision(run), command_replies.why(run, seen)
        case CommandName.PLAN:
            return plan_first.order_plan(run, seen, policy)
        case CommandName.APPROVE:
            other = why_not_approved(run, policy, command, comment)
            return (Decision(run), other) if other else _approve(run, seen, policy, comment)
        case CommandName.STOP:
            return Decision(replace(run, wait_reason=WaitReason.STOPPED)), "The run ends. Unpublished work is salvaged."
        case CommandName.PAUSE:
            return _pause(run, seen, policy)
        case CommandName.RESUME | CommandName.RETRY:
            return _requeue(run, seen, policy, command.name)
        case CommandName.BUDGET:
            return issue_budget.set_budget(run, seen, policy, command.argument)
        case CommandName.MODEL:
            return model_choice.choose_model(run, seen, policy, command.argument)
        case CommandName.REBASE:
            return ci_and_conflicts.rebase(run, seen, policy)
        case CommandName.TAKE:
            return handover.take_worktree(run, seen, policy, comment)
        case CommandName.GIVE:
            return handover.give_back(run, seen, comment)


def _approve(run: Run, seen: Observation, policy: Policy, comment: Comment) -> tuple[Decision, str]:
    match run.wait_reason:
        case WaitReason.CONSENT:
            return authorization.approve(run, seen, policy, by=comment)
        case WaitReason.PLAN if run.phase is Phase.ASKING:
            return plan_first.approve_plan(run, seen)
        case WaitReason.BLOCKED if run.phase is Phase.ASKING:
            return publish_approval.approve(run, seen, policy, comment=comment)
        case _ if ci_approval.is_waiting(run, seen):
            return ci_approval.approve(run, policy, comment)
        case _:
            return Decision(run), plan_comment.nothing_to_approve()


def _pause(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    if run.phase is Phase.ASKING and run.wait_reason is WaitReason.PAUSED:
        return Decision(run), f"The run is already paused; `/{policy.label} resume` continues it."
    if run.phase is Phase.ASKING and run.wait_reason is WaitReason.BLOCKED:
        return Decision(run), command_replies.already_waiting()
    if run.has_turn_in_flight:
        decision = Decision(replace(run, wait_reason=WaitReason.PAUSED), (CancelTurn(run.turns.number),))
    else:
        decision = Decision(pause(run, seen.now))
    return decision, f"Paused. The work and the agent's session are kept; `/{policy.label} resume` continues."


def pause(run: Run, now: float) -> Run:
    """A run in review has nothing to repeat: it returns there."""
    purpose = TurnPurpose.REVIEW if _is_only_reviewed(run) else run.purpose
    paused = run.to(Phase.ASKING, reason=PAUSED, wait_reason=WaitReason.PAUSED, now=now)
    return replace(paused, purpose=purpose)


def _is_only_reviewed(run: Run) -> bool:
    return run.phase is Phase.REVIEW and run.purpose is TurnPurpose.NONE


def _requeue(run: Run, seen: Observation, policy: Policy, name: CommandName) -> tuple[Decision, str]:
    match run.phase:
        case Phase.ASKING if run.wait_reason is WaitReason.CONSENT:
            return authorization.ignore_edit(run, seen, policy)
        case Phase.ASKING if run.purpose is TurnPurpose.REVIEW:
            reviewed = replace(run, purpose=TurnPurpose.NONE).to(Phase.REVIEW, now=seen.now)
            return Decision(reviewed), command_replies.back_in_review()
        case Phase.ASKING:
            again = replace(requeue(ci_and_conflicts.reset_fix_attempts(run), seen.now), wait_reason=WaitReason.RETRY)
            return Decision(again), "The run continues as soon as a slot is free."
        case Phase.WORKING if run.is_between_turns:
            cause = run.wait_reason if run.wait_reason in PROBE_REASONS else WaitReason.RETRY
            return Decision(
                replace(run, turns=replace(run.turns, failures=0, not_before=0.0), wait_reason=cause)
            ), "The run tries again now."
        case _:
            return Decision(run), f"There is nothing to {name} now: {command_replies.why(run, seen)}"

"""Starts a turn: builds its prompt, its budget and its order. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.branch_name import branch_for
from bot.domain.command import CommandName, parse_command
from bot.domain.comment import Comment
from bot.domain.issue_directives import parse_directives
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.domain.run_names import turn_id_for
from bot.domain.turn import TurnOrder
from bot.engine import (
    acknowledge,
    authorization,
    ci_and_conflicts,
    comment_ledger,
    handover,
    issue_budget,
    model_choice,
    plan_first,
    prompts,
    publish_approval,
)
from bot.engine.actions import StartTurn
from bot.engine.ask_human import ask
from bot.engine.circuit_breaker import PROBE_REASONS
from bot.engine.decision import Decision
from bot.engine.messages import commit_message
from bot.engine.observation import Observation


def begin_turn(run: Run, seen: Observation, policy: Policy, *, after: str = "") -> Decision:
    """Starts the next turn in the same session, with every comment that may not have reached the agent."""
    assert seen.issue
    if objection := authorization.find_objection(run, seen, policy):
        return authorization.block_on(Decision(run), seen, policy, objection)
    before, (run, comments) = run, _comments_for(run, seen, policy)
    if run.purpose is not TurnPurpose.PUBLISH:  # publishing needs no agent, and costs nothing
        if spent := issue_budget.why_exhausted(run, seen, policy):
            return ask(before, seen, policy, WaitReason.BUDGET, spent)
        if invalid := model_choice.why_invalid(run, seen, policy):
            return ask(before, seen, policy, WaitReason.MODEL_CHOICE, invalid)
    plan = plan_first.is_to_plan(run, seen, policy)
    run = ci_and_conflicts.sent_on(run, ci_and_conflicts.purpose_for(run, seen, policy), seen)
    number = run.turns.number + 1
    order = _order_for(run, seen, policy, comments, after, plan=plan)
    probe = run.wait_reason if run.wait_reason in PROBE_REASONS else WaitReason.NONE
    begun = replace(run, turns=replace(run.turns, number=number, started_at=seen.now, not_before=0.0)).to(
        Phase.WORKING, wait_reason=probe, now=seen.now
    )
    return Decision(comment_ledger.assign(begun, comments, number), (StartTurn(order), *acknowledge.ack_seen(comments)))


def _order_for(
    run: Run, seen: Observation, policy: Policy, comments: Sequence[Comment], after: str, *, plan: bool
) -> TurnOrder:
    assert seen.issue
    issue = authorization.effective_issue(run, seen.issue)
    prompt = _prompt(run, seen, (*_text_with_commands(run, seen, policy), *comments), after)
    if authorization.has_new_text(run, seen.issue):
        prompt = prompts.edited_issue(issue, prompt)
    briefing = _with_purpose(run, seen, prompts.briefing(issue, comment_ledger.trusted_thread(run, seen)))
    left, directives = issue_budget.left_for(run, seen, policy), parse_directives(issue.key, issue.body)
    return TurnOrder(
        turn_id=turn_id_for(run, run.turns.number + 1),
        run_id=run.id,
        project=run.project,
        branch=branch_for(run),
        at=seen.now,
        prompt=prompts.planning(prompt) if plan else prompt,
        briefing=prompts.planning(briefing) if plan else briefing,
        session=run.session,
        comments=tuple(name for comment in comments for name in comment_ledger.ids_of(comment)),
        commit_message=commit_message.commit_message(
            run, issue, comments, ci_and_conflicts.commit_subject(run, seen, policy)
        ),
        budget_usd=left.usd,
        most_tokens=left.tokens,
        allowed=publish_approval.ids_allowed(run),
        base=ci_and_conflicts.open_base(seen) or directives.base or policy.base,
        forbids=directives.forbids,
        publish_only=run.purpose is TurnPurpose.PUBLISH,
        verified_commit=_verified_commit(run),
        model=model_choice.model_for(run, seen, policy) or policy.model,
        plan=plan,
        merge=ci_and_conflicts.base_of(seen, policy) if run.purpose is TurnPurpose.MERGE_BASE else "",
        handover=handover.handover_for(run, seen),
    )


def _verified_commit(run: Run) -> str:
    found = run.checks.verification
    return found.commit if found and found.is_done else ""


def _comments_for(run: Run, seen: Observation, policy: Policy) -> tuple[Run, tuple[Comment, ...]]:
    """Returns the comments that this turn is about. Publishing approved work answers only the comments that led to it.

    Where that failed, and people say something new, the agent is to hear it.
    """
    waiting, due = comment_ledger.pending_comments(run, seen), comment_ledger.due_comments(run, seen, policy)
    if run.purpose is not TurnPurpose.PUBLISH:
        return run, (*waiting, *due)
    if run.phase is Phase.ASKING and due:
        return replace(run, purpose=TurnPurpose.NONE), (*waiting, *due)
    return run, waiting


def _prompt(run: Run, seen: Observation, comments: Sequence[Comment], after: str) -> str:
    """Prompt for an agent that remembers the conversation."""
    if after:
        return _with_purpose(run, seen, prompts.try_again(after, comments))
    match run.purpose:
        case TurnPurpose.CARRY_OUT_PLAN:
            return prompts.approved(comments)
        case TurnPurpose.MERGE_BASE | TurnPurpose.FIX_CI | TurnPurpose.FIX_VERIFICATION if not comments:
            return _with_purpose(run, seen, prompts.NOTHING_ELSE)
        case _:
            return _with_purpose(run, seen, prompts.follow_up(comments))


def _text_with_commands(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Returns the text that people wrote beside the command that this turn follows."""
    followed = {TurnPurpose.PLAN: CommandName.PLAN, TurnPurpose.CARRY_OUT_PLAN: CommandName.APPROVE}.get(run.purpose)
    along = {
        CommandName.GIVE if comment.id == run.handback_comment else command.name: replace(comment, text=command.text)
        for comment in seen.comments
        if comment.author.trusted
        and (command := parse_command(comment.text, policy.label))
        and command.text
        and (comment.id == run.handback_comment or command.name is followed)
    }
    return tuple(along.values())


def _with_purpose(run: Run, seen: Observation, prompt: str) -> str:
    """Adds what the purpose needs. Conflicts are added once the worktree exists."""
    if run.hold.objections:
        return prompts.blocked(run.hold.objections, prompt)
    if run.purpose is TurnPurpose.FIX_VERIFICATION and run.checks.verification:
        return prompts.failed_verification(run.checks.verification, prompt)
    broken = ci_and_conflicts.regressions_in(seen.pull_request) if run.purpose is TurnPurpose.FIX_CI else ()
    return prompts.red_checks(broken, prompt) if broken else prompt

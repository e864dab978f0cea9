"""Finishes a turn: records its cost, publishes the work, answers people; or retries, or asks. Pure."""

from dataclasses import replace

from bot.domain.change import diff_stat_of
from bot.domain.comment import CommentPlace
from bot.domain.issue_directives import parse_directives
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.domain.spend import Spend, TotalSpend
from bot.domain.turn import Failure, TurnOutcome, TurnReport, TurnState
from bot.engine import (
    acknowledge,
    authorization,
    ci_and_conflicts,
    ci_approval,
    circuit_breaker,
    comment_ledger,
    handover,
    issue_budget,
    plan_first,
    publish_approval,
    verify_result,
)
from bot.engine.actions import Action, CancelTurn, OfferPullRequest, PostComment, PushBranch
from bot.engine.ask_human import ask_after
from bot.engine.backoff import KEY_RETRY_SECONDS, TURN_RETRY_SECONDS, turn_retry_delay
from bot.engine.commands import pause
from bot.engine.decision import Decision
from bot.engine.messages import budget_comment, pull_request_text, question_comment, setup_failure
from bot.engine.observation import Observation
from bot.text.invisible_characters import on_one_line

CANCEL_REASONS = {
    WaitReason.PAUSED,
    WaitReason.TAKEN_OVER,
    WaitReason.OVERDUE,
    WaitReason.CONSENT,
    WaitReason.FAILED,
}
"""Wait reasons for which a running turn is cancelled; they decide how the run continues."""
REFUSALS_KEPT = 20
DETAIL_LETTERS = 200
_CLAIM_TOLERANCE = 0.05
_LEAST_DIFFERENCE_USD = 0.01


def cancel_turn(run: Run) -> tuple[CancelTurn, ...]:
    return (CancelTurn(run.turns.number),) if run.has_turn_in_flight else ()


def record_spend(run: Run, seen: Observation) -> Decision:
    """Records the cost: what the host has counted; only where it does not count, what the agent says."""
    turn = seen.turn
    claimed = _claimed_cost(run, turn)
    usd = claimed if turn.usd is None else turn.usd
    bill = Spend(
        run.turns.number,
        seen.now,
        usd,
        turn.tokens,
        _seconds_of(turn, run),
        claimed if _is_far(claimed, usd) else None,
        turn.unseen_usd,
    )
    run = replace(
        run,
        turns=replace(run.turns, ended=run.turns.number),
        session=turn.session or run.session,
        spend=replace(
            run.spend,
            session_cost_usd=turn.session_cost_usd or (0.0 if turn.is_new_session else run.spend.session_cost_usd),
            usd=run.spend.usd + usd,
            tokens=run.spend.tokens + turn.tokens,
            seconds=run.spend.seconds + bill.seconds,
            unpriced=turn.progress.unpriced or run.spend.unpriced,
        ),
        diff_stat=run.diff_stat if turn.change is None or turn.change.objections else diff_stat_of(turn.change.files),
        refusals=tuple(dict.fromkeys((*turn.refusals, *run.refusals)))[:REFUSALS_KEPT],
    )
    return Decision(run, _notices(run, turn), bill if _took_an_agent(run, turn) else None, _outcome(run, seen))


def _notices(run: Run, turn: TurnReport) -> tuple[PostComment, ...]:
    lost = PostComment(CommentPlace.ISSUE, f"session-{run.turns.number}", question_comment.session_lost())
    renamed = PostComment(CommentPlace.ISSUE, "base-renamed", question_comment.base_renamed(*turn.renamed_base))
    return (*((lost,) if turn.is_new_session else ()), *((renamed,) if turn.renamed_base else ()))


def _claimed_cost(run: Run, turn: TurnReport) -> float:
    """Returns what the agent says that the turn has cost.

    It says what the session has cost, so the turn's cost is the difference. After an interrupted turn it counts from
    zero again: of the two readings, the one nearer to what the host has counted is what it means.
    """
    total, before = turn.session_cost_usd, 0.0 if turn.is_new_session else run.spend.session_cost_usd
    readings = (total - before, total) if total >= before else (total,)
    counted = turn.usd
    return readings[0] if counted is None else min(readings, key=lambda cost: abs(cost - counted))


def _is_far(claimed: float, usd: float) -> bool:
    """Returns True if the agent's figure differs by more than 5 %. A turn without a result claims nothing."""
    return claimed > 0 and abs(claimed - usd) > max(_CLAIM_TOLERANCE * usd, _LEAST_DIFFERENCE_USD)


def _seconds_of(turn: TurnReport, run: Run) -> float:
    """Working time of the agent, up to its last event if its end was not seen."""
    ended = turn.progress.verifying_since or turn.ended_at or turn.progress.last_event_at
    return max(ended - run.turns.started_at, 0.0)


def _took_an_agent(run: Run, turn: TurnReport) -> bool:
    """A turn counts if an agent was at work, or that is unknown; the host's own work does not count."""
    return run.purpose is not TurnPurpose.PUBLISH and (turn.state is TurnState.LOST or _agent_was_there(turn))


def _agent_was_there(turn: TurnReport) -> bool:
    return bool(turn.agent_turns or turn.summary or turn.tokens or turn.usd or turn.session_cost_usd)


def _outcome(run: Run, seen: Observation) -> TurnOutcome | None:
    """Returns None for a turn without an agent."""
    turn, failure = seen.turn, Failure.NONE
    if turn.state is TurnState.FAILED:
        failure = turn.failure or Failure.AGENT
    elif turn.state is not TurnState.SUCCEEDED or not (turn.agent_turns or turn.tokens):
        return None
    return TurnOutcome(
        run.project,
        run.key,
        run.ordinal,
        run.turns.number,
        run.turns.started_at,
        seen.now,
        failure,
        _briefly(turn.detail),
    )


def _briefly(detail: str) -> str:
    flat = on_one_line(detail)
    return flat if len(flat) <= DETAIL_LETTERS else f"{flat[:DETAIL_LETTERS]} …"


def on_success(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Publishes the work of a successful turn and answers its comments."""
    assert seen.issue
    if objection := authorization.object_to_comments(decision.run, seen, policy):
        return authorization.block_on(decision.then(_well_ended(decision.run)), seen, policy, objection)
    if publish_approval.is_blocked(seen):
        ended = replace(
            _well_ended(decision.run), handback_comment=publish_approval.remaining_handback(decision.run, seen)
        )
        return publish_approval.block(decision.then(ended), seen, policy)
    decision = decision.then(verify_result.record_verification(decision.run, seen))
    seen = publish_approval.with_agent_summary(decision.run, verify_result.with_agent_summary(decision.run, seen))
    if verify_result.must_fix(decision, seen, policy):
        return verify_result.send_back(decision.then(_well_ended(decision.run)), seen)
    run, turn = publish_approval.release(_well_ended(decision.run), seen), seen.turn
    change = turn.change
    commit = _commit_of(decision.run, seen)
    handed = comment_ledger.pending_comments(run, seen)
    run = comment_ledger.close_comments(run, turn.delivered, turn.answers, commit)
    heard = comment_ledger.only(handed, turn.delivered)
    replies: tuple[Action, ...] = (*acknowledge.ack_done(heard), *acknowledge.replies(run, heard, turn))
    if turn.planned and not turn.question:
        return plan_first.propose(decision.then(run, *acknowledge.ack_done(heard)), seen, policy)
    if turn.question:
        return ask_after(
            decision.then(run, *replies), seen, policy, WaitReason.QUESTION, question_comment.question(turn.question)
        )
    if change is None or change.head == change.base:
        nothing = question_comment.nothing_changed(turn.summary)
        return ask_after(decision.then(run, *replies), seen, policy, WaitReason.NO_CHANGE, nothing)
    if objection := authorization.find_objection(run, seen, policy):
        return authorization.block_on(decision.then(run, *replies), seen, policy, objection)
    reports = ci_and_conflicts.reports(decision.run, seen, commit)
    merged = not _took_an_agent(decision.run, turn)
    pushed = ci_approval.hold(ci_and_conflicts.superseding(run, seen, commit), seen, policy, commit)
    offering = decision.then(pushed)
    return _offer(offering, seen, *replies, *reports, only_merged=merged)


def _commit_of(run: Run, seen: Observation) -> str:
    """Returns the commit that is new for people: of this turn, or of one that was interrupted after its commit."""
    change = seen.turn.change
    if not change or change.head == change.base:
        return ""
    is_unpublished = seen.pull_request is not None and seen.pull_request.head != change.head
    is_left_over = run.purpose in {TurnPurpose.FIX_VERIFICATION, TurnPurpose.PUBLISH} or seen.pull_request is None
    return change.head if change.head != change.before or is_unpublished or is_left_over else ""


def _offer(decision: Decision, seen: Observation, *replies: Action, only_merged: bool) -> Decision:
    assert seen.issue
    run, turn = decision.run, seen.turn
    if seen.pull_request and only_merged:
        # only the base was merged: the agent's summary of its own work still holds
        repeated = verify_result.answer_again(run, seen.pull_request)
        return decision.then(run.to(Phase.REVIEW, now=seen.now), PushBranch(), *repeated, *replies)
    issue = authorization.effective_issue(run, seen.issue)
    title, body, base = (
        pull_request_text.pull_request_title(issue),
        pull_request_text.pull_request_body(run, turn),
        parse_directives(issue.key, issue.body).base,
    )
    offered = replace(run, checks=replace(run.checks, shown_digest="")).to(Phase.REVIEW, now=seen.now)
    return decision.then(offered, PushBranch(), OfferPullRequest(title, body, base), *replies)


def _well_ended(run: Run) -> Run:
    """Clears the purpose, unless a plan is still to be made or approved."""
    purpose = run.purpose if run.purpose is TurnPurpose.PLAN else TurnPurpose.NONE
    return replace(run, turns=replace(run.turns, failures=0, losses=0), purpose=purpose, handback_comment="")


def keep_paused(paused: Run, decision: Decision, seen: Observation) -> Decision:
    """Keeps the pause if the turn ended by itself at the same time, unless the run asks a question anyway."""
    if paused.wait_reason is not WaitReason.PAUSED or decision.run.phase is Phase.ASKING:
        return decision
    return decision.then(pause(decision.run, seen.now))


def on_interrupted(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn was ended by us, or vanished with its process. The work and the session are there."""
    run = decision.run
    match run.wait_reason:
        case WaitReason.PAUSED:
            decision = keep_finished_work(decision, seen)
            return decision.then(pause(decision.run, seen.now))
        case WaitReason.TAKEN_OVER:
            return handover.keep_taken(run, decision, seen)
        case WaitReason.CONSENT:
            return _consent(decision, seen, policy)
        case WaitReason.FAILED:
            return ask_after(keep_finished_work(decision, seen), seen, policy, WaitReason.FAILED, run.reason)
        case WaitReason.OVERDUE:
            return _retry_or_ask(keep_finished_work(decision, seen), seen, policy, run.reason)
        case _:
            return _recover(decision, seen, policy)


def keep_finished_work(decision: Decision, seen: Observation) -> Decision:
    """Has the next turn only verify and publish, if the agent was through when its turn was interrupted."""
    run, turn = decision.run, seen.turn
    if not turn.is_finished_work:
        return decision
    turn = verify_result.with_agent_summary(run, seen).turn
    handed = comment_ledger.pending_comments(run, seen)
    answered = comment_ledger.only(handed, {answer.comment for answer in turn.answers} & turn.delivered)
    run = comment_ledger.close_answered(run, turn.delivered, turn.answers)
    run = replace(run, purpose=TurnPurpose.PUBLISH, hold=replace(run.hold, agent_summary=turn.summary))
    return decision.then(run, *acknowledge.ack_done(answered), *acknowledge.replies(run, answered, turn))


def _consent(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn was ended for an objection, which may be gone by now."""
    if objection := authorization.find_objection(decision.run, seen, policy):
        return authorization.block_on(decision, seen, policy, objection)
    return decision.then(replace(decision.run, wait_reason=WaitReason.NONE))


def _recover(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    if seen.turn.state is not TurnState.LOST:
        decision = keep_finished_work(decision, seen)
        return decision.then(replace(decision.run, wait_reason=_cause_after(decision.run, seen)))
    run = _with_loss(decision.run, seen, policy)
    if run.turns.losses >= policy.max_losses:
        tired = f"The turn was interrupted {run.turns.losses} times, each time before the agent had done anything."
        return ask_after(decision.then(run), seen, policy, WaitReason.FAILED, tired)
    return decision.then(replace(run, wait_reason=_cause_after(run, seen)))


def _cause_after(run: Run, seen: Observation) -> WaitReason:
    """A probe run stays the probe run until it has reached the model."""
    return (
        run.wait_reason
        if run.wait_reason in circuit_breaker.PROBE_REASONS and not seen.turn.progress.tokens
        else WaitReason.NONE
    )


def _with_loss(run: Run, seen: Observation, policy: Policy) -> Run:
    """Counts a lost turn, unless the agent made progress or another turn was lost shortly before.

    Work that makes progress and kills the process nevertheless is ended by the issue's budget.
    """
    if seen.turn.tokens:
        return replace(run, turns=replace(run.turns, losses=0))
    if run.turns.losses and seen.now - run.turns.lost_at < policy.loss_seconds:
        return run
    return replace(run, turns=replace(run.turns, losses=run.turns.losses + 1, lost_at=seen.now))


def on_failure(decision: Decision, seen: Observation, policy: Policy, failure: Failure, detail: str) -> Decision:
    run = replace(decision.run, turns=replace(decision.run.turns, ended=decision.run.turns.number))
    match failure:
        case Failure.KEY if seen.slot.reported_elsewhere:
            return decision.then(
                replace(
                    run, turns=replace(run.turns, not_before=seen.now + TURN_RETRY_SECONDS), reason=seen.slot.reason
                )
            )
        case Failure.KEY:
            run = replace(run, turns=replace(run.turns, not_before=seen.now + KEY_RETRY_SECONDS))
            return ask_after(
                decision.then(run),
                seen,
                policy,
                WaitReason.KEY_REFUSED,
                question_comment.asks_for_key(detail, circuit_breaker.KEY_ADVICE),
            )
        case Failure.BUDGET:
            bill = TotalSpend(decision.spend.usd, decision.spend.tokens) if decision.spend else TotalSpend()
            spent = TotalSpend(seen.spent.usd + bill.usd, seen.spent.tokens + bill.tokens)
            text = issue_budget.why_turn_ended(spent, run, policy)
            return ask_after(decision.then(run), seen, policy, WaitReason.BUDGET, text)
        case Failure.DAY_BUDGET | Failure.BASE:
            return _ask_for_change(decision.then(run), seen, policy, failure, detail)
        case Failure.UNREADY if seen.turn.obstacle:
            text = setup_failure.not_ready(seen.turn.obstacle, policy)
            objection = seen.turn.obstacle.objection
            reason = WaitReason.BLOCKED if objection else WaitReason.FAILED
            run = replace(run, hold=replace(run.hold, objections=(objection,))) if objection else run
            return ask_after(decision.then(run), seen, policy, reason, text)
        case Failure.LIMIT:
            return decision.then(circuit_breaker.wait_for_limit(run, seen.turn.retry_at, seen.now))
        case _ if _is_nobodys_fault(failure, seen):
            return decision.then(_with_backoff(run, seen, run.turns.failures, detail))
        case _:
            return _retry_or_ask(decision.then(run), seen, policy, detail)


def _is_nobodys_fault(failure: Failure, seen: Observation) -> bool:
    """Returns True if the run waits until the disk has room, or the model can be reached."""
    unreachable = failure is Failure.MODEL and (seen.slot.outage or seen.turn.is_model_unreachable)
    return unreachable or failure is Failure.DISK


def _ask_for_change(decision: Decision, seen: Observation, policy: Policy, failure: Failure, detail: str) -> Decision:
    """No retry helps until something outside has changed."""
    if failure is Failure.BASE:
        return ask_after(decision, seen, policy, WaitReason.FAILED, detail, about=detail)
    return ask_after(decision, seen, policy, WaitReason.DAY_BUDGET, budget_comment.over_day(detail))


def _retry_or_ask(decision: Decision, seen: Observation, policy: Policy, detail: str) -> Decision:
    failures = decision.run.turns.failures + 1
    if failures >= policy.max_failures:
        run = replace(decision.run, turns=replace(decision.run.turns, failures=failures))
        return ask_after(
            decision.then(run), seen, policy, WaitReason.FAILED, question_comment.gave_up(failures, detail)
        )
    return decision.then(_with_backoff(decision.run, seen, failures, detail))


def _with_backoff(run: Run, seen: Observation, failures: int, detail: str) -> Run:
    pause = turn_retry_delay(failures)
    return replace(
        run,
        turns=replace(run.turns, failures=failures, not_before=seen.now + pause),
        reason=detail,
        wait_reason=WaitReason.NONE,
    )

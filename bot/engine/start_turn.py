"""A turn begins: what the agent is told, and what it may spend. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.command import CommandName, parse_command
from bot.domain.comment import Comment
from bot.domain.issue_directives import clauses_of
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Phase, Run
from bot.engine import (
    acknowledge as receipts,
)
from bot.engine import (
    authorization as consent,
)
from bot.engine import (
    budget,
    prompts,
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
from bot.engine.actions import StartTurn
from bot.engine.ask_human import ask
from bot.engine.circuit_breaker import CANARIES
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.observation import Observation


def begin_turn(run: Run, seen: Observation, policy: Policy, *, after: str = "") -> Decision:
    """Start the next turn in the same session, with everything the agent has not surely heard."""
    assert seen.issue
    if objection := consent.find_objection(run, seen, policy):
        return consent.object_to(Decision(run), seen, policy, objection)
    asked, (run, told) = run, _told(run, seen, policy)
    if run.errand is not Errand.OFFER:  # which needs no agent, and costs nothing
        if spent := budget.why_spent(run, seen, policy):
            return ask(asked, seen, policy, Cause.BUDGET, spent)
        if wrong := choosing.unusable(run, seen, policy):
            return ask(asked, seen, policy, Cause.CHOICE, wrong)
    number, plan = run.turn + 1, planning.is_to_plan(run, seen, policy)
    run = mending.sent_on(run, mending.errand_for(run, seen, policy), seen)
    issue = consent.words_of(run, seen.issue)
    prompt = _prompt(run, seen, (*_said_with_orders(run, seen, policy), *told), after)
    if consent.has_new_words(run, seen.issue):
        prompt = prompts.accepted(issue, prompt)
    briefing = _with_errand(run, seen, prompts.briefing(issue, ledger.thread(run, seen)))
    left, clauses = budget.left_for(run, seen, policy), clauses_of(issue.key, issue.body)
    start = StartTurn(
        number=number,
        prompt=prompts.planning(prompt) if plan else prompt,
        briefing=prompts.planning(briefing) if plan else briefing,
        session=run.session,
        comments=tuple(name for comment in told for name in ledger.ids_of(comment)),
        commit_message=messages.commit_message(run, issue, told, mending.subject(run, seen, policy)),
        budget_usd=left.usd,
        most_tokens=left.tokens,
        allowed=holding.ids_allowed(run),
        base=clauses.base,
        forbids=clauses.forbids,
        offer=run.errand is Errand.OFFER,
        verified=run.verification.commit if run.verification and run.verification.is_done else "",
        model=choosing.model_for(run, seen, policy),
        plan=plan,
        merge=mending.base_of(seen, policy) if run.errand is Errand.MERGE else "",
        given=handing.given_for(run, seen),
    )
    canary = run.cause if run.cause in CANARIES else Cause.NONE
    begun = replace(run, turn=number, turn_at=seen.now, not_before=0.0).to(Phase.WORKING, cause=canary, now=seen.now)
    return Decision(ledger.hand(begun, told, number), (*receipts.eyes(told), start))


def _told(run: Run, seen: Observation, policy: Policy) -> tuple[Run, tuple[Comment, ...]]:
    """What people said that this turn is about. Publishing what is allowed answers what led to it, and no more.

    Where that failed, and people say something new, the agent is to hear it.
    """
    waiting, due = ledger.unsettled(run, seen), ledger.due(run, seen, policy)
    if run.errand is not Errand.OFFER:
        return run, (*waiting, *due)
    if run.phase is Phase.ASKING and due:
        return replace(run, errand=Errand.NONE), (*waiting, *due)
    return run, waiting


def _prompt(run: Run, seen: Observation, told: Sequence[Comment], after: str) -> str:
    """For an agent that remembers."""
    if after:
        return _with_errand(run, seen, prompts.try_again(after, told))
    match run.errand:
        case Errand.APPROVED:
            return prompts.approved(told)
        case Errand.MERGE | Errand.CHECKS | Errand.VERIFY if not told:
            return _with_errand(run, seen, prompts.NOTHING_ELSE)
        case _:
            return _with_errand(run, seen, prompts.follow_up(told))


def _said_with_orders(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """What people wrote along with the order that this turn follows: the order was answered, the words were not."""
    followed = {Errand.PLAN: CommandName.PLAN, Errand.APPROVED: CommandName.APPROVE}.get(run.errand)
    along = {
        CommandName.GIVE if comment.id == run.given else command.name: replace(comment, text=command.words)
        for comment in seen.comments
        if comment.author.trusted
        and (command := parse_command(comment.text, policy.label))
        and command.words
        and (comment.id == run.given or command.name is followed)
    }
    return tuple(along.values())


def _with_errand(run: Run, seen: Observation, prompt: str) -> str:
    """Conflicts are not known yet: whoever makes the worktree adds them."""
    if run.held:
        return prompts.held(run.held, prompt)
    if run.errand is Errand.VERIFY and run.verification:
        return prompts.broken(run.verification.broken, prompt)
    broken = mending.broken_in(seen.pull_request) if run.errand is Errand.CHECKS else ()
    return prompts.red_checks(broken, prompt) if broken else prompt

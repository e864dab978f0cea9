"""Plan first: the agent proposes, a person approves, and only then is anything changed. Pure."""

from dataclasses import replace

from bot.domain.choice import wants_plan
from bot.domain.comment import Place
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Phase, Run
from bot.engine.actions import Say
from bot.engine.ask_human import ask_after, go_again
from bot.engine.decision import Decision
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation

_ANSWERABLE = {Cause.QUESTION, Cause.NO_CHANGE, Cause.FAILED, Cause.CHECKS}


def is_to_plan(run: Run, seen: Observation, policy: Policy) -> bool:
    """By command: until it is approved. By label: until then, or until something has been offered."""
    if run.held:
        return False  # what a planning turn leaves is undone, and with it would be what is held
    if run.errand is Errand.PLAN:
        return True
    labelled = seen.issue is not None and wants_plan(seen.issue.labels, policy.label)
    return labelled and not run.approved and seen.pull_request is None


def plan(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    """The turn in flight is not disturbed: the next one plans."""
    if run.held or run.errand is Errand.OFFER:
        return Decision(run), answers.no_plan_while_held(policy)
    if _is_proposed(run):
        return Decision(run), answers.plan_waits()
    planning = replace(run, errand=Errand.PLAN, approved=False)
    if run.phase is Phase.ASKING and run.cause in _ANSWERABLE:
        planning = go_again(planning, seen.now)
    return Decision(planning), answers.will_plan()


def approve_plan(run: Run, seen: Observation) -> tuple[Decision, str]:
    approved = replace(run, errand=Errand.APPROVED, approved=True)
    return Decision(go_again(approved, seen.now)), answers.plan_approved()


def propose(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The plan is there. What was changed along the way is kept aside, and that is said."""
    run, ref = replace(decision.run, errand=Errand.PLAN), seen.turn.salvaged
    aside = (Say(Place.ISSUE, f"salvage-{run.turn}", answers.put_back(run.key, ref)),) if ref else ()
    return ask_after(decision.then(run, *aside), seen, policy, Cause.PLAN, answers.plan(seen.turn.words, policy))


def _is_proposed(run: Run) -> bool:
    return run.phase is Phase.ASKING and run.cause is Cause.PLAN

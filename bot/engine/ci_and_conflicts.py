"""What may be wrong with an open pull request by itself: conflicts with its base, red checks. Pure.

Rule: a commit is mended once. What that does not help with is a person's matter.
"""

import hashlib
from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.policy import Policy
from bot.domain.pull_request import CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Cause, Errand, Phase, Run
from bot.engine.actions import OfferPullRequest, Say
from bot.engine.ask_human import ask_after, go_again
from bot.engine.decision import Decision
from bot.engine.messages import checks as facts
from bot.engine.observation import Observation
from bot.text.pull_request_body import ours_in, with_paragraph

_ANSWERABLE = {Cause.QUESTION, Cause.NO_CHANGE, Cause.FAILED, Cause.CHECKS}


def errand_for(run: Run, seen: Observation, policy: Policy) -> Errand:
    """What the next turn is for besides the issue and what people say. One that is under way stays."""
    pull = _open_pull(seen)
    if run.errand not in {Errand.NONE, Errand.CHECKS}:
        return run.errand
    if pull is None or run.given or run.held:
        return Errand.NONE
    if pull.conflicts and run.merged != pull.head and base_of(seen, policy):
        return Errand.MERGE
    if not broken_in(pull):
        return Errand.NONE
    is_new = run.fixed != pull.head and run.fixes < policy.ci_fixes
    return Errand.CHECKS if is_new or run.errand is Errand.CHECKS else Errand.NONE


def base_of(seen: Observation, policy: Policy) -> str:
    """The branch the pull request is to be merged into."""
    return (seen.pull_request.base if seen.pull_request else "") or policy.base


def broken_in(pull: PullRequest | None) -> tuple[FailedCheck, ...]:
    """What is red on its newest commit, all of it known, and not red on the base."""
    if pull is None or pull.checks.state is not CheckState.RED or pull.checks.commit != pull.head:
        return ()
    return pull.checks.broken


def sent_on(run: Run, errand: Errand, seen: Observation) -> Run:
    """A turn begins with this errand; a repeat of it counts no second time."""
    pull = seen.pull_request
    run = replace(run, errand=errand)
    match errand:
        case Errand.MERGE if pull:
            return replace(run, merged=pull.head)
        case Errand.CHECKS if pull and run.fixed != pull.head:
            return replace(run, fixed=pull.head, fixes=run.fixes + 1)
        case _:
            return run


def superseding(run: Run, seen: Observation, commit: str) -> Run:
    """We push another commit on top: a forge that lags shows the one before, which is nobody's matter any more."""
    return (
        replace(run, fixed=seen.pull_request.head, merged=seen.pull_request.head)
        if seen.pull_request and commit
        else run
    )


def reports(run: Run, seen: Observation, commit: str) -> tuple[Say, ...]:
    """A turn spent on red checks that changed nothing would go unnoticed. The run is as it was when the turn ended."""
    if run.errand is not Errand.CHECKS or commit:
        return ()
    names = tuple(check.name for check in broken_in(seen.pull_request))
    return (Say(Place.PULL_REQUEST, f"checks-{run.turn}", facts.nothing_mended(names, seen.turn.words)),)


def subject(run: Run, seen: Observation, policy: Policy) -> str:
    """Of the commit that the errand leads to; empty: what the issue wants."""
    match run.errand:
        case Errand.MERGE:
            return f"Merge {base_of(seen, policy)}"
        case Errand.CHECKS:
            return f"Mend {', '.join(check.name for check in broken_in(seen.pull_request))}"
        case Errand.VERIFY if run.verification:
            return f"Mend {', '.join(map(str, run.verification.broken))}"
        case _:
            return ""


def look_after(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """While it waits for people: its facts are kept up to date, and what I cannot mend is asked about, once."""
    pull = _open_pull(seen)
    if pull is None:
        return decision
    decision = _show_facts(decision, pull)
    run = decision.run
    if run.phase is Phase.ASKING and run.cause is Cause.CHECKS and _is_past(run, pull):
        return decision.then(run.to(Phase.REVIEW, now=seen.now))
    if run.phase is Phase.REVIEW and run.fixed != pull.head and run.fixes >= policy.ci_fixes and broken_in(pull):
        asking = decision.then(replace(run, fixed=pull.head))
        text = facts.checks_stay_red(broken_in(pull), run.fixes, policy)
        return ask_after(asking, seen, policy, Cause.CHECKS, text, about=pull.head)
    return decision


def rebase(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    base = base_of(seen, policy)
    if _open_pull(seen) is None or not base:
        return Decision(run), facts.nothing_to_rebase()
    if run.errand in {Errand.PLAN, Errand.APPROVED}:
        return Decision(run), facts.no_rebase_before_the_plan()
    ordered = replace(run, errand=Errand.MERGE)
    match run.phase:
        case Phase.REVIEW | Phase.QUEUED:
            return Decision(ordered), facts.will_rebase(base)
        case Phase.ASKING if run.cause in _ANSWERABLE:
            return Decision(go_again(ordered, seen.now)), facts.will_rebase(base)
        case _:
            return Decision(run), facts.no_rebase_now(run)


def forgiven(run: Run) -> Run:
    """A person said to try again: the red checks may be mended anew."""
    return replace(run, fixes=0, fixed="") if run.cause is Cause.CHECKS else run


def _open_pull(seen: Observation) -> PullRequest | None:
    pull = seen.pull_request
    return pull if pull and pull.state is PullRequestState.OPEN else None


def _is_past(run: Run, pull: PullRequest) -> bool:
    """Green without us, or another commit has taken the place of the one that was asked about."""
    return pull.head != run.fixed or (pull.checks.state is CheckState.GREEN and pull.checks.commit == pull.head)


def _show_facts(decision: Decision, pull: PullRequest) -> Decision:
    """By what was written last, not by what is read: a forge that lags must not have it rewritten every tick."""
    ours = ours_in(pull.body)
    if not ours or (pull.checks.state is not CheckState.NONE and pull.checks.commit != pull.head):
        return decision
    text = facts.of_pull_request(pull)
    shown = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16] if text else ""
    if shown == decision.run.facts:
        return decision
    body = with_paragraph(ours, facts.CHECKS, text)
    return decision.then(replace(decision.run, facts=shown), OfferPullRequest(pull.title, body))

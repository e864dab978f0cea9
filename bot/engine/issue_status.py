"""How a run shows itself on its issue: a phase label, a progress comment, and where the tracker has them, a state and a
link. Pure, and the same whatever led there."""

import hashlib
from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.issue import Stage
from bot.domain.names import phase_label, phase_labels
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, Run
from bot.engine import comment_ledger as ledger
from bot.engine.actions import Action, LinkPullRequest, MoveIssue, Say, ShowLabels
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.observation import Observation
from bot.engine.run_note import note_for

SECONDS_BETWEEN_EDITS = {Phase.WORKING: 15.0, Phase.QUEUED: 300.0, "paused": 15.0}
TOLD_IN_QUEUE = 25
"""So many of those that wait get a comment that says so; all of them get the label."""
SLUG = "progress"


def portray(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    if seen.issue is None:
        return decision
    run = decision.run
    decision = decision.then(run, *_labels(run, seen, policy), *_stage(run, seen), *_link(seen))
    return _progress(decision, seen, policy)


def _labels(run: Run, seen: Observation, policy: Policy) -> tuple[Action, ...]:
    assert seen.issue
    over = run.phase is Phase.DONE
    wanted = frozenset[str]() if over else frozenset({phase_label(policy.label, run.phase)})
    ours = phase_labels(policy.label) | ({policy.label} if over else frozenset())
    add, remove = wanted - seen.issue.labels, (ours - wanted) & seen.issue.labels
    return (ShowLabels(add, remove),) if add or remove else ()


def _stage(run: Run, seen: Observation) -> tuple[Action, ...]:
    """Where it waits for people in the middle of something, the issue stays where it is."""
    standing, wanted = seen.issue.standing if seen.issue else None, _stage_for(run, seen)
    if standing is None or wanted is None or wanted is standing.stage or wanted not in standing.movable:
        return ()
    return (MoveIssue(wanted),)


def _stage_for(run: Run, seen: Observation) -> Stage | None:
    match run.phase:
        case Phase.WORKING if seen.pull_request is None:
            return Stage.STARTED
        case Phase.REVIEW | Phase.WORKING:
            return Stage.REVIEW
        case Phase.DONE:
            merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
            return Stage.COMPLETED if merged else Stage.BEFORE
        case _:
            return None


def _link(seen: Observation) -> tuple[Action, ...]:
    links, pull = seen.issue.links if seen.issue else None, seen.pull_request
    if links is None or pull is None or not pull.url or pull.url in links:
        return ()
    return (LinkPullRequest(pull.url, pull.title),)


def _progress(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """Edited when it says something new: at once, but not all the time while an agent works or a queue moves up."""
    run = decision.run
    if run.phase is Phase.QUEUED and seen.slot.ahead >= TOLD_IN_QUEUE:
        return decision
    text = messages.progress(run, seen, policy)
    told = f"{text}\n{note_for(ledger.without_strangers(run))}"  # who only makes noise does not make us write
    lane = "paused" if seen.slot.braked else run.phase  # which is news at once, in a queue as well
    shown = f"{lane} {hashlib.sha256(told.encode(errors='surrogatepass')).hexdigest()}"
    moved = not run.shown.startswith(f"{lane} ")
    pause = 0.0 if moved else SECONDS_BETWEEN_EDITS.get(lane, 0.0)
    if shown == run.shown or seen.now - run.shown_at < pause:
        return decision
    return decision.then(replace(run, shown=shown, shown_at=seen.now), Say(Place.ISSUE, SLUG, text, note=note_for(run)))

"""CI approval: with `ci = "after-approval"`, workflows start only after a person has approved the pushed commits. Pure.

Rule: an approval covers what was pushed before it was given; each later push waits again.
"""

from dataclasses import replace

from bot.domain.comment import Comment
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, Run
from bot.engine.actions import StartCI
from bot.engine.decision import Decision
from bot.engine.messages import ci_approval_comment
from bot.engine.observation import Observation


def hold(run: Run, seen: Observation, policy: Policy, commit: str) -> Run:
    """Notes that what is pushed now waits for approval."""
    if not policy.ci_after_approval or not (commit or run.checks.ci_held_at):
        return run
    return replace(run, checks=replace(run.checks, ci_held_at=seen.now))


def is_waiting(run: Run, seen: Observation) -> bool:
    is_open = seen.pull_request is not None and seen.pull_request.state is PullRequestState.OPEN
    return bool(run.checks.ci_held_at) and is_open and run.phase in {Phase.REVIEW, Phase.ASKING}


def approve(run: Run, policy: Policy, comment: Comment) -> tuple[Decision, str]:
    if not comment.author.may_push:
        return Decision(run), ci_approval_comment.may_not_start(comment.author.name, policy)
    if comment.at < run.checks.ci_held_at:
        return Decision(run), ci_approval_comment.pushed_since(policy)
    return Decision(
        replace(run, checks=replace(run.checks, ci_held_at=0.0)), (StartCI(),)
    ), ci_approval_comment.will_start()

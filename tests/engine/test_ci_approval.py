"""CI approval: a push waits for a person with push permission, and an approval covers nothing newer."""

from dataclasses import replace

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Person
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run, RunChecks
from bot.engine import ci_approval
from bot.engine.actions import StartCI
from bot.engine.observation import Observation

ANA = Person("ana", trusted=True, may_push=True)
HELD = Policy(ci_after_approval=True)
RUN = Run("shop#1", "shop", phase=Phase.REVIEW, checks=RunChecks(ci_held_at=100.0))
SEEN = Observation(
    200.0, None, pull_request=PullRequest(7, "treehand/shop-1", "", "", PullRequestState.OPEN, draft=True, head="1")
)


def order(at: float, by: Person = ANA) -> Comment:
    return Comment("c1", CommentPlace.ISSUE, by, "/ai approve", at)


def test_each_push_waits_with_the_setting_and_no_push_waits_without_it():
    assert ci_approval.hold(RUN, SEEN, HELD, "1").checks.ci_held_at == 200.0
    assert ci_approval.hold(replace(RUN, checks=RunChecks()), SEEN, Policy(), "1").checks.ci_held_at == 0.0
    approved = replace(RUN, checks=RunChecks())
    assert ci_approval.hold(approved, SEEN, HELD, "").checks.ci_held_at == 0.0, "nothing new is pushed"


def test_an_approval_starts_ci_once():
    decision, _ = ci_approval.approve(RUN, HELD, order(150.0))
    assert decision.actions == (StartCI(),)
    assert not ci_approval.is_waiting(decision.run, SEEN)


def test_an_approval_from_before_the_push_starts_nothing():
    decision, text = ci_approval.approve(RUN, HELD, order(99.0))
    assert (decision.actions, "again" in text) == ((), True)


def test_a_person_without_push_permission_starts_nothing():
    decision, _ = ci_approval.approve(RUN, HELD, order(150.0, replace(ANA, may_push=False)))
    assert (decision.actions, decision.run) == ((), RUN)


def test_no_approval_is_awaited_while_an_agent_works():
    assert ci_approval.is_waiting(RUN, SEEN)
    assert not ci_approval.is_waiting(replace(RUN, phase=Phase.WORKING), SEEN)

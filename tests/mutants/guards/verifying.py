"""What tries an agent's work: whom it reaches, what it leaves, and who is blamed."""

from tests.mutants.guards.guard import Guard

_TRIED = "tests/readiness/test_verifying.py::test"
_JUDGED = "tests/engine/test_verifying.py::test"

GUARDS = (
    Guard(
        "T8: tests of an agent's reach its hosts, and those alone",
        "bot/sandbox/bubblewrap.py",
        'passport = Passport("", self._rules.hosts)',
        'passport = Passport("", self._rules.setup_hosts)',
        (f"{_TRIED}_it_reaches_whom_an_agent_reaches_and_no_model",),
    ),
    Guard(
        "T20: what an agent has committed is not merged, so it fills no shared downloads",
        "bot/setup/verify.py",
        "replace(workspace, base=change.base, head=change.head)",
        "replace(workspace, base=change.base)",
        (f"{_TRIED}_what_it_sets_up_again_for_an_agents_lock_file_is_not_shared",),
    ),
    Guard(
        "T12: what verification leaves is no work of an agent's",
        "bot/workspace/setup_access.py",
        "provision = provision.having_tried(self._survey(branch))",
        "pass",
        (f"{_TRIED}_what_it_writes_is_no_work_of_the_agents_and_what_the_agent_makes_of_it_is",),
    ),
    Guard(
        "T12: that it began is known when it dies with us",
        "bot/setup/prepare.py",
        "await self._provisioning.settle(workspace.branch)",
        "pass",
        (f"{_TRIED}_of_one_that_died_with_us_half_way_nothing_is_captured_either",),
    ),
    Guard(
        "T12: what somebody has done since is theirs",
        "bot/workspace/setup_access.py",
        "if worktree.is_whole() and self.mirror.refs(worktree.ref).get(worktree.ref) == provision.tried:",
        "if True:",
        (f"{_TRIED}_what_a_person_committed_since_is_theirs_although_one_died_half_way",),
    ),
    Guard(
        "T12: a stand-in for the base is nobody's work",
        "bot/workspace/setup_access.py",
        "worktree.provide(Provision(is_half=True))",
        "worktree.provide(Provision())",
        (f"{_TRIED}_a_stand_in_that_died_with_us_is_swept_and_nothing_of_it_is_work",),
    ),
    Guard(
        "T7: what verification printed is redacted",
        "bot/setup/verify.py",
        "printed = self.means.secrets.redact(outcome.output)",
        "printed = outcome.output",
        (f"{_TRIED}_nobodys_secrets_are_in_what_it_printed",),
    ),
    Guard(
        "what was red before is not the change's doing",
        "bot/domain/verification.py",
        "old.standing is Standing.GREEN",
        "True",
        (f"{_JUDGED}_what_is_not_the_changes_doing_costs_no_turn[found1]",),
    ),
    Guard(
        "T16: work goes back to the agent so many times, and no more",
        "bot/engine/verify_result.py",
        "decision.run.rounds >= policy.verify_rounds",
        "False",
        (f"{_JUDGED}_after_so_many_rounds_it_is_published_and_says_so",),
    ),
    Guard(
        "T16: nor beyond what the issue may cost",
        "bot/engine/verify_result.py",
        "return not budget.why_spent(decision.run, replace(seen, spent=more), policy)",
        "return True",
        (f"{_JUDGED}_no_more_is_spent_than_the_issue_may_cost",),
    ),
)

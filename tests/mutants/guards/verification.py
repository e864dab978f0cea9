"""Guards of verification: which hosts it reaches, which files it leaves, and which commit is blamed."""

from tests.mutants.guards.guard import Guard

_TRIED = "tests/setup/test_verify.py::test"
_JUDGED = "tests/engine/test_verify_result.py::test"

GUARDS = (
    Guard(
        "T16: long lines of an output are not searched for counts",
        "bot/setup/test_counts.py",
        "if len(line) <= _LONGEST_LINE)",
        ")",
        ("tests/setup/test_test_counts.py::test_no_output_keeps_the_reader_busy",),
    ),
    Guard(
        "T23: a command sees no program that reports its exit code",
        "bot/sandbox/mount_plan.py",
        '*_INNER_OPTIONS, "--as-pid-1", "--") if inside.is_command else ()',
        '*_INNER_OPTIONS, "--as-pid-1", "--") if False else ()',
        ("tests/escape/test_receipts.py::test_t23_no_program_that_reports_the_exit_code_can_be_seen",),
    ),
    Guard(
        "T23: the exit code is the sandbox's own",
        "bot/setup/run_command.py",
        "code = await process.wait()",
        "code = int(await report.readline() or 0)",
        ("tests/escape/test_receipts.py::test_t23_what_a_command_leaves_running_ends_with_it_and_changes_no_result",),
    ),
    Guard(
        "T8: tests of an agent's reach its hosts, and those alone",
        "bot/sandbox/bubblewrap.py",
        'grant = Grant("", self._rules.hosts)',
        'grant = Grant("", self._rules.setup_hosts)',
        (f"{_TRIED}_it_reaches_whom_an_agent_reaches_and_no_model",),
    ),
    Guard(
        "T20: what an agent has committed is not merged, so it fills no shared downloads",
        "bot/setup/prepare.py",
        "repeated = await self._steps.run_on_work(job, stamp)",
        "repeated = RepeatedSetup(await self._steps.run(job, SetupScope.BASE))",
        (f"{_TRIED}_what_it_sets_up_again_for_an_agents_lock_file_is_not_shared",),
    ),
    Guard(
        "T12: files that a server leaves are not the agent's work",
        "bot/workspace/setup_access.py",
        "record = record.with_served(self._survey(branch))",
        "pass",
        (f"{_TRIED}_what_a_server_writes_is_no_work_of_the_agents_and_what_the_agent_makes_of_it_is",),
    ),
    Guard(
        "T12: files of a server are recorded before the next turn",
        "bot/setup/prepare.py",
        "await self._access.end_serving(workspace.branch)",
        "pass",
        (f"{_TRIED}_what_a_server_writes_is_no_work_of_the_agents_and_what_the_agent_makes_of_it_is",),
    ),
    Guard(
        "T23: a commit is verified in a worktree that no agent has used",
        "bot/setup/verify.py",
        'async with self._fresh_worktree(workspace, "trial") as fresh:',
        'async with __import__("contextlib").nullcontext(workspace) as fresh:',
        ("tests/escape/test_receipts.py::test_t23_stale_compiled_code_is_not_there_when_the_commit_is_verified",),
    ),
    Guard(
        "T23: changed settings of the tests are named",
        "bot/setup/verify.py",
        "test_files=find_test_files(changed)",
        "test_files=()",
        ("tests/escape/test_receipts.py::test_t23_changed_settings_of_the_tests_are_named_and_fewer_tests_are_said",),
    ),
    Guard(
        "T23: fewer tests than on the base are said",
        "bot/domain/verification.py",
        "return max(old.counts.ran - trial.counts.ran, 0)",
        "return 0 * max(old.counts.ran - trial.counts.ran, 0)",
        ("tests/escape/test_receipts.py::test_t23_changed_settings_of_the_tests_are_named_and_fewer_tests_are_said",),
    ),
    Guard(
        "T12: what somebody has done since is theirs",
        "bot/workspace/setup_access.py",
        "if worktree.is_complete() and self.mirror.refs(worktree.ref).get(worktree.ref) == record.tried:",
        "if True:",
        (f"{_TRIED}_what_a_person_committed_since_a_server_was_started_is_theirs",),
    ),
    Guard(
        "T12: a stand-in for the base is nobody's work",
        "bot/workspace/setup_access.py",
        "worktree.save_setup_record(SetupRecord(is_half=True))",
        "worktree.save_setup_record(SetupRecord())",
        (f"{_TRIED}_a_stand_in_that_died_with_us_is_swept_and_nothing_of_it_is_work",),
    ),
    Guard(
        "T7: what verification printed is redacted",
        "bot/setup/verify.py",
        "output = self.resources.secrets.redact(outcome.output)",
        "output = outcome.output",
        (f"{_TRIED}_nobodys_secrets_are_in_what_it_printed",),
    ),
    Guard(
        "what was red before is not the change's doing",
        "bot/domain/verification.py",
        "old.result is CheckResult.GREEN",
        "True",
        (f"{_JUDGED}_what_is_not_the_changes_doing_costs_no_turn[found1]",),
    ),
    Guard(
        "T16: work goes back to the agent so many times, and no more",
        "bot/engine/verify_result.py",
        "decision.run.checks.verify_attempts >= policy.verify_rounds",
        "False",
        (f"{_JUDGED}_after_so_many_rounds_it_is_published_and_says_so",),
    ),
    Guard(
        "T16: nor beyond what the issue may cost",
        "bot/engine/verify_result.py",
        "return not issue_budget.why_exhausted(decision.run, replace(seen, spent=more), policy)",
        "return True",
        (f"{_JUDGED}_no_more_is_spent_than_the_issue_may_cost",),
    ),
)

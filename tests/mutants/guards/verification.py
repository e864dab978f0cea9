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
        ("tests/setup/test_test_counts.py::test_output_made_to_be_slow_to_parse_gives_no_count",),
    ),
    Guard(
        "T23: a command sees no program that reports its exit code",
        "bot/sandbox/mount_plan.py",
        '*_INNER_OPTIONS, "--as-pid-1", "--") if inside.is_command else ()',
        '*_INNER_OPTIONS, "--as-pid-1", "--") if False else ()',
        ("tests/escape/test_receipts.py::test_t23_the_program_that_reports_the_exit_code_is_not_visible",),
    ),
    Guard(
        "T23: the exit code is the sandbox's own",
        "bot/setup/run_command.py",
        "code = await process.wait()",
        "code = int(await report.readline() or 0)",
        ("tests/escape/test_receipts.py::test_t23_background_processes_end_with_their_command_and_change_no_result",),
    ),
    Guard(
        "T8: tests of an agent's reach its hosts, and those alone",
        "bot/sandbox/bubblewrap.py",
        'grant = Grant("", self._rules.hosts)',
        'grant = Grant("", self._rules.setup_hosts)',
        (f"{_TRIED}_verification_reaches_the_agents_hosts_and_no_model",),
    ),
    Guard(
        "T20: what an agent has committed is not merged, so it fills no shared downloads",
        "bot/setup/prepare.py",
        "repeated = await self._steps.run_on_work(job, stamp)",
        "repeated = RepeatedSetup(await self._steps.run(job, SetupScope.BASE))",
        (f"{_TRIED}_downloads_for_a_changed_lock_file_are_not_shared",),
    ),
    Guard(
        "T12: files that a server leaves are not the agent's work",
        "bot/workspace/setup_access.py",
        "record = record.with_served(self._survey(branch))",
        "pass",
        (f"{_TRIED}_files_of_a_server_are_no_work_until_the_agent_changes_them",),
    ),
    Guard(
        "T12: files of a server are recorded before the next turn",
        "bot/setup/prepare.py",
        "await self._access.end_serving(workspace.branch)",
        "pass",
        (f"{_TRIED}_files_of_a_server_are_no_work_until_the_agent_changes_them",),
    ),
    Guard(
        "T23: a commit is verified in a worktree that no agent has used",
        "bot/setup/verify.py",
        'async with self._fresh_worktree(workspace, "trial") as fresh:',
        'async with __import__("contextlib").nullcontext(workspace) as fresh:',
        ("tests/escape/test_receipts.py::test_t23_stale_compiled_code_is_absent_when_the_commit_is_verified",),
    ),
    Guard(
        "T23: code that setup compiled from the base is not taken for the commit's",
        "bot/workspace/setup_access.py",
        "worktree.outlast_second()",
        "pass",
        ("tests/escape/test_receipts.py::test_t23_the_files_of_a_commit_are_of_a_later_second_than_those_of_its_base",),
    ),
    Guard(
        "T23: changed settings of the tests are named",
        "bot/setup/verify.py",
        "test_files=named)",
        "test_files=())",
        ("tests/escape/test_receipts.py::test_t23_changed_test_settings_are_listed_and_lost_tests_are_reported",),
    ),
    Guard(
        "T23: a changed program that verification itself starts is named",
        "bot/setup/test_files.py",
        "path in named or _can_change_results",
        "_can_change_results",
        ("tests/escape/test_receipts.py::test_t23_changed_files_that_decide_the_result_are_named",),
    ),
    Guard(
        "T23: fewer tests than on the base are said",
        "bot/domain/verification.py",
        "return max(old.counts.ran - trial.counts.ran, 0)",
        "return 0 * max(old.counts.ran - trial.counts.ran, 0)",
        ("tests/escape/test_receipts.py::test_t23_changed_test_settings_are_listed_and_lost_tests_are_reported",),
    ),
    Guard(
        "T12: what somebody has done since is theirs",
        "bot/workspace/setup_access.py",
        "if worktree.is_complete() and self.mirror.refs(worktree.ref).get(worktree.ref) == record.tried:",
        "if True:",
        (f"{_TRIED}_files_added_after_another_commit_are_work_even_if_a_server_was_started",),
    ),
    Guard(
        "T12: a stand-in for the base is nobody's work",
        "bot/workspace/setup_access.py",
        "worktree.save_setup_record(SetupRecord(is_half=True))",
        "worktree.save_setup_record(SetupRecord())",
        (f"{_TRIED}_a_leftover_temporary_worktree_is_swept_and_none_of_its_files_is_work",),
    ),
    Guard(
        "T7: what verification printed is redacted",
        "bot/setup/verify.py",
        "output = self.resources.secrets.redact(outcome.output)",
        "output = outcome.output",
        (f"{_TRIED}_secrets_are_redacted_in_the_output_of_verification",),
    ),
    Guard(
        "what was red before is not the change's doing",
        "bot/domain/verification.py",
        "old.result is CheckResult.GREEN",
        "True",
        (f"{_JUDGED}_a_failure_that_the_change_did_not_cause_starts_no_turn[found1]",),
    ),
    Guard(
        "T16: work goes back to the agent so many times, and no more",
        "bot/engine/verify_result.py",
        "decision.run.checks.verify_attempts >= policy.verify_rounds",
        "False",
        (f"{_JUDGED}_after_two_rounds_the_change_is_published_and_reported_as_broken",),
    ),
    Guard(
        "T16: nor beyond what the issue may cost",
        "bot/engine/verify_result.py",
        "return not issue_budget.why_exhausted(decision.run, replace(seen, spent=more), policy)",
        "return True",
        (f"{_JUDGED}_no_fixing_turn_starts_beyond_the_budget_of_the_issue",),
    ),
)

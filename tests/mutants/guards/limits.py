"""Guards of limits, counters and checks before any agent starts (T6, T9, T15, T16, T17, T22)."""

from tests.mutants.guards.guard import Guard

_HOARDS = ("tests/escape/test_files.py::test_t16_every_kind_of_memory_counts_towards_the_limit[command]",)

_DECIDE = "tests/engine/test_decide.py::test"
_MODEL = "tests/sandbox/test_model.py::test"
_SELFTEST = "tests/sandbox/test_selftest.py::test"
_CLAUDE = "tests/agents/test_claude.py::test"
_STORIES = "tests/stories/test_stories.py::test"
_HOLDS = (f"{_SELFTEST}_a_working_sandbox_passes_every_probe_and_leaves_no_files",)
_LEAKY = (f"{_SELFTEST}_a_leaking_bubblewrap_is_detected[the network is shared]",)

GUARDS = (
    Guard(
        "T6: the model's key stays on this side",
        "bot/sandbox/bubblewrap.py",
        "variables = model_variables(self._model, token)",
        "variables = self._model",
        _HOLDS,
    ),
    Guard(
        "T15: tokens are those that the proxy has counted",
        "bot/sandbox/bubblewrap.py",
        "tokens=usage.tokens, usd=usage.usd, ",
        "",
        ("tests/sandbox/test_interface.py::test_t15_the_token_count_of_the_proxy_replaces_that_of_the_agent",),
    ),
    Guard(
        "T9: a sandbox ends with its tokens",
        "bot/sandbox/bubblewrap.py",
        "task.model, task.most_tokens, task.budget_usd)",
        "task.model)",
        ("tests/sandbox/test_interface.py::test_t9_the_proxy_of_a_sandbox_gets_the_permissions_of_its_turn",),
    ),
    Guard(
        "T9: a sandbox asks the model of its turn",
        "bot/sandbox/bubblewrap.py",
        "task.model, task.most_tokens",
        '"", task.most_tokens',
        ("tests/sandbox/test_interface.py::test_t9_the_proxy_of_a_sandbox_gets_the_permissions_of_its_turn",),
    ),
    Guard(
        "Money: a sandbox ends with its money",
        "bot/sandbox/proxy/request_budget.py",
        "if usd and self.usage.usd + self._unreported_usd >= usd:",
        "if False:",
        (f"{_MODEL}_a_run_ends_with_its_money",),
    ),
    Guard(
        "Money: a sandbox ends with the day's money",
        "bot/sandbox/proxy/request_budget.py",
        "if self.day.left_usd <= self._unreported_usd:",
        "if False:",
        (f"{_MODEL}_a_day_without_money_left_asks_the_model_nothing",),
    ),
    Guard(
        "Money: sandboxes reserve what the day has left together",
        "bot/sandbox/proxy/request_budget.py",
        "            and self._unreported_usd + self.day.reserved_usd + bill.reserved_usd <= self.day.left_usd\n",
        "",
        (f"{_MODEL}_agents_side_by_side_overrun_a_day_by_one_request_each_at_most",),
    ),
    Guard(
        "Money: it is on disk before the answer goes on",
        "bot/executors/local.py",
        "self._save(turn)  # money is",
        "self._save_soon(turn)  # money is",
        ("tests/contracts/test_executors.py::test_money_is_on_disk_before_anything_else_happens",),
    ),
    Guard(
        "Money: work that was finished when its turn was paused takes no agent again",
        "bot/engine/finish_turn.py",
        "if not turn.is_finished_work or",
        "if True or",
        (f"{_DECIDE}_work_that_was_finished_when_it_was_paused_is_published_without_the_agent",),
    ),
    Guard(
        "Approvals: none counts for a question that was asked afterwards",
        "bot/engine/commands.py",
        "return (Decision(run), other) if other else _approve",
        "return _approve",
        ("tests/stories/test_planning.py::test_an_approval_from_before_a_question_is_not_of_that_question",),
    ),
    Guard(
        "Money: running turns count as spent",
        "bot/store/runs.py",
        " + sum(one.usd for one in self.unrecorded(since=since).values())",
        "",
        ("tests/store/test_turns.py::test_what_a_running_turn_costs_is_spent_until_the_ledger_has_it",),
    ),
    Guard(
        "Money: an answer that was cut off is estimated",
        "bot/sandbox/proxy/model.py",
        "            bill.counter.settle()",
        "            pass",
        (f"{_MODEL}_what_an_answer_cost_that_was_cut_off_is_estimated_by_what_came",),
    ),
    Guard(
        "Money: what the host has counted is the cost",
        "bot/engine/finish_turn.py",
        "usd = claimed if turn.usd is None else turn.usd",
        "usd = claimed",
        (f"{_DECIDE}_a_turn_costs_what_the_host_has_counted_whatever_the_agent_says",),
    ),
    Guard(
        "T16: memory of all programs together has an end",
        "bot/sandbox/resource_limits.py",
        "if limits.memory_bytes and memory_of(find_processes(marker.__eq__)) > limits.memory_bytes:",
        "if False:",
        ("tests/sandbox/test_interface.py::test_t16_a_program_over_its_limits_is_reported_and_ended",),
    ),
    Guard(
        "T16: what is kept in folders in memory counts",
        "bot/sandbox/memory_use.py",
        "kept = sum(_file_systems(folders).values()) + ",
        "kept = ",
        _HOARDS,
    ),
    Guard(
        "T16: what is kept in memory files counts",
        "bot/sandbox/memory_use.py",
        " + sum(_open_files(folders, counted))",
        "",
        _HOARDS,
    ),
    Guard(
        "T16: what is kept in shared mappings counts",
        "bot/sandbox/memory_use.py",
        "                kept += _mapped_bytes(folder, counted)",
        "                pass",
        _HOARDS,
    ),
    Guard(
        "T16: segments that no process has are small",
        "bot/sandbox/seccomp.py",
        "        *_limit_segments(_SHMGET[machine]),\n",
        "",
        ("tests/sandbox/test_seccomp.py::test_t16_shared_memory_segments_of_system_v_are_limited",),
    ),
    Guard(
        "T16: the disk is not filled up",
        "bot/sandbox/resource_limits.py",
        "if limits.free_disk_bytes and shutil.disk_usage(folder).free < limits.free_disk_bytes:",
        "if False:",
        ("tests/sandbox/test_interface.py::test_t16_a_program_over_its_limits_is_reported_and_ended",),
    ),
    Guard(
        "T16: what takes too much is ended",
        "bot/sandbox/resource_limits.py",
        "process.send(signal.SIGKILL)",
        "pass",
        ("tests/sandbox/test_interface.py::test_t16_a_program_over_its_limits_is_reported_and_ended",),
    ),
    Guard(
        "T16: losses in a row have an end",
        "bot/engine/finish_turn.py",
        "if run.turns.losses >= policy.max_losses:",
        "if False:",
        (f"{_STORIES}_a_turn_that_kills_its_process_is_given_up_after_the_maximum_of_losses",),
    ),
    Guard(
        "T16: failures in a row have an end",
        "bot/engine/finish_turn.py",
        "if failures >= policy.max_failures:",
        "if False:",
        (f"{_STORIES}_a_failed_turn_is_retried_after_a_growing_delay_and_then_asked_about",),
    ),
    Guard(
        "T16: what an issue costs has an end",
        "bot/engine/start_turn.py",
        "if spent := issue_budget.why_exhausted(run, seen, policy):",
        "if spent := None:",
        ("tests/stories/test_commands.py::test_an_exhausted_budget_asks_and_a_larger_budget_continues",),
    ),
    Guard(
        "T17: a token of the App is for one repository",
        "bot/services/github/auth.py",
        '{"repositories": [',
        '{"names": [',
        ("tests/services/github/test_auth.py::test_each_repository_gets_its_own_token_with_the_least_permissions",),
    ),
    Guard(
        "T22: a sandbox that does not hold starts nothing",
        "bot/sandbox/build.py",
        'raise CannotStart(f"The self-test of the sandbox failed, so Treehand starts no agent. {result}")',
        'log.warning("no sandbox")',
        ("tests/sandbox/test_interface.py::test_t22_a_failed_sandbox_check_prevents_the_start",),
    ),
    Guard(
        "T22: without a sandbox nothing is chosen instead",
        "bot/sandbox/build.py",
        'if settings.sandbox.kind == "none":\n        from bot.sandbox.none',
        "if True:\n        from bot.sandbox.none",
        ("tests/sandbox/test_interface.py::test_t22_only_the_settings_can_disable_the_sandbox",),
    ),
    Guard(
        "T22: without bubblewrap there is no sandbox",
        "bot/sandbox/host_tools.py",
        "    if not bwrap:\n        raise CannotStart(BWRAP_MISSING)",
        '    bwrap = bwrap or "/bin/true"',
        (f"{_SELFTEST}_a_missing_bubblewrap_is_reported_with_the_way_to_install_it",),
    ),
    Guard(
        "T22: what was not tried does not hold",
        "bot/sandbox/selftest.py",
        '"it was not tried"',
        '""',
        (f"{_SELFTEST}_the_probes_stop_once_a_guard_file_can_be_read",),
    ),
    Guard(
        "T22: what arrives on this machine got out",
        "bot/sandbox/selftest.py",
        "contacted = listeners.contacted_names()",
        'contacted = ""',
        _LEAKY,
    ),
    Guard(
        "T22: a probe that tells of something has found it",
        "bot/sandbox/selftest.py",
        "for role, leak in troubles if leak]",
        "for role, leak in troubles if not role]",
        _LEAKY,
    ),
    Guard(
        "T22: a bubblewrap that is too old is refused",
        "bot/sandbox/fix_hints.py",
        "for number in found.groups()) < OLDEST_BWRAP:",
        "for number in found.groups()) < ():",
        (f"{_SELFTEST}_an_old_or_unknown_bubblewrap_is_refused",),
    ),
    Guard(
        "T6: without a sandbox, too, the bot's environment stays behind",
        "bot/system/launch.py",
        "environment.items() if name in keep}",
        "environment.items()}",
        ("tests/sandbox/test_interface.py::test_t6_without_a_sandbox_the_agent_still_gets_no_variables_of_the_daemon",),
    ),
)

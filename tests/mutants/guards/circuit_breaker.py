"""Guards of the circuit breaker: what pauses a project (F20), and who cannot cause it (T9)."""

from tests.mutants.guards.guard import Guard

_PURE = "tests/engine/test_circuit_breaker.py::test"
_STORY = "tests/stories/test_circuit_breaker.py::test"
_BRAKES = "bot/engine/circuit_breaker.py"
_GATE = ("tests/agents/test_limits.py::test_in_the_sandbox_an_agent_cannot_forge_a_usage_limit",)
_OUTAGE = (f"{_STORY}_a_model_outage_pauses_the_project_asks_no_questions_and_ends_by_itself",)

GUARDS = (
    Guard(
        "F20: turns that fail alike pause their project",
        _BRAKES,
        "if alike >= FAILURES_TO_PAUSE:",
        "if False:",
        _OUTAGE,
    ),
    Guard(
        "F20: what fails within an hour, and no longer, is trouble of now",
        _BRAKES,
        "if one.at > outcome.at - WITHIN_SECONDS",
        "if True",
        (f"{_PURE}_five_similar_failures_within_an_hour_pause_a_project_until_a_success",),
    ),
    Guard(
        "F20: a success ends the pause",
        _BRAKES,
        "    if outcome.failure is Failure.NONE:\n        return None\n",
        "",
        _OUTAGE,
    ),
    Guard(
        "F20: one run tries, not all",
        _BRAKES,
        "    if trying:\n",
        "    if False:\n",
        (f"{_PURE}_after_the_pause_one_run_tries_and_runs_in_progress_come_first",),
    ),
    Guard(
        "F20: pauses become longer",
        _BRAKES,
        "min(breaker.pause * 2, LONGEST_PAUSE_SECONDS)",
        "breaker.pause",
        (f"{_PURE}_the_pause_doubles_with_each_failed_trial_up_to_an_hour",),
    ),
    Guard(
        "F20: an outage counts against nobody",
        "bot/engine/finish_turn.py",
        "(seen.slot.outage or seen.turn.is_model_unreachable)",
        "seen.turn.is_model_unreachable",
        (f"{_STORY}_an_outage_asks_no_questions_with_two_slots",),
    ),
    Guard(
        "F20: a pause outlives the process",
        "bot/engine/loop.py",
        "            outcome=decision.outcome,\n",
        "",
        (f"{_STORY}_the_pause_survives_a_restart_and_a_new_label",),
    ),
    Guard(
        "F20: a limit stops everything",
        "bot/engine/schedule.py",
        "pause = for_all or pause_of_project(",
        "pause = pause_of_project(",
        (f"{_PURE}_a_usage_limit_stops_all_projects_and_all_show_its_end",),
    ),
    Guard(
        "F20: after a limit one goes first",
        _BRAKES,
        "    if flying:\n",
        "    if False:\n",
        (f"{_PURE}_after_a_usage_limit_runs_continue_one_by_one",),
    ),
    Guard(
        "F20: a limit is no failure",
        "bot/engine/finish_turn.py",
        "return decision.then(circuit_breaker.wait_for_limit(run, seen.turn.retry_at, seen.now))",
        "return _retry_orask(decision.then(run), seen, policy, detail)",
        (f"{_STORY}_a_usage_limit_parks_all_runs_until_it_ends",),
    ),
    Guard(
        "F20: a limit lasts no longer than any does",
        _BRAKES,
        "min(retry_at, now + LONGEST_LIMIT_SECONDS)",
        "retry_at",
        (f"{_PURE}_a_usage_limit_lasts_until_its_stated_end_within_bounds",),
    ),
    Guard(
        "T9: no agent stops everybody by speaking of a limit",
        "bot/sandbox/bubblewrap.py",
        "Failure.MODEL if reset_at is None else Failure.LIMIT, report.detail",
        "report.failure, report.detail",
        _GATE,
    ),
    Guard(
        "F20: the gate's word about a limit counts",
        "bot/sandbox/proxy/model.py",
        "self.usage.limit_reset_at = parse_usage_limit(response.status_code, response.headers)",
        "pass",
        ("tests/sandbox/test_usage_limit.py::test_the_proxy_remembers_only_the_last_response",),
    ),
)

"""Guards of the store: turns, costs, and a damaged database (F1, F10, F18)."""

from tests.mutants.guards.guard import Guard

_EXECUTORS = "tests/contracts/test_executors.py::test"
_DECIDE = "tests/engine/test_decide.py::test"
_DAMAGE = "tests/store/test_damage.py::test"
_BUDGET = ("tests/engine/test_issue_budget.py::test_turns_and_time_can_be_exhausted_too",)
_LOCAL, _OUTCOME, _DATABASE = "bot/executors/local.py", "bot/engine/finish_turn.py", "bot/system/database.py"

GUARDS = (
    Guard(
        "F1: how a turn ended is in the book before anybody is woken",
        _LOCAL,
        "        self._save(turn)\n        self._on_change()",
        "        self._on_change()\n        self._save(turn)",
        (f"{_EXECUTORS}_a_report_is_saved_before_the_loop_is_woken",),
    ),
    Guard(
        "F1: a turn of an earlier life is not started again",
        _LOCAL,
        " or request.turn_id in self._from_earlier_process:",
        ":",
        (f"{_EXECUTORS}_a_turn_that_was_running_is_reported_lost_after_a_restart_and_not_started_again[local]",),
    ),
    Guard(
        "F1: what a running turn tells is written down",
        _LOCAL,
        "            self._save_soon(turn)\n",
        "",
        (f"{_EXECUTORS}_the_progress_of_a_running_turn_survives_its_process",),
    ),
    Guard(
        "F10: a daemon that cannot use its database says what to do",
        _DATABASE,
        "Check its disk: it needs free space",
        "It needs free space",
        ("tests/store/test_damage.py::test_a_database_that_its_disk_refuses_is_reported_with_what_to_do",),
    ),
    Guard(
        "F10: a full disk fails no turn",
        _LOCAL,
        'except Retryable as problem:\n            log.warning("turn not saved',
        'except ZeroDivisionError as problem:\n            log.warning("turn not saved',
        (f"{_EXECUTORS}_a_full_disk_fails_no_turn_and_its_report_is_saved_later",),
    ),
    Guard(
        "F1: a lost turn is paid for",
        _OUTCOME,
        "(turn.state is TurnState.LOST or _agent_was_there(turn))",
        "(turn.state is not TurnState.LOST and _agent_was_there(turn))",
        (f"{_DECIDE}_a_lost_turn_is_charged_with_its_known_cost",),
    ),
    Guard(
        "F1: what got on and was killed is not at fault",
        _OUTCOME,
        "    if seen.turn.tokens:\n",
        "    if False:\n",
        (f"{_DECIDE}_a_loss_counts_only_if_the_agent_had_done_nothing",),
    ),
    Guard(
        "F1: a storm of kills counts once",
        _OUTCOME,
        "if run.turns.losses and seen.now - run.turns.lost_at < policy.loss_seconds:",
        "if False:",
        (f"{_DECIDE}_five_hundred_kills_in_five_minutes_do_not_make_a_run_ask",),
    ),
    Guard(
        "F1: turns have an end, whoever restarts",
        "bot/engine/issue_budget.py",
        "if allowed.turns and spent.turns >= allowed.turns:",
        "if False:",
        _BUDGET,
    ),
    Guard(
        "F1: time has an end, whoever restarts",
        "bot/engine/issue_budget.py",
        "if allowed.seconds and spent.seconds >= allowed.seconds:",
        "if False:",
        _BUDGET,
    ),
    Guard(
        "F18: a database is looked through before it is used",
        _DATABASE,
        'if wrong != ["ok"]:',
        "if False:",
        (f"{_DAMAGE}_a_reader_reports_a_damaged_database_and_changes_nothing[page 5]",),
    ),
    Guard(
        "F18: an emptied database is not taken for a new one",
        _DATABASE,
        "    _refuse_truncated(path, lost)\n    db =",
        "    db =",
        (f"{_DAMAGE}_a_reader_reports_a_damaged_database_and_changes_nothing[emptied]",),
    ),
    Guard(
        "F18: a damaged database is set aside with its changes",
        _DATABASE,
        "for end in _FILE_SUFFIXES:",
        "for end in _FILE_SUFFIXES[:1]:",
        (f"{_DAMAGE}_the_daemon_sets_a_damaged_database_aside_and_creates_a_new_one[emptied]",),
    ),
    Guard(
        "F18: what makes no sense is damage too",
        "bot/store/runs.py",
        "            store.ensure_readable(path)\n",
        "",
        (f"{_DAMAGE}_the_daemon_sets_a_damaged_database_aside_and_creates_a_new_one[no such phase]",),
    ),
    Guard(
        "F18: damage is no trouble of one run",
        "bot/engine/loop.py",
        "        except MustRestart:\n            raise\n",
        "",
        ("tests/stories/test_stories.py::test_a_damaged_database_ends_the_engine_and_is_not_blamed_on_the_run",),
    ),
    Guard(
        "F1: what we wrote is read again",
        "bot/store/runs.py",
        "version = (elsewhere, self._db.total_changes)",
        "version = elsewhere",
        ("tests/store/test_runs.py::test_active_runs_are_cached_and_include_writes_of_other_processes",),
    ),
    Guard(
        "F1: what another process wrote is read again",
        "bot/store/runs.py",
        "if self._active[0] != version:",
        "if self._active[0] is None or self._active[0][1] != version[1]:",
        ("tests/store/test_runs.py::test_active_runs_are_cached_and_include_writes_of_other_processes",),
    ),
)

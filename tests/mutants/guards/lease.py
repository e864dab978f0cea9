"""Guards of the lease: one daemon acts on a repository at a time, and a late one writes nothing (F17)."""

from tests.mutants.guards.guard import Guard

_CLAIM = "tests/workspace/test_lease.py::test"
_FENCE = "tests/services/github/test_fence.py::test"
_HERE = "bot/workspace/lease.py"

GUARDS = (
    Guard(
        "F17: each write is checked at the last moment",
        "bot/services/github/http.py",
        "self._fence(request.repository)",
        "pass",
        (f"{_FENCE}_no_write_reaches_the_server_after_the_lease_has_ended[POST]",),
    ),
    Guard(
        "F17: each push is checked",
        "bot/workspace/push.py",
        "    mirror.check_lease()\n",
        "",
        ("tests/workspace/test_push.py::test_nothing_is_pushed_after_the_lease_has_ended",),
    ),
    Guard(
        "F17: a right that has run out is none",
        _HERE,
        "if not self._is_held():\n            raise Elsewhere",
        "if not self._held:\n            raise Elsewhere",
        (f"{_CLAIM}_a_holder_that_was_suspended_for_long_may_not_write",),
    ),
    Guard(
        "F17: a right is counted from before it was written down",
        _HERE,
        "self._record_held(mine, made, begun)",
        "self._record_held(mine, made, self._clock())",
        (f"{_CLAIM}_the_lease_ends_counted_from_before_its_record_was_written",),
    ),
    Guard(
        "F17: nobody takes what another still may have",
        _HERE,
        "return self._clock() - seen.since >= seen.wait",
        "return True",
        (f"{_CLAIM}_the_first_daemon_gets_the_lease_and_keeps_it_while_it_runs",),
    ),
    Guard(
        "F17: the record is only replaced by who has seen it",
        "bot/workspace/lease_ref.py",
        'f"--force-with-lease={LEASE_REF}:{old}"',
        '"--force"',
        (f"{_CLAIM}_one_of_several_simultaneous_daemons_gets_the_lease",),
    ),
    Guard(
        "F17: one that calls itself like us is another",
        _HERE,
        "(record.by == self._daemon.id and not self._was_held)",
        "record.by == self._daemon.id",
        (f"{_CLAIM}_a_running_copy_with_the_same_name_counts_as_another_daemon",),
    ),
    Guard(
        "F17: what was written last has time to appear before another begins",
        _HERE,
        "seconds=min(hidden / _FREE_AFTER, self._seconds), free=True)",
        "seconds=0.0, free=True)",
        (f"{_CLAIM}_a_lease_released_right_after_a_write_is_taken_after_a_delay",),
    ),
    Guard(
        "F17: a lease counts as short from before the push that shortens it",
        _HERE,
        "self._held_until, self._next_contact = short, _NEVER",
        "self._next_contact = _NEVER",
        (f"{_CLAIM}_a_lease_whose_shortening_gets_no_answer_counts_as_short",),
    ),
    Guard(
        "F17: a lease becomes short when an agent begins to work",
        _HERE,
        "                self._shorten()\n",
        "",
        (f"{_CLAIM}_the_lease_becomes_short_when_an_agent_begins_to_work",),
    ),
    Guard(
        "F17: whoever waits, waits as long as the record says",
        _HERE,
        "seconds = record.seconds if record else self._seconds",
        "seconds = self._seconds",
        (f"{_CLAIM}_a_daemon_that_dies_while_no_agent_works_is_replaced_after_the_longer_time",),
    ),
    Guard(
        "the lease tells nothing about the machine and the process",
        "bot/workspace/lease_ref.py",
        'if name not in {"host", "pid"}',
        "if True",
        (f"{_CLAIM}_the_record_tells_nothing_about_the_machine_and_the_process",),
    ),
    Guard(
        "the lease is rarely pushed while no agent works",
        _HERE,
        "seconds = self._quiet_seconds if is_quiet else self._seconds",
        "seconds = self._seconds",
        (f"{_CLAIM}_while_no_agent_works_the_lease_is_renewed_144_times_a_day",),
    ),
)

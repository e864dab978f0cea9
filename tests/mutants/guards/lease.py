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
        (f"{_FENCE}_no_write_reaches_the_server_once_the_lease_has_ended[POST]",),
    ),
    Guard(
        "F17: each push is checked",
        "bot/workspace/push.py",
        "    mirror.check_lease()\n",
        "",
        ("tests/workspace/test_push.py::test_nothing_is_pushed_once_the_lease_has_ended",),
    ),
    Guard(
        "F17: a right that has run out is none",
        _HERE,
        "if not self._is_held():\n            raise Elsewhere",
        "if not self._held:\n            raise Elsewhere",
        (f"{_CLAIM}_a_holder_that_was_stopped_for_long_and_wakes_may_write_nothing",),
    ),
    Guard(
        "F17: a right is counted from before it was written down",
        _HERE,
        "self._record_held(LeaseEntry(made, mine), begun)",
        "self._record_held(LeaseEntry(made, mine), self._clock())",
        (f"{_CLAIM}_the_right_ends_counted_from_before_the_record_was_written",),
    ),
    Guard(
        "F17: nobody takes what another still may have",
        _HERE,
        "return self._clock() - seen.since >= seen.wait",
        "return True",
        (f"{_CLAIM}_who_comes_first_has_it_and_keeps_it_while_it_is_there",),
    ),
    Guard(
        "F17: the record is only replaced by who has seen it",
        "bot/workspace/lease_ref.py",
        'f"--force-with-lease={LEASE_REF}:{old}"',
        '"--force"',
        (f"{_CLAIM}_of_many_that_ask_in_the_same_moment_one_gets_it",),
    ),
    Guard(
        "F17: one that calls itself like us is another",
        _HERE,
        "(record.by == self._daemon.id and not self._was_held)",
        "record.by == self._daemon.id",
        (f"{_CLAIM}_one_that_calls_itself_like_us_while_we_live_is_another",),
    ),
    Guard(
        "F17: what was written last has time to appear before another begins",
        _HERE,
        "seconds=min(hidden / _FREE_AFTER, self._seconds), free=True)",
        "seconds=0.0, free=True)",
        (f"{_CLAIM}_what_was_let_go_right_after_writing_is_taken_once_that_had_time_to_appear",),
    ),
)

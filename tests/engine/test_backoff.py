"""Delays before retries. Plain values."""

from bot.engine.backoff import Backoff
from bot.errors import NeedsHuman, RateLimited, Retryable


def test_a_retryable_failure_becomes_due_at_growing_intervals_but_blocks_no_tick():
    patience = Backoff()
    due = []
    now = 0.0
    for _ in range(6):
        patience.delay("run", Retryable("no"), now)
        assert not patience.is_delayed("run", now)
        assert not patience.has_due(now)
        start = now
        while not patience.has_due(now):
            now += 1
        due.append(now - start)
    assert due == [5, 10, 20, 40, 60, 60]


def test_a_rate_limit_delays_until_its_end():
    patience = Backoff()
    patience.delay("run", RateLimited("no", retry_after=300), 1000.0)
    assert patience.is_delayed("run", 1299.0)
    assert not patience.is_delayed("run", 1300.0)
    assert not patience.is_worth_waiting(1000.0)


def test_a_refusal_delays_for_five_minutes():
    patience = Backoff()
    patience.delay("run", NeedsHuman("no"), 0.0)
    assert patience.is_delayed("run", 299.0)
    assert patience.is_exhausted("run", 0.0)


def test_a_failure_is_worth_waiting_for_only_for_ninety_seconds():
    patience = Backoff()
    patience.delay("run", Retryable("no"), 0.0)
    patience.delay("run", Retryable("no"), 80.0)
    assert patience.is_worth_waiting(80.0)
    patience.delay("run", Retryable("no"), 91.0)
    assert not patience.is_worth_waiting(91.0)
    patience.succeeded("run")
    assert not patience.is_exhausted("run", 91.0)


def test_an_expected_time_is_waited_for_if_it_is_soon():
    patience = Backoff()
    patience.expect_at("run", 100.0)
    assert (patience.has_due(99.0), patience.has_due(100.0)) == (False, True)
    assert patience.is_worth_waiting(50.0)
    assert not patience.is_worth_waiting(0.0)
    patience.expect_at("run", None)
    assert not patience.has_due(100.0)

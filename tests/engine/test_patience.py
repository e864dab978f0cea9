"""What was put off is tried again at the right time. Plain values."""

from bot.engine.backoff import Patience
from bot.errors import NeedsHuman, RateLimited, Retryable


def test_a_failure_that_may_pass_is_tried_again_at_growing_intervals_and_whenever_a_tick_comes_anyway():
    patience = Patience()
    due = []
    now = 0.0
    for _ in range(6):
        patience.put_off("run", Retryable("no"), now)
        assert not patience.holds("run", now)
        assert not patience.is_over(now)
        start = now
        while not patience.is_over(now):
            now += 1
        due.append(now - start)
    assert due == [5, 10, 20, 40, 60, 60]


def test_a_limit_holds_until_its_time():
    patience = Patience()
    patience.put_off("run", RateLimited("no", retry_after=300), 1000.0)
    assert patience.holds("run", 1299.0)
    assert not patience.holds("run", 1300.0)
    assert not patience.is_worth_waiting(1000.0)


def test_a_refusal_is_left_alone_for_a_while():
    patience = Patience()
    patience.put_off("run", NeedsHuman("no"), 0.0)
    assert patience.holds("run", 299.0)
    assert patience.is_spent("run", 0.0)


def test_who_wants_an_end_waits_for_a_minute_and_a_half_and_no_longer():
    patience = Patience()
    patience.put_off("run", Retryable("no"), 0.0)
    patience.put_off("run", Retryable("no"), 80.0)
    assert patience.is_worth_waiting(80.0)
    patience.put_off("run", Retryable("no"), 91.0)
    assert not patience.is_worth_waiting(91.0)
    patience.succeeded("run")
    assert not patience.is_spent("run", 91.0)


def test_what_becomes_due_by_itself_is_waited_for_if_it_is_soon():
    patience = Patience()
    patience.expect("run", 100.0)
    assert (patience.is_over(99.0), patience.is_over(100.0)) == (False, True)
    assert patience.is_worth_waiting(50.0)
    assert not patience.is_worth_waiting(0.0)
    patience.expect("run", None)
    assert not patience.is_over(100.0)

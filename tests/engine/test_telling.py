"""What people are told of, once each, and when: plain values."""

from dataclasses import replace

import pytest

from bot.domain.comment import Place
from bot.domain.health import Ailment, Health, healths, is_silent
from bot.domain.notification import Channel, Happening, Tiding
from bot.domain.run import Cause, Phase, Run
from bot.engine import notifications as telling
from bot.engine.actions import Say
from bot.engine.decision import Decision
from bot.engine.notifications import MOST_LATE_SECONDS, Batch, day_is_spent, next_batch, still_so, tidings_of
from bot.notifications.health_alerts import LASTING_SECONDS, looked_after

NOW = 1_000_000.0
WORKING = Run("shop#1", "shop", phase=Phase.WORKING, turn=2, changed_at=5.0)


def asking(cause: Cause = Cause.QUESTION, reason: str = "Which currency?") -> Run:
    return WORKING.to(Phase.ASKING, reason=reason, cause=cause, now=NOW)


def told_of(before: Run, after: Run, at: float) -> list[Tiding]:
    return list(tidings_of(before, Decision(after), at))


def tiding(at: float = NOW, *, number: int = 1, subject: str = "shop#1/1", over: bool = False) -> Tiding:
    happening = Happening.TROUBLE if subject == "github" else Happening.ASKING
    return Tiding(happening, subject, f"occasion {number}", at, over=over, id=number)


def batch(
    channel: Channel, *tidings: Tiding, now: float = NOW, digest: float = 0.0, holds=lambda _: True
) -> Batch | None:
    return next_batch(channel, tidings, holds, now=now, digest_seconds=digest)


@pytest.mark.parametrize(
    ("cause", "happening"),
    [
        (Cause.QUESTION, Happening.ASKING),
        (Cause.HELD, Happening.ASKING),
        (Cause.CHECKS, Happening.ASKING),
        (Cause.FAILED, Happening.FAILED),
        (Cause.BUDGET, Happening.BUDGET),
    ],
)
def test_a_run_that_asks_is_told_of_with_its_reason(cause, happening):
    (told,) = told_of(WORKING, asking(cause), NOW)
    assert (told.happening, told.subject, told.at, told.words) == (happening, "shop#1/1", NOW, "Which currency?")


def test_a_question_is_told_in_the_agents_words():
    say = Say(Place.ISSUE, "ask-2-question", "The agent asks:\n\n> Euro?\n>\n> Or dollars?\n\nReply here.")
    (told,) = tidings_of(WORKING, Decision(asking(reason="The agent asks:"), (say,)), NOW)
    assert told.words == "The agent asks: Euro?  Or dollars?"


@pytest.mark.parametrize("cause", [Cause.PAUSED, Cause.TAKEN])
def test_what_a_person_ordered_is_no_news(cause):
    assert told_of(WORKING, asking(cause), NOW) == []


def test_as_long_as_a_run_stays_where_it_is_there_is_nothing_new():
    run = asking()
    assert told_of(run, replace(run, shown="other", tokens=7, reason="in other words"), NOW + 9) == []


def test_a_run_that_asks_for_another_reason_is_told_of_again():
    run = asking()
    (again,) = told_of(run, replace(run, cause=Cause.BUDGET), NOW + 9)
    (first,) = told_of(WORKING, run, NOW)
    assert again.occasion != first.occasion


def test_each_time_a_pull_request_is_ready_is_an_occasion_of_its_own():
    first = WORKING.to(Phase.REVIEW, now=NOW)
    again = first.to(Phase.WORKING, now=NOW + 5).to(Phase.REVIEW, now=NOW + 9)
    occasions = [told.occasion for run in (first, again) for told in told_of(WORKING, run, NOW)]
    assert len(set(occasions)) == 2
    assert told_of(first, replace(first, facts="green"), NOW) == []


def test_what_works_waits_or_is_over_is_not_told():
    assert [told_of(asking(), run, NOW) for run in (WORKING, replace(WORKING, phase=Phase.DONE))] == [[], []]


def test_what_is_not_so_any_more_is_known():
    (told,) = told_of(WORKING, asking(), NOW)
    assert still_so(told, asking())
    assert not still_so(told, asking().to(Phase.WORKING, now=NOW + 1))
    assert not still_so(told, replace(asking(), ordinal=2))
    assert not still_so(told, None)


def test_a_days_budget_is_told_of_once_a_day():
    assert day_is_spent(49.0, 50.0, 0.0, NOW) == ()
    assert day_is_spent(99.0, 0.0, 0.0, NOW) == ()
    (first,), (later,) = day_is_spent(50.0, 50.0, 0.0, NOW), day_is_spent(51.0, 50.0, 0.0, NOW + 60)
    assert (first.happening, first.occasion) == (later.happening, later.occasion) == (Happening.BUDGET, "day 0")


# When


def test_whatever_is_due_goes_out_as_one_message():
    found = batch(Channel("c"), tiding(), tiding(number=2, subject="shop#2/1"))
    assert found
    assert (found.last, [one.id for one in found.tidings], found.again) == (2, [1, 2], False)


def test_a_digest_waits_for_the_oldest_to_have_waited():
    news = (tiding(NOW), tiding(NOW + 50, number=2))
    assert batch(Channel("c"), *news, now=NOW + 59, digest=60) is None
    found = batch(Channel("c"), *news, now=NOW + 60, digest=60)
    assert found
    assert found.last == 2


def test_a_digest_does_not_wait_for_a_clock_that_was_set_back():
    assert batch(Channel("c"), tiding(NOW + 5000), digest=60)


def test_what_is_too_old_or_over_is_passed_over_without_a_message():
    assert batch(Channel("c"), tiding(NOW - MOST_LATE_SECONDS)) == Batch(1, ())
    assert batch(Channel("c"), tiding(), holds=lambda _: False) == Batch(1, ())


def test_trouble_that_came_and_went_before_anybody_was_told_is_not_told():
    news = (tiding(subject="github"), tiding(number=2), tiding(number=3, subject="github", over=True))
    found = batch(Channel("c"), *news)
    assert found
    assert [one.id for one in found.tidings] == [2]
    assert found.last == 3
    later = batch(Channel("c"), news[2])
    assert later
    assert [one.id for one in later.tidings] == [3], "when the first half was told, so is the second"


# How far


def test_a_message_that_arrived_moves_the_channel_on():
    found = batch(Channel("c", told=0), tiding())
    assert found
    assert telling.sent(telling.begun(Channel("c"), found)) == Channel("c", told=1, sent=1)


def test_an_unknown_outcome_is_repeated_once_and_says_so_and_never_twice():
    died = telling.begun(Channel("c"), Batch(1, (tiding(),)))
    doubted = telling.found(died)
    found = batch(doubted, tiding(), tiding(number=2))
    assert found
    assert (found.last, [one.id for one in found.tidings], found.again) == (1, [1], True)
    died_again = telling.found(telling.begun(doubted, found))
    assert (died_again.told, died_again.trying, died_again.doubted) == (1, 0, 0)


def test_a_repeat_that_fails_for_certain_stays_a_repeat():
    doubted = telling.found(telling.begun(Channel("c"), Batch(1, (tiding(),))))
    failed = telling.failed(telling.begun(doubted, Batch(1, (tiding(),))), "refused", NOW)
    found = batch(telling.found(failed), tiding(), tiding(number=2))
    assert found
    assert (found.last, found.again) == (1, True)


def test_a_channel_that_fails_rests_longer_and_longer_and_is_forgiven_at_once():
    channel, pauses = Channel("c"), []
    for _ in range(12):
        channel = telling.failed(telling.begun(channel, Batch(1, ())), "refused", NOW)
        pauses.append(channel.not_before - NOW)
    assert pauses[:4] == [30, 60, 120, 240]
    assert pauses[-1] == 3600
    assert (channel.told, channel.trying, channel.failed, channel.problem) == (0, 0, 12, "refused")
    assert telling.must_rest(channel, NOW + 3599)
    assert not telling.must_rest(channel, NOW + 3600)
    assert not telling.must_rest(channel, NOW - 9999), "the clock was set back"
    well = telling.sent(telling.begun(channel, Batch(1, ())))
    assert (well.attempts, well.not_before, well.problem) == (0, 0.0, "")


# Trouble


ILL, WELL = (
    Health("github", ok=False, detail="refuses us", still="Agents go on"),
    Health("github", ok=True, detail="answers"),
)


def days_of_a_house(*moments: tuple[float, Health | None]) -> list[tuple[float, str, bool]]:
    before: dict[str, Ailment] = {}
    told = []
    for at, health in moments:
        after, tidings = looked_after(before, [health] if health else [], at)
        before = {one.health.name: one for one in after}
        told += [(at, one.words, one.over) for one in tidings]
    return told


def test_trouble_that_lasts_is_told_once_and_its_end_once():
    moments = [(NOW + 15 * n, ILL) for n in range(100)] + [(NOW + 1500 + 15 * n, WELL) for n in range(100)]
    assert days_of_a_house(*moments) == [
        (NOW + LASTING_SECONDS, "refuses us. Agents go on", False),
        (NOW + 1500 + LASTING_SECONDS, "answers", True),
    ]


def test_trouble_that_comes_and_goes_is_not_told():
    assert days_of_a_house(*[(NOW + 60 * n, ILL if n % 3 else WELL) for n in range(300)]) == []


def test_what_is_not_named_any_more_is_well_again():
    moments = [(NOW, ILL), (NOW + 300, ILL), (NOW + 301, None), (NOW + 601, None), (NOW + 602, None), (NOW + 999, None)]
    assert [over for _, _, over in days_of_a_house(*moments)] == [False, True]


def test_some_things_are_never_told_as_trouble():
    assert {is_silent(name) for name in ("daemon", "sandbox", "claim shop", "notify slack", "budget")} == {True}
    assert not is_silent("github acme/shop")
    long_ill = {"github": Ailment(ILL, NOW - LASTING_SECONDS)}
    assert [len(looked_after(long_ill, [ILL], NOW, silent=silent)[1]) for silent in ({}, {"github"})] == [1, 0]


def test_what_is_not_well_says_what_works_all_the_same():
    names = ("daemon", "disk", "database", "github acme/shop", "linear", "limits GitHub", "claim shop", "project shop",
             "model", "look shop", "budget", "notify slack", "sandbox", "gate")  # fmt: skip
    assert all(one.still for one in healths(dict.fromkeys(names, (False, "x"))).values())
    assert not any(one.still for one in healths(dict.fromkeys(names, (True, "x"))).values())

"""Notifications: which events cause one, and when. Plain values."""

from dataclasses import replace

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.health import Health, HealthRecord, health_by_name, is_silent
from bot.domain.notification import ChannelState, Notification, NotificationKind
from bot.domain.run import Phase, Run, RunTurns, WaitReason
from bot.engine import notifications
from bot.engine.actions import PostComment
from bot.engine.decision import Decision
from bot.engine.notifications import (
    MOST_LATE_SECONDS,
    NotificationBatch,
    daily_budget_spent,
    is_still_true,
    next_batch,
    notifications_of,
)
from bot.notifications.health_alerts import LASTING_SECONDS, update_health

NOW = 1_000_000.0
WORKING = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=2), changed_at=5.0)


def asking(cause: WaitReason = WaitReason.QUESTION, reason: str = "Which currency?") -> Run:
    return WORKING.to(Phase.ASKING, reason=reason, wait_reason=cause, now=NOW)


def told_of(before: Run, after: Run, at: float) -> list[Notification]:
    return list(notifications_of(before, Decision(after), at))


def notification(at: float = NOW, *, number: int = 1, subject: str = "shop#1/1", over: bool = False) -> Notification:
    happening = NotificationKind.TROUBLE if subject == "github" else NotificationKind.ASKING
    return Notification(happening, subject, f"occasion {number}", at, resolved=over, id=number)


def batch(
    channel: ChannelState, *notifications: Notification, now: float = NOW, digest: float = 0.0, holds=lambda _: True
) -> NotificationBatch | None:
    return next_batch(channel, notifications, holds, now=now, digest_seconds=digest)


@pytest.mark.parametrize(
    ("cause", "happening"),
    [
        (WaitReason.QUESTION, NotificationKind.ASKING),
        (WaitReason.BLOCKED, NotificationKind.ASKING),
        (WaitReason.CHECKS, NotificationKind.ASKING),
        (WaitReason.FAILED, NotificationKind.FAILED),
        (WaitReason.BUDGET, NotificationKind.BUDGET),
    ],
)
def test_a_run_that_asks_causes_a_notification_with_its_reason(cause, happening):
    (told,) = told_of(WORKING, asking(cause), NOW)
    assert (told.kind, told.subject, told.at, told.text) == (happening, "shop#1/1", NOW, "Which currency?")


def test_a_notification_about_a_question_quotes_the_agent():
    say = PostComment(
        CommentPlace.ISSUE, "ask-2-question", "The agent asks:\n\n> Euro?\n>\n> Or dollars?\n\nReply here."
    )
    (told,) = notifications_of(WORKING, Decision(asking(reason="The agent asks:"), (say,)), NOW)
    assert told.text == "The agent asks: Euro?  Or dollars?"


@pytest.mark.parametrize("cause", [WaitReason.PAUSED, WaitReason.TAKEN_OVER])
def test_a_command_of_a_person_causes_no_notification(cause):
    assert told_of(WORKING, asking(cause), NOW) == []


def test_an_unchanged_phase_causes_no_new_notification():
    run = asking()
    assert (
        told_of(
            run,
            replace(
                run,
                status=replace(run.status, digest="other"),
                spend=replace(run.spend, tokens=7),
                reason="in other words",
            ),
            NOW + 9,
        )
        == []
    )


def test_a_new_reason_to_ask_causes_another_notification():
    run = asking()
    (again,) = told_of(run, replace(run, wait_reason=WaitReason.BUDGET), NOW + 9)
    (first,) = told_of(WORKING, run, NOW)
    assert again.dedup_key != first.dedup_key


def test_each_time_a_pull_request_is_ready_causes_its_own_notification():
    first = WORKING.to(Phase.REVIEW, now=NOW)
    again = first.to(Phase.WORKING, now=NOW + 5).to(Phase.REVIEW, now=NOW + 9)
    occasions = [told.dedup_key for run in (first, again) for told in told_of(WORKING, run, NOW)]
    assert len(set(occasions)) == 2
    assert told_of(first, replace(first, checks=replace(first.checks, shown_digest="green")), NOW) == []


def test_working_and_finished_runs_cause_no_notification():
    assert [told_of(asking(), run, NOW) for run in (WORKING, replace(WORKING, phase=Phase.DONE))] == [[], []]


def test_an_outdated_notification_is_recognized():
    (told,) = told_of(WORKING, asking(), NOW)
    assert is_still_true(told, asking())
    assert not is_still_true(told, asking().to(Phase.WORKING, now=NOW + 1))
    assert not is_still_true(told, replace(asking(), ordinal=2))
    assert not is_still_true(told, None)


def test_an_exhausted_daily_budget_causes_one_notification_a_day():
    assert daily_budget_spent(49.0, 50.0, 0.0, NOW) == ()
    assert daily_budget_spent(99.0, 0.0, 0.0, NOW) == ()
    (first,), (later,) = daily_budget_spent(50.0, 50.0, 0.0, NOW), daily_budget_spent(51.0, 50.0, 0.0, NOW + 60)
    assert (first.kind, first.dedup_key) == (later.kind, later.dedup_key) == (NotificationKind.BUDGET, "day 0")


# When


def test_all_due_notifications_are_sent_as_one_message():
    found = batch(ChannelState("c"), notification(), notification(number=2, subject="shop#2/1"))
    assert found
    assert (found.last, [one.id for one in found.notifications], found.again) == (2, [1, 2], False)


def test_a_digest_waits_for_its_oldest_notification():
    news = (notification(NOW), notification(NOW + 50, number=2))
    assert batch(ChannelState("c"), *news, now=NOW + 59, digest=60) is None
    found = batch(ChannelState("c"), *news, now=NOW + 60, digest=60)
    assert found
    assert found.last == 2


def test_a_digest_does_not_wait_for_a_clock_that_was_set_back():
    assert batch(ChannelState("c"), notification(NOW + 5000), digest=60)


def test_old_and_outdated_notifications_are_skipped_without_a_message():
    assert batch(ChannelState("c"), notification(NOW - MOST_LATE_SECONDS)) == NotificationBatch(1, ())
    assert batch(ChannelState("c"), notification(), holds=lambda _: False) == NotificationBatch(1, ())


def test_a_fault_that_ended_before_it_was_sent_is_not_sent():
    news = (notification(subject="github"), notification(number=2), notification(number=3, subject="github", over=True))
    found = batch(ChannelState("c"), *news)
    assert found
    assert [one.id for one in found.notifications] == [2]
    assert found.last == 3
    later = batch(ChannelState("c"), news[2])
    assert later
    assert [one.id for one in later.notifications] == [3], "when the first half was told, so is the second"


# How far


def test_a_delivered_message_advances_the_channel():
    found = batch(ChannelState("c", delivered=0), notification())
    assert found
    assert notifications.confirm_sent(notifications.begin_sending(ChannelState("c"), found)) == ChannelState(
        "c", delivered=1, sent=1
    )


def test_a_message_with_an_unknown_outcome_is_repeated_once_and_marked():
    died = notifications.begin_sending(ChannelState("c"), NotificationBatch(1, (notification(),)))
    doubted = notifications.recover(died)
    found = batch(doubted, notification(), notification(number=2))
    assert found
    assert (found.last, [one.id for one in found.notifications], found.again) == (1, [1], True)
    died_again = notifications.recover(notifications.begin_sending(doubted, found))
    assert (died_again.delivered, died_again.sending, died_again.unconfirmed) == (1, 0, 0)


def test_a_repeat_that_fails_for_certain_stays_a_repeat():
    doubted = notifications.recover(
        notifications.begin_sending(ChannelState("c"), NotificationBatch(1, (notification(),)))
    )
    failed = notifications.record_failure(
        notifications.begin_sending(doubted, NotificationBatch(1, (notification(),))), "refused", NOW
    )
    found = batch(notifications.recover(failed), notification(), notification(number=2))
    assert found
    assert (found.last, found.again) == (1, True)


def test_a_failing_channel_backs_off_and_recovers_at_once():
    channel, pauses = ChannelState("c"), []
    for _ in range(12):
        channel = notifications.record_failure(
            notifications.begin_sending(channel, NotificationBatch(1, ())), "refused", NOW
        )
        pauses.append(channel.not_before - NOW)
    assert pauses[:4] == [30, 60, 120, 240]
    assert pauses[-1] == 3600
    assert (channel.delivered, channel.sending, channel.failed, channel.problem) == (0, 0, 12, "refused")
    assert notifications.must_wait(channel, NOW + 3599)
    assert not notifications.must_wait(channel, NOW + 3600)
    assert not notifications.must_wait(channel, NOW - 9999), "the clock was set back"
    well = notifications.confirm_sent(notifications.begin_sending(channel, NotificationBatch(1, ())))
    assert (well.attempts, well.not_before, well.problem) == (0, 0.0, "")


# Faults


ILL, WELL = (
    Health("github", ok=False, detail="refuses us", still_works="Agents go on"),
    Health("github", ok=True, detail="answers"),
)


def health_over_days(*moments: tuple[float, Health | None]) -> list[tuple[float, str, bool]]:
    before: dict[str, HealthRecord] = {}
    told = []
    for at, health in moments:
        after, notifications = update_health(before, [health] if health else [], at)
        before = {one.health.name: one for one in after}
        told += [(at, one.text, one.resolved) for one in notifications]
    return told


def test_a_lasting_fault_is_sent_once_and_its_end_once():
    moments = [(NOW + 15 * n, ILL) for n in range(100)] + [(NOW + 1500 + 15 * n, WELL) for n in range(100)]
    assert health_over_days(*moments) == [
        (NOW + LASTING_SECONDS, "refuses us. Agents go on", False),
        (NOW + 1500 + LASTING_SECONDS, "answers", True),
    ]


def test_an_intermittent_fault_is_not_sent():
    assert health_over_days(*[(NOW + 60 * n, ILL if n % 3 else WELL) for n in range(300)]) == []


def test_a_fault_that_is_no_longer_reported_counts_as_ended():
    moments = [(NOW, ILL), (NOW + 300, ILL), (NOW + 301, None), (NOW + 601, None), (NOW + 602, None), (NOW + 999, None)]
    assert [over for _, _, over in health_over_days(*moments)] == [False, True]


def test_some_health_checks_never_cause_a_notification():
    assert {is_silent(name) for name in ("daemon", "sandbox", "lease shop", "notify slack", "budget")} == {True}
    assert not is_silent("github acme/shop")
    long_ill = {"github": HealthRecord(ILL, NOW - LASTING_SECONDS)}
    assert [len(update_health(long_ill, [ILL], NOW, silent=silent)[1]) for silent in ({}, {"github"})] == [1, 0]


def test_every_failed_health_check_names_the_parts_that_still_work():
    names = ("daemon", "disk", "database", "limits GitHub", "lease shop", "project shop",
             "model", "poll shop", "budget", "notify slack", "sandbox", "proxy")  # fmt: skip
    assert all(one.still_works for one in health_by_name(dict.fromkeys(names, (False, "x"))).values())
    assert not any(one.still_works for one in health_by_name(dict.fromkeys(names, (True, "x"))).values())

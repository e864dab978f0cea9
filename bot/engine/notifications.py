"""Decides which notifications are due for which channel. Pure.

Rule: each occasion is notified once. A notification is saved together with the change it reports, and judged again when
it is sent: outdated ones are dropped. All that is due for a channel goes out as one message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.domain.notification import ChannelState, Notification, NotificationKind
from bot.domain.run import Phase, Run, WaitReason
from bot.engine.actions import PostComment
from bot.engine.decision import Decision
from bot.text.money import dollars

MOST_LATE_SECONDS = 86400.0
"""Older notifications are dropped."""
PAUSE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 3600.0
STUCK = "sending takes too long: the service has not answered"

_WORDS = 2000
_BY_COMMAND = frozenset({WaitReason.PAUSED, WaitReason.TAKEN_OVER})
"""Caused by a person's own command: no notification."""
_KINDS = {
    WaitReason.FAILED: NotificationKind.FAILED,
    WaitReason.BUDGET: NotificationKind.BUDGET,
    WaitReason.DAY_BUDGET: NotificationKind.BUDGET,
}


@dataclass(frozen=True, slots=True)
class NotificationBatch:
    """Notifications that one message sends."""

    last: int
    """Id of the last notification that this message covers."""
    notifications: tuple[Notification, ...]
    again: bool = False
    """The message may be a repeat."""


def notifications_of(before: Run, decision: Decision, at: float) -> Sequence[Notification]:
    """Returns notifications about one step of a run."""
    after = decision.run
    kind = kind_of(after)
    if kind is None or dedup_key_of(before) == dedup_key_of(after):
        return ()
    return (Notification(kind, after.id, dedup_key_of(after), at, _why(decision)),)


def _why(decision: Decision) -> str:
    """Adds quoted text to a reason that only announces it."""
    reason = decision.run.reason
    texts = [one.text for one in decision.actions if isinstance(one, PostComment)] if reason.endswith(":") else []
    quoted = [line.removeprefix(">").strip() for text in texts for line in text.splitlines() if line.startswith(">")]
    return " ".join([reason, *quoted])[:_WORDS]


def kind_of(run: Run) -> NotificationKind | None:
    if run.phase is Phase.REVIEW:
        return NotificationKind.REVIEW
    if run.phase is not Phase.ASKING or run.wait_reason in _BY_COMMAND:
        return None
    return _KINDS.get(run.wait_reason, NotificationKind.ASKING)


def dedup_key_of(run: Run) -> str:
    """Returns the same key as long as phase and wait reason stay."""
    exactly = f" {run.wait_reason} {run.turns.number} {run.consent.asked_for}" if run.phase is Phase.ASKING else ""
    return f"{run.phase} {run.changed_at!r}{exactly}"


def is_still_true(notification: Notification, run: Run | None) -> bool:
    """Returns True if a notification about a run still holds; the run is the newest of its issue."""
    if run is None or run.id != notification.subject:
        return False
    return kind_of(run) is notification.kind and dedup_key_of(run) == notification.dedup_key


def daily_budget_spent(spent_usd: float, limit_usd: float, day: float, at: float) -> Sequence[Notification]:
    """`day` is the time when the day began."""
    if not limit_usd or spent_usd < limit_usd:
        return ()
    words = f"{dollars(spent_usd)} of {dollars(limit_usd)} are spent today; no turn starts before 00:00 UTC."
    return (Notification(NotificationKind.BUDGET, "today", f"day {day:.0f}", at, words),)


def next_batch(
    channel: ChannelState,
    notifications: Sequence[Notification],
    holds: Callable[[Notification], bool],
    *,
    now: float,
    digest_seconds: float = 0.0,
) -> NotificationBatch | None:
    """Returns the next message of a channel; None: wait for more. Without notifications: nothing is to be sent."""
    if channel.unconfirmed:
        notifications = [one for one in notifications if one.id <= channel.unconfirmed]
    last = max((one.id for one in notifications), default=max(channel.unconfirmed, channel.delivered))
    left = _without_resolved([one for one in notifications if _is_fresh(one, now) and holds(one)])
    if left and not channel.unconfirmed and 0 <= now - left[0].at < digest_seconds:
        return None
    return NotificationBatch(last, tuple(left), again=bool(channel.unconfirmed))


def _is_fresh(one: Notification, now: float) -> bool:
    return one.at > now - MOST_LATE_SECONDS


def _without_resolved(notifications: Sequence[Notification]) -> list[Notification]:
    """Drops a problem that was resolved before its notification was sent."""
    kept: list[Notification] = []
    for one in notifications:
        begun = [other for other in kept if one.resolved and other.subject == one.subject and not other.resolved]
        if begun:
            kept.remove(begun[-1])
        else:
            kept.append(one)
    return kept


# Delivery state of a channel


def recover(channel: ChannelState) -> ChannelState:
    """Returns the state after a restart. A message with an unknown result is repeated once, never twice."""
    if channel.sending and channel.unconfirmed:
        return replace(channel, delivered=channel.unconfirmed, sending=0, unconfirmed=0)
    return replace(channel, sending=0, unconfirmed=channel.unconfirmed or channel.sending)


def begin_sending(channel: ChannelState, batch: NotificationBatch) -> ChannelState:
    return replace(channel, sending=batch.last)


def skip(channel: ChannelState, batch: NotificationBatch) -> ChannelState:
    return replace(channel, delivered=batch.last, sending=0, unconfirmed=0)


def confirm_sent(channel: ChannelState) -> ChannelState:
    delivered = replace(channel, delivered=channel.sending, sending=0, unconfirmed=0)
    return replace(delivered, attempts=0, not_before=0.0, problem="", sent=channel.sent + 1)


def record_failure(channel: ChannelState, problem: str, now: float) -> ChannelState:
    pause = min(PAUSE_SECONDS * 2 ** min(channel.attempts, 10), LONGEST_PAUSE_SECONDS)
    return replace(
        channel,
        sending=0,
        attempts=channel.attempts + 1,
        not_before=now + pause,
        problem=problem,
        failed=channel.failed + 1,
    )


def mark_stuck(channel: ChannelState) -> ChannelState:
    """Marks a channel whose message is under way for too long."""
    return replace(channel, problem=STUCK)


def must_wait(channel: ChannelState, now: float) -> bool:
    """Returns False for a time that is too far away, because the clock may have been set back."""
    return 0 < channel.not_before - now <= LONGEST_PAUSE_SECONDS

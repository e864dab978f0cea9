"""Health alerts: one notification when a dependency has been failing for five minutes, one when it recovers. Pure.

Rule: a short failure is not announced, and a recovery only if its failure was.
"""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.health import Health, HealthRecord
from bot.domain.notification import Notification, NotificationKind

LASTING_SECONDS = 300.0


def update_health(
    before: Mapping[str, HealthRecord], healths: Sequence[Health], now: float, *, silent: Collection[str] = ()
) -> tuple[Sequence[HealthRecord], Sequence[Notification]]:
    """Returns the new records and the notifications due.

    A name that is missing now has recovered; `silent` names are never announced.
    """
    gone = [
        Health(name, ok=True, detail="")
        for name, one in before.items()
        if one.notified and name not in {health.name for health in healths}
    ]
    records = [_updated_record(before.get(health.name), health, now) for health in (*healths, *gone)]
    due = [one for one in records if _is_due(one, now) and one.health.name not in silent]
    notifications = [_notification_of(one, now) for one in due]
    announced = [
        HealthRecord(one.health, one.since, notified=not one.health.ok) if one in due else one for one in records
    ]
    return announced, notifications


def _updated_record(was: HealthRecord | None, health: Health, now: float) -> HealthRecord:
    if was is None:
        return HealthRecord(health, now)
    changed = was.health.ok is not health.ok or was.since > now  # the clock was set back
    return HealthRecord(health, now if changed else was.since, was.notified)


def _is_due(one: HealthRecord, now: float) -> bool:
    return one.notified is one.health.ok and now - one.since >= LASTING_SECONDS


def _notification_of(one: HealthRecord, now: float) -> Notification:
    over, health = one.health.ok, one.health
    words = health.detail if over else ". ".join(part for part in (health.detail, health.still_works) if part)
    return Notification(
        NotificationKind.TROUBLE, health.name, f"{'well' if over else 'ill'} {one.since!r}", now, words, over
    )

"""Builds the notifier from the settings, and sends a test notification."""

from functools import partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.domain.notification import Notification, NotificationKind
from bot.engine.notifications import NotificationBatch, is_still_true
from bot.notifications.text import NotificationText, RunContext, render_notifications
from bot.settings.credentials import notify_urls
from bot.settings.schema import Settings
from bot.status.as_json import RunSummary, StatusSnapshot
from bot.status.snapshot import read_status
from bot.store.runs import RunStore
from bot.system import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.notifications.notifier import NotificationPreferences, Notifier

_TEST = NotificationText("Treehand: a test", "This is what `treehand check --notify` sends. Nothing else has happened.")


def build_notifier(settings: Settings, store: RunStore, redact: "Callable[[str], str]") -> "Notifier":
    from bot.notifications.notifier import Notifier

    preferences = notification_preferences(settings)
    compose, urls = partial(_compose, settings), notify_urls(settings)
    return Notifier(urls, preferences, store.notifications, partial(_is_current, store), compose, clock.now, redact)


def notification_preferences(settings: Settings) -> "NotificationPreferences":
    from bot.notifications.notifier import NotificationPreferences
    from bot.notifications.quiet_hours import parse_quiet_hours

    notify = settings.notify
    zone = ZoneInfo(notify.zone) if notify.zone else None
    quiet = parse_quiet_hours(notify.quiet, zone)
    return NotificationPreferences(frozenset(notify.on), quiet, notify.digest_minutes * 60)


def channel_findings(settings: Settings, *, send_test: bool) -> "Sequence[tuple[str, bool, str]]":
    """Findings of `treehand check`: name, whether it is well, and the problem."""
    return [
        (f"notify/{number}", *_check_channel(url, send_test=send_test))
        for number, url in enumerate(notify_urls(settings), start=1)
    ]


def _check_channel(url: str, *, send_test: bool) -> tuple[bool, str]:
    from bot.notifications.send import describe_address, send

    try:
        name = describe_address(url)
    except ValueError as exc:
        return False, f"{exc}; see `notify.urls`"
    if not send_test:
        return True, f"{name} (`treehand check --notify` sends a message)"
    problem = send(url, lambda: _TEST)
    return not problem, f"{name}: {problem or 'a message was sent'}"


def _is_current(store: RunStore, notification: Notification) -> bool:
    if notification.kind is NotificationKind.TROUBLE:
        return True
    if notification.subject == "today":
        return notification.dedup_key == f"day {clock.day_of(clock.now()):.0f}"
    return is_still_true(notification, store.find_run(notification.subject.rpartition("/")[0]))


def _compose(settings: Settings, batch: NotificationBatch) -> NotificationText:
    """Safe in any thread."""
    status = read_status(settings)
    notifications = [(one, _run_context(one, status)) for one in batch.notifications]
    return render_notifications(notifications, link=settings.notify.link, again=batch.again)


def _run_context(notification: Notification, status: StatusSnapshot) -> RunContext:
    if notification.kind is NotificationKind.TROUBLE or notification.subject == "today":
        return RunContext()
    summary = status.summaries.get(notification.subject, RunSummary())
    pull = summary.pull_request
    key = notification.subject.rpartition("/")[0]
    return RunContext(key, summary.title, pull.url if pull else "", summary.url)

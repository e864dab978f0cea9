"""Who is told and how, by which settings; and a message to try it."""

from functools import partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.domain.notification import Happening, Tiding
from bot.engine.notifications import Batch, still_so
from bot.notifications.text import Announcement, Surroundings, announcement_of
from bot.settings import Settings
from bot.settings.credentials import notify_urls
from bot.status.as_json import Glimpse, Picture
from bot.status.snapshot import picture
from bot.store.runs import RunStore
from bot.system import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.notifications.notifier import Crier

_TRIAL = Announcement("Treehand: a test", "This is what `treehand check --notify` sends. Nothing else has happened.")


def crier_of(settings: Settings, store: RunStore, redact: "Callable[[str], str]") -> "Crier":
    from bot.notifications.notifier import Crier, Manner
    from bot.notifications.quiet_hours import parse_quiet

    notify = settings.notify
    zone = ZoneInfo(notify.zone) if notify.zone else None
    manner = Manner(frozenset(notify.on), parse_quiet(notify.quiet, zone), notify.digest_minutes * 60)
    compose, urls = partial(_composed, settings), notify_urls(settings)
    return Crier(urls, manner, store.tidings, partial(_holds, store), compose, clock.now, redact)


def channel_findings(settings: Settings, *, trying: bool) -> "Sequence[tuple[str, bool, str]]":
    """What `treehand check` says of each channel: name, whether it is well, and what is wrong with it."""
    return [
        (f"notify/{number}", *_finding(url, trying=trying)) for number, url in enumerate(notify_urls(settings), start=1)
    ]


def _finding(url: str, *, trying: bool) -> tuple[bool, str]:
    from bot.notifications.send import send, shown

    try:
        name = shown(url)
    except ValueError as exc:
        return False, f"{exc}; see `notify.urls`"
    if not trying:
        return True, f"{name} (`treehand check --notify` sends a message)"
    problem = send(url, lambda: _TRIAL)
    return not problem, f"{name}: {problem or 'a message was sent'}"


def _holds(store: RunStore, told: Tiding) -> bool:
    """Is it still so?"""
    if told.happening is Happening.TROUBLE:
        return True
    if told.subject == "today":
        return told.occasion == f"day {clock.day_of(clock.now()):.0f}"
    return still_so(told, store.find_run(told.subject.rpartition("/")[0]))


def _composed(settings: Settings, batch: Batch) -> Announcement:
    """Any thread may do this."""
    seen = picture(settings)
    told = [(one, _surroundings(one, seen)) for one in batch.tidings]
    return announcement_of(told, link=settings.notify.link, again=batch.again)


def _surroundings(told: Tiding, seen: Picture) -> Surroundings:
    if told.happening is Happening.TROUBLE or told.subject == "today":
        return Surroundings()
    glimpse = seen.glimpses.get(told.subject, Glimpse())
    pull = glimpse.pull_request
    key = told.subject.rpartition("/")[0]
    return Surroundings(key, glimpse.title, pull.url if pull else "", glimpse.url)

"""Notifier: sends due notifications to every channel and records the result, each channel on its own.

Rule: the state is saved before a message is sent and again after its result. Failures here never reach a run: a
database that cannot be written waits for the next round.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.domain.notification import ChannelState, Notification, NotificationKind
from bot.engine import notifications
from bot.engine.notifications import NotificationBatch
from bot.notifications.quiet_hours import QuietHours
from bot.notifications.send import SentMessage, channel_id, scheme_of, start_sending
from bot.notifications.text import NotificationText

log = logging.getLogger(__name__)

SLOW_SECONDS = 30.0
"""A message that takes longer is reported as a problem of its channel."""

ComposeText = Callable[[NotificationBatch], NotificationText]


class StartSending(Protocol):
    """Starts sending a message, and does not wait."""

    def __call__(self, url: str, compose: Callable[[], NotificationText], *, now: float) -> SentMessage: ...


class NotificationStore(Protocol):
    """Notifications and channel states in the database."""

    def after(self, last: int) -> Sequence[Notification]: ...
    def channel(self, channel_id: str) -> ChannelState: ...
    def keep(self, channel: ChannelState) -> None: ...


@dataclass(frozen=True, slots=True)
class NotificationPreferences:
    """Notification settings: kinds, quiet hours, digest."""

    on: frozenset[str] = frozenset(NotificationKind)
    quiet: QuietHours | None = None
    digest_seconds: float = 0.0


@dataclass(slots=True)
class _Channel:
    """One channel and the message it is sending."""

    url: str
    name: str
    state: ChannelState
    sending: SentMessage | None = None
    reported: bool = False


@dataclass(slots=True)
class Notifier:
    urls: Sequence[str]
    preferences: NotificationPreferences
    store: NotificationStore
    is_current: Callable[[Notification], bool]
    """Returns False for a notification that no longer applies."""
    compose: ComposeText
    clock: Callable[[], float]
    redact: Callable[[str], str] = str
    start_sending: "StartSending" = start_sending
    _channels: list[_Channel] = field(default_factory=list)

    def open(self) -> None:
        """Restores each channel: an unfinished message is repeated once, a new channel gets new notifications only."""
        for url in dict.fromkeys(self.urls):
            state = notifications.recover(self.store.channel(channel_id(url)))
            self.store.keep(state)
            alike = sum(scheme_of(url) == scheme_of(one.url) for one in self._channels)
            name = scheme_of(url) if not alike else f"{scheme_of(url)} {alike + 1}"
            self._channels.append(_Channel(url, name, state))

    def send_due(self) -> None:
        """Sends what is due. Called often; never blocks."""
        now = self.clock()
        self._collect_results(now)
        waiting = [
            channel
            for channel in self._channels
            if channel.sending is None and not notifications.must_wait(channel.state, now)
        ]
        if not waiting or (self.preferences.quiet and self.preferences.quiet.covers(now)):
            return
        news = self.store.after(min(channel.state.delivered for channel in waiting))
        for channel in waiting:
            unsent = [one for one in news if one.id > channel.state.delivered]
            if unsent or channel.state.unconfirmed:
                self._send_batch(channel, unsent, now)

    def channels(self) -> Sequence[tuple[str, ChannelState]]:
        """Returns each channel's name and state; a message that takes too long counts as a problem."""
        now = self.clock()
        return [
            (channel.name, notifications.mark_stuck(channel.state) if _is_stuck(channel, now) else channel.state)
            for channel in self._channels
        ]

    def close(self) -> None:
        """Records results and sends nothing more. Raises Retryable if the database cannot be written."""
        self._collect_results(self.clock())
        self._channels.clear()

    def is_sending(self) -> bool:
        return any(channel.sending and not channel.sending.ended.is_set() for channel in self._channels)

    def _collect_results(self, now: float) -> None:
        for channel in self._channels:
            if channel.sending is not None:
                self._collect_result(channel, channel.sending, now)

    def _send_batch(self, channel: _Channel, unsent: Sequence[Notification], now: float) -> None:
        batch = notifications.next_batch(
            channel.state, unsent, self._is_wanted, now=now, digest_seconds=self.preferences.digest_seconds
        )
        if batch is None:
            return
        if not batch.notifications:
            self._save(channel, notifications.skip(channel.state, batch))
            return
        self._save(channel, notifications.begin_sending(channel.state, batch))
        channel.sending = self.start_sending(channel.url, lambda: self.compose(batch), now=now)

    def _is_wanted(self, one: Notification) -> bool:
        return one.kind in self.preferences.on and self.is_current(one)

    def _collect_result(self, channel: _Channel, sending: SentMessage, now: float) -> None:
        if not sending.ended.is_set():
            if _is_stuck(channel, now):
                self._report(channel, notifications.STUCK)
            return
        if sending.problem:
            problem = self.redact(sending.problem)
            self._save(channel, notifications.record_failure(channel.state, problem, now))
            self._report(channel, problem)
        else:
            self._save(channel, notifications.confirm_sent(channel.state))
            if channel.reported:
                log.info("notifications resumed channel=%s", channel.name)
            channel.reported = False
        channel.sending = None

    def _report(self, channel: _Channel, problem: str) -> None:
        """Logs the problem once, until the channel works again."""
        if not channel.reported:
            log.warning("notifications failing channel=%s reason=%s", channel.name, problem)
        channel.reported = True

    def _save(self, channel: _Channel, state: ChannelState) -> None:
        self.store.keep(state)
        channel.state = state


def _is_stuck(channel: _Channel, now: float) -> bool:
    return channel.sending is not None and now - channel.sending.begun_at > SLOW_SECONDS

"""Goes round the channels: takes in what became of each message, and sends what is due. Each channel on its own.

Rule: what is about to be sent is saved first, and what became of it right after; nothing else of it is remembered. What
happens here never reaches a run: a database that cannot be written waits for the next round.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.domain.notification import Channel, Happening, Tiding
from bot.engine import notifications as telling
from bot.engine.notifications import Batch
from bot.notifications.quiet_hours import Quiet
from bot.notifications.send import Sending, id_of, scheme_of, start
from bot.notifications.text import Announcement

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0
"""A message that has been under way for longer is in trouble, and people may read so."""

Compose = Callable[[Batch], Announcement]


class Start(Protocol):
    """Sets a message on its way, and does not wait."""

    def __call__(self, url: str, compose: Callable[[], Announcement], *, now: float) -> Sending: ...


class Memory(Protocol):
    """What outlives us."""

    def after(self, last: int) -> Sequence[Tiding]: ...
    def channel(self, channel_id: str) -> Channel: ...
    def keep(self, channel: Channel) -> None: ...


@dataclass(frozen=True, slots=True)
class Manner:
    """How people want to be told."""

    on: frozenset[str] = frozenset(Happening)
    quiet: Quiet | None = None
    digest_seconds: float = 0.0


@dataclass(slots=True)
class _Post:
    """One channel, as this process knows it."""

    url: str
    name: str
    state: Channel
    sending: Sending | None = None
    complained: bool = False


@dataclass(slots=True)
class Crier:
    urls: Sequence[str]
    manner: Manner
    memory: Memory
    holds: Callable[[Tiding], bool]
    """Is it still so?"""
    compose: Compose
    clock: Callable[[], float]
    redact: Callable[[str], str] = str
    start: "Start" = start
    _posts: list[_Post] = field(default_factory=list)

    def open(self) -> None:
        """What an earlier life had begun is doubted; who was never told begins with what comes."""
        for url in dict.fromkeys(self.urls):
            state = telling.found(self.memory.channel(id_of(url)))
            self.memory.keep(state)
            alike = sum(scheme_of(url) == scheme_of(one.url) for one in self._posts)
            name = scheme_of(url) if not alike else f"{scheme_of(url)} {alike + 1}"
            self._posts.append(_Post(url, name, state))

    def go_round(self) -> None:
        """Often. Never waits for anybody."""
        now = self.clock()
        self._take_all_in(now)
        waiting = [post for post in self._posts if post.sending is None and not telling.must_rest(post.state, now)]
        if not waiting or (self.manner.quiet and self.manner.quiet.covers(now)):
            return
        news = self.memory.after(min(post.state.told for post in waiting))
        for post in waiting:
            mine = [one for one in news if one.id > post.state.told]
            if mine or post.state.doubted:
                self._tell(post, mine, now)

    def channels(self) -> Sequence[tuple[str, Channel]]:
        """By name; one whose message is under way for too long has that for its problem."""
        now = self.clock()
        return [(post.name, telling.stuck(post.state) if _is_stuck(post, now) else post.state) for post in self._posts]

    def close(self) -> None:
        """What has arrived is noted; nothing more is sent. Raises Retryable as going round does."""
        self._take_all_in(self.clock())
        self._posts.clear()

    def is_sending(self) -> bool:
        return any(post.sending and not post.sending.ended.is_set() for post in self._posts)

    def _take_all_in(self, now: float) -> None:
        for post in self._posts:
            if post.sending is not None:
                self._take_in(post, post.sending, now)

    def _tell(self, post: _Post, mine: Sequence[Tiding], now: float) -> None:
        batch = telling.next_batch(
            post.state, mine, self._is_wanted, now=now, digest_seconds=self.manner.digest_seconds
        )
        if batch is None:
            return
        if not batch.tidings:
            self._keep(post, telling.passed_over(post.state, batch))
            return
        self._keep(post, telling.begun(post.state, batch))
        post.sending = self.start(post.url, lambda: self.compose(batch), now=now)

    def _is_wanted(self, one: Tiding) -> bool:
        return one.happening in self.manner.on and self.holds(one)

    def _take_in(self, post: _Post, sending: Sending, now: float) -> None:
        if not sending.ended.is_set():
            if _is_stuck(post, now):
                self._complain(post, telling.STUCK)
            return
        if sending.problem:
            problem = self.redact(sending.problem)
            self._keep(post, telling.failed(post.state, problem, now))
            self._complain(post, problem)
        else:
            self._keep(post, telling.sent(post.state))
            if post.complained:
                log.info("people are told again channel=%s", post.name)
            post.complained = False
        post.sending = None

    def _complain(self, post: _Post, problem: str) -> None:
        """Once, until it goes well again."""
        if not post.complained:
            log.warning("people are not told channel=%s reason=%s", post.name, problem)
        post.complained = True

    def _keep(self, post: _Post, state: Channel) -> None:
        self.memory.keep(state)
        post.state = state


def _is_stuck(post: _Post, now: float) -> bool:
    return post.sending is not None and now - post.sending.begun_at > PATIENCE_SECONDS

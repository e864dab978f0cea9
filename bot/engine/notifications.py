"""What people are told of and when, wherever they are. Pure.

Rule: of one occasion once. A tiding is saved together with the change it tells of, and is judged again when it is to be
sent: what is not so any more, or is too old, is not told. Whatever is due for a channel goes out as one message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.domain.notification import Channel, Happening, Tiding
from bot.domain.run import Cause, Phase, Run
from bot.engine.actions import Say
from bot.engine.decision import Decision

MOST_LATE_SECONDS = 86400.0
"""What could not be told for so long is not told any more."""
PAUSE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 3600.0
STUCK = "it takes a message, and does not answer"

_WORDS = 2000
_OWN_DOING = frozenset({Cause.PAUSED, Cause.TAKEN})
"""Whoever ordered it knows."""
_HAPPENINGS = {Cause.FAILED: Happening.FAILED, Cause.BUDGET: Happening.BUDGET}


@dataclass(frozen=True, slots=True)
class Batch:
    """One message."""

    last: int
    """Everything up to here is told by it, or is not to be told."""
    tidings: tuple[Tiding, ...]
    again: bool = False
    """People may have had it before."""


def tidings_of(before: Run, decision: Decision, at: float) -> Sequence[Tiding]:
    """What a step of a run is worth telling."""
    after = decision.run
    happening = happening_of(after)
    if happening is None or occasion_of(before) == occasion_of(after):
        return ()
    return (Tiding(happening, after.id, occasion_of(after), at, _why(decision)),)


def _why(decision: Decision) -> str:
    """A reason that only announces others' words is followed by them."""
    reason = decision.run.reason
    said = [one.text for one in decision.actions if isinstance(one, Say)] if reason.endswith(":") else []
    quoted = [line.removeprefix(">").strip() for text in said for line in text.splitlines() if line.startswith(">")]
    return " ".join([reason, *quoted])[:_WORDS]


def happening_of(run: Run) -> Happening | None:
    if run.phase is Phase.REVIEW:
        return Happening.REVIEW
    if run.phase is not Phase.ASKING or run.cause in _OWN_DOING:
        return None
    return _HAPPENINGS.get(run.cause, Happening.ASKING)


def occasion_of(run: Run) -> str:
    """The same as long as it is where it is, for the same cause."""
    exactly = f" {run.cause} {run.turn} {run.asked_about}" if run.phase is Phase.ASKING else ""
    return f"{run.phase} {run.changed_at!r}{exactly}"


def still_so(told: Tiding, run: Run | None) -> bool:
    """Of a tiding about a run; the run is the newest of its issue."""
    if run is None or run.id != told.subject:
        return False
    return happening_of(run) is told.happening and occasion_of(run) == told.occasion


def day_is_spent(spent_usd: float, limit_usd: float, day: float, at: float) -> Sequence[Tiding]:
    """`day` is when it began."""
    if not limit_usd or spent_usd < limit_usd:
        return ()
    words = f"${spent_usd:.2f} of ${limit_usd:.2f} are spent today; nothing new starts before 00:00 UTC."
    return (Tiding(Happening.BUDGET, "today", f"day {day:.0f}", at, words),)


def next_batch(
    channel: Channel,
    tidings: Sequence[Tiding],
    holds: Callable[[Tiding], bool],
    *,
    now: float,
    digest_seconds: float = 0.0,
) -> Batch | None:
    """Of those the channel has not been told. None: it is to wait for more. Without tidings: nothing is to be told."""
    if channel.doubted:
        tidings = [one for one in tidings if one.id <= channel.doubted]
    last = max((one.id for one in tidings), default=max(channel.doubted, channel.told))
    left = _without_what_is_over([one for one in tidings if _is_fresh(one, now) and holds(one)])
    if left and not channel.doubted and 0 <= now - left[0].at < digest_seconds:
        return None
    return Batch(last, tuple(left), again=bool(channel.doubted))


def _is_fresh(one: Tiding, now: float) -> bool:
    return one.at > now - MOST_LATE_SECONDS


def _without_what_is_over(tidings: Sequence[Tiding]) -> list[Tiding]:
    """Trouble that came and went before anybody was told of it has troubled nobody."""
    kept: list[Tiding] = []
    for one in tidings:
        begun = [other for other in kept if one.over and other.subject == one.subject and not other.over]
        if begun:
            kept.remove(begun[-1])
        else:
            kept.append(one)
    return kept


# How far a channel is


def found(channel: Channel) -> Channel:
    """As an earlier life left it. An unknown outcome is repeated once, never twice."""
    if channel.trying and channel.doubted:
        return replace(channel, told=channel.doubted, trying=0, doubted=0)
    return replace(channel, trying=0, doubted=channel.doubted or channel.trying)


def begun(channel: Channel, batch: Batch) -> Channel:
    return replace(channel, trying=batch.last)


def passed_over(channel: Channel, batch: Batch) -> Channel:
    return replace(channel, told=batch.last, trying=0, doubted=0)


def sent(channel: Channel) -> Channel:
    told = replace(channel, told=channel.trying, trying=0, doubted=0)
    return replace(told, attempts=0, not_before=0.0, problem="", sent=channel.sent + 1)


def failed(channel: Channel, problem: str, now: float) -> Channel:
    pause = min(PAUSE_SECONDS * 2 ** min(channel.attempts, 10), LONGEST_PAUSE_SECONDS)
    return replace(
        channel,
        trying=0,
        attempts=channel.attempts + 1,
        not_before=now + pause,
        problem=problem,
        failed=channel.failed + 1,
    )


def stuck(channel: Channel) -> Channel:
    """Its message is under way for so long that people may read so."""
    return replace(channel, problem=STUCK)


def must_rest(channel: Channel, now: float) -> bool:
    """Also after the clock was set back."""
    return 0 < channel.not_before - now <= LONGEST_PAUSE_SECONDS

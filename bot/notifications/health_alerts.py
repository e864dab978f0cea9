"""When people are told that something everything depends on is not well, and that it is again: once each. Pure.

Rule: what comes and goes is not told. It must have lasted, and people hear that it is over only if they heard of it.
"""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.health import Ailment, Health
from bot.domain.notification import Happening, Tiding

LASTING_SECONDS = 300.0


def looked_after(
    before: Mapping[str, Ailment], healths: Sequence[Health], now: float, *, silent: Collection[str] = ()
) -> tuple[Sequence[Ailment], Sequence[Tiding]]:
    """How it is now, and what people are to be told. What is not named any more is well; `silent` is never told of."""
    gone = [
        Health(name, ok=True, detail="")
        for name, one in before.items()
        if one.told and name not in {health.name for health in healths}
    ]
    ailments = [_as_it_is(before.get(health.name), health, now) for health in (*healths, *gone)]
    due = [one for one in ailments if _is_due(one, now) and one.health.name not in silent]
    tidings = [_tiding_of(one, now) for one in due]
    told = [Ailment(one.health, one.since, told=not one.health.ok) if one in due else one for one in ailments]
    return told, tidings


def _as_it_is(was: Ailment | None, health: Health, now: float) -> Ailment:
    if was is None:
        return Ailment(health, now)
    changed = was.health.ok is not health.ok or was.since > now  # or the clock was set back
    return Ailment(health, now if changed else was.since, was.told)


def _is_due(one: Ailment, now: float) -> bool:
    return one.told is one.health.ok and now - one.since >= LASTING_SECONDS


def _tiding_of(one: Ailment, now: float) -> Tiding:
    over, health = one.health.ok, one.health
    words = health.detail if over else ". ".join(part for part in (health.detail, health.still) if part)
    return Tiding(Happening.TROUBLE, health.name, f"{'well' if over else 'ill'} {one.since!r}", now, words, over)

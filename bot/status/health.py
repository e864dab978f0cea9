"""How everything is that the daemon depends on: all of it, well or not, with what still works meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from bot.domain.health import Health, healths
from bot.settings import Settings
from bot.system.clock import steady
from bot.system.disk import shown_sizes

_FOLDERS = ("mirrors", "worktrees", "transcripts", "forge")
_SIZES_SECONDS = 60.0
_COUNTING_SECONDS = 1.0


def stations(settings: Settings, health: Mapping[str, Health], beats: Mapping[str, str]) -> Sequence[Health]:
    """`beats`: what is due when, and what services still allow, in words."""
    found = {**health, **_quiet_ones(settings, health)}
    if disk := found.get("disk"):
        found["disk"] = replace(disk, detail=f"{disk.detail}. {_sizes(settings)}")
    return [*found.values(), *(Health(name, ok=True, detail=words) for name, words in beats.items())]


def _quiet_ones(settings: Settings, health: Mapping[str, Health]) -> Mapping[str, Health]:
    """What says nothing as long as it is well."""
    found = {}
    if "model" not in health:
        found["model"] = (True, f"{settings.agent.kind}, {settings.agent.model or 'with the model it chooses itself'}")
    if here := [one.name for one in settings.projects if "local" in {one.tracker, one.forge}]:
        found["embedded tracker and forge"] = (True, f"for {', '.join(here)}")
    return healths(found)


def _sizes(settings: Settings) -> str:
    return _measured(settings.state_dir, int(steady() // _SIZES_SECONDS))


@lru_cache(maxsize=4)
def _measured(state_dir: Path, _minute: int) -> str:
    """Thousands of files are not counted for each who looks."""
    return shown_sizes([(name, state_dir / name) for name in _FOLDERS], seconds=_COUNTING_SECONDS)

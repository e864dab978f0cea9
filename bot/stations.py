"""How everything is that the daemon depends on: all of it, well or not, with what still works meanwhile."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from bot.clock import steady
from bot.disk import shown_sizes
from bot.settings import Settings
from bot.web.window import Station

_FOLDERS = ("mirrors", "worktrees", "transcripts", "forge")
_SIZES_SECONDS = 60.0
_COUNTING_SECONDS = 1.0

_AT_WORK = "Agents that are at work go on"
_WORKS = {
    "daemon": "You can read everything, and say what is to be done: it is heard when the daemon runs again.",
    "disk": f"{_AT_WORK}. Nothing new starts, and what is over is removed first.",
    "sandbox": "Everything works, but agents can do and see whatever you can.",
    "database": "What was under way is found again on its issues.",
    "github": f"{_AT_WORK}; what they make is kept here, and offered when GitHub answers again.",
    "linear": f"{_AT_WORK}, and so do pull requests. What is said in Linear is read when it answers again.",
    "model": "What is in review can be read, merged, closed. Work goes on by itself when it answers again.",
    "claim": "Another daemon does the work. You can read everything here.",
    "project": "Other projects go on, and this one tries again by itself.",
}


def stations(settings: Settings, health: Mapping[str, tuple[bool, str]], beats: Mapping[str, str]) -> Sequence[Station]:
    """`beats`: what is due when, and what services still allow, in words."""
    found = dict(health) | {name: (True, words) for name, words in _quiet_ones(settings, health)}
    told = {name: f"{detail}. {_sizes(settings)}" if name == "disk" else detail for name, (_, detail) in found.items()}
    here = [Station(name, ok, told[name], _works(name)) for name, (ok, _) in found.items()]
    return [*here, *(Station(name, ok=True, detail=words) for name, words in beats.items())]


def _quiet_ones(settings: Settings, health: Mapping[str, tuple[bool, str]]) -> Iterator[tuple[str, str]]:
    """What says nothing as long as it is well."""
    if "model" not in health:
        yield "model", f"{settings.agent.kind}, {settings.agent.model or 'with the model it chooses itself'}"
    here = [one.name for one in settings.projects if "local" in {one.tracker, one.forge}]
    if here:
        yield "embedded tracker and forge", f"for {', '.join(here)}"


def _works(name: str) -> str:
    return _WORKS.get(name.partition(" ")[0], "")


def _sizes(settings: Settings) -> str:
    return _measured(settings.state_dir, int(steady() // _SIZES_SECONDS))


@lru_cache(maxsize=4)
def _measured(state_dir: Path, _minute: int) -> str:
    """Thousands of files are not counted for each who looks."""
    return shown_sizes([(name, state_dir / name) for name in _FOLDERS], seconds=_COUNTING_SECONDS)

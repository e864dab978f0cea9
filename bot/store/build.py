"""Opens the database and the transcripts in the state directory."""

from collections.abc import Callable

from bot.settings.schema import Settings
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock


def open_store(settings: Settings) -> RunStore:
    return RunStore.open(settings.state_dir / "treehand.db")


def own_store(settings: Settings, redact: Callable[[str], str]) -> RunStore:
    """Opens the database for the daemon: sets a damaged one aside and creates a new one."""
    return RunStore.open_as_owner(settings.state_dir / "treehand.db", redact, at=clock.now())


def open_transcripts(settings: Settings, redact: Callable[[str], str] = str) -> Transcripts:
    return Transcripts(settings.state_dir / "transcripts", redact)

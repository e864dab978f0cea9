"""Watches the settings file of a running daemon: reads it again once it has changed and rests."""

from pathlib import Path

from bot.settings.load import load
from bot.settings.schema import Settings

_Stamp = tuple[int, int, int]


class SettingsFile:
    """Make it before the settings are loaded for the first time, so that no change is missed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = self._seen = self._stamp()

    def poll(self) -> Settings | None:
        """Returns the settings if the file has changed. Call it every second. Raises BadSettings.

        A file that changed since the last call may be half written: it is read at the next one.
        """
        stamp, before = self._stamp(), self._seen
        self._seen = stamp
        if stamp == self._read or stamp != before:
            return None
        self._read = stamp
        return load(self._path)

    def _stamp(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

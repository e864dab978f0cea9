"""Remembers which instructions of the repository a session has got: it gets them again only when they change."""

import hashlib
from pathlib import Path


class InstructionsSeen:
    """Kept outside the agent's home, where the agent could change it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def is_new(self, session: str, instructions: str) -> bool:
        if not instructions:
            return False
        try:
            return self._file(session).read_text() != _digest(instructions)
        except OSError:
            return True

    def record(self, session: str, instructions: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file(session).write_text(_digest(instructions))

    def forget(self, before: float) -> None:
        """Removes older records. A session that continues gets its instructions once more."""
        if not self._folder.is_dir():
            return
        for file in self._folder.iterdir():
            if file.lstat().st_mtime < before:
                file.unlink()

    def _file(self, session: str) -> Path:
        """Hashes the session's id: the agent chooses it, so it must not name a file."""
        return self._folder / _digest(session)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

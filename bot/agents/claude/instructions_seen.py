"""Which of the repository's instructions a conversation has heard: it hears them again only when they change."""

import hashlib
from pathlib import Path


class Told:
    """Kept on our side: what lies in an agent's home, the agent may have written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def is_news(self, session: str, instructions: str) -> bool:
        if not instructions:
            return False
        try:
            return self._note(session).read_text() != _digest(instructions)
        except OSError:
            return True

    def note(self, session: str, instructions: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._note(session).write_text(_digest(instructions))

    def forget(self, before: float) -> None:
        """A conversation that has heard nothing new since then hears its instructions once more, if it goes on."""
        if not self._folder.is_dir():
            return
        for note in self._folder.iterdir():
            if note.lstat().st_mtime < before:
                note.unlink()

    def _note(self, session: str) -> Path:
        """The session's name is the agent's word: it names no file of ours."""
        return self._folder / _digest(session)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

"""Where what a worktree holds is put until it has been judged: git sees it beside the mirror, the mirror does not.

Agents of the same repository read the mirror's objects. What is refused must not lie there.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A bare repository of its own that borrows from the mirror. Made anew each time; gone afterwards."""

    path: Path
    mirror: Path

    def __enter__(self) -> Self:
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in ("objects/info", "refs"):
            (self.path / folder).mkdir(parents=True)
        (self.path / "HEAD").write_text("ref: refs/heads/none\n")
        (self.path / "objects" / "info" / "alternates").write_text(f"{self.mirror / 'objects'}\n")
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def accept(self) -> None:
        """Everything in it becomes the mirror's: an object has the same name in both."""
        for folder in (self.path / "objects").glob("[0-9a-f][0-9a-f]"):
            home = self.mirror / "objects" / folder.name
            home.mkdir(exist_ok=True)
            for found in folder.iterdir():
                found.replace(home / found.name)

"""Quarantine: stores objects read from a worktree until the publish guard accepts them.

Rule: agents of the same repository read the mirror's objects, so refused content never gets there.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bot.git.lfs import lfs_objects
from bot.system.private_files import share_folder


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A temporary bare repository that borrows the mirror's objects."""

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
        """Moves all its objects into the mirror."""
        for folder in (self.path / "objects").glob("[0-9a-f][0-9a-f]"):
            home = self.mirror / "objects" / folder.name
            share_folder(home)
            for found in folder.iterdir():
                found.replace(home / found.name)
        for found in lfs_objects(self.path).own():
            home = self.mirror / found.relative_to(self.path)
            home.parent.mkdir(parents=True, exist_ok=True)
            found.replace(home)

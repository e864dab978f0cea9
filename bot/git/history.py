"""Copies history between repositories of this machine, without the transfer of git that reads every object again.

Rule: objects come first and refs last, so that an interrupted copy counts as none.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bot.git.command import git
from bot.git.progress import git_with_progress

_LARGE_BYTES = 64 * 1024 * 1024
"""Below this, a fetch takes seconds, and reads the content of every object."""

_PACK_SECONDS = 3600
_PARTS = (".pack", ".rev", ".idx")
"""Files of a pack, the one by which git finds it last."""
_NAME_LENGTH = 38
_SUSPECTED = "treehand-suspected"


def is_large(git_dir: Path) -> bool:
    """Counts the packs of a repository, without those that it borrows."""
    return sum(pack.stat().st_size for pack in (git_dir / "objects" / "pack").glob("pack-*.pack")) >= _LARGE_BYTES


def pack_history(source: Path, target: Path, tips: Collection[str]) -> None:
    """Adds what these commits contain to the target, and nothing else. Raises GitFailed if an object is missing.

    The objects of the source are borrowed for this command only. Nothing is written to the source.
    """
    where = target / "objects" / "pack" / "pack"
    borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(source / "objects")}
    command = ("pack-objects", "--revs", "--progress", "--delta-base-offset", str(where))
    wanted = "".join(f"{tip}\n" for tip in tips).encode()
    git_with_progress(target, *command, env=borrowed, stdin=wanted, timeout=_PACK_SECONDS)


def link_history(source: Path, target: Path) -> bool:
    """Gives the target all objects of the source, by hard links. Returns False if that is not possible here.

    Git never changes a file of an object: it writes a new one, and removes the name of the old one.
    """
    try:
        for name in _object_files(source / "objects"):
            place = target / "objects" / name
            if not place.parent.is_dir():
                place.parent.mkdir()
                place.parent.chmod(0o755)  # agents of other user ids read the objects
            with contextlib.suppress(FileExistsError):
                os.link(source / "objects" / name, place, follow_symlinks=False)
    except OSError:
        return False
    return True


def suspect(git_dir: Path) -> None:
    """Notes that objects of a repository may be damaged: what is linked is damaged in both."""
    (git_dir / _SUSPECTED).touch()


def is_suspected(git_dir: Path) -> bool:
    return (git_dir / _SUSPECTED).exists()


def create_refs(git_dir: Path, refs: Mapping[str, str]) -> None:
    """Creates all of them or none."""
    lines = "".join(f"create {name} {commit}\n" for name, commit in refs.items())
    git(git_dir, "update-ref", "--stdin", stdin=lines.encode(errors="surrogateescape"))


def _object_files(objects: Path) -> Iterator[Path]:
    for index in (objects / "pack").glob("pack-*.idx"):
        parts = (index.with_suffix(suffix) for suffix in _PARTS)
        yield from (Path("pack", part.name) for part in parts if part.exists())
    loose = objects.glob("[0-9a-f][0-9a-f]/*")
    yield from (Path(one.parent.name, one.name) for one in loose if len(one.name) == _NAME_LENGTH)


def _quoted(folder: Path) -> str:
    """A list of folders is separated by colons; git unquotes an entry that begins with a quotation mark."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

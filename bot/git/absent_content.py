"""Finds the content that a repository names but does not hold: objects of Git LFS, and submodules."""

from dataclasses import dataclass
from pathlib import Path

from bot.git.command import GitFailed, git
from bot.git.commit_files import index_of_commit
from bot.git.lfs import LfsObjects, lfs_objects, pointers_of
from bot.git.submodules import git_dir_within, submodules_of


@dataclass(frozen=True, slots=True)
class AbsentContent:
    """Paths in one commit, for people."""

    lfs_files: int = 0
    lfs_missing: tuple[bytes, ...] = ()
    """Files under Git LFS without an object here."""
    submodules: tuple[bytes, ...] = ()
    """Submodules whose repository is not here."""


def find_absent(repository: Path, commit: str) -> AbsentContent:
    """In a repository of a person, with the submodules that are checked out there."""
    common = Path(git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    entries, objects = index_of_commit(repository, commit).entries, lfs_objects(common, lfs_folder(common))
    pointers = dict(pointers_of(repository, entries))
    return AbsentContent(
        len(pointers),
        tuple(path for path, pointer in pointers.items() if not objects.find(pointer)),
        tuple(
            one.path
            for one in submodules_of(repository, commit, entries)
            if not _has_commit(git_dir_within(common / "modules", one.name), one.commit)
        ),
    )


def lfs_folder(git_dir: Path) -> Path:
    """Folder of a person's objects of Git LFS, which may not exist."""
    try:
        stored = git(git_dir, "config", "--path", "lfs.storage")
    except GitFailed:
        stored = "lfs"
    return git_dir / stored / "objects"


def own_lfs_objects(git_dir: Path) -> LfsObjects:
    return LfsObjects((lfs_folder(git_dir),))


def _has_commit(git_dir: Path | None, commit: str) -> bool:
    try:
        return bool(git_dir and git(git_dir, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"))
    except GitFailed:
        return False

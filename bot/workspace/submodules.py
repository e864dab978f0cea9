"""Submodules of a worktree: their files at the recorded commits, and what was changed in them.

Rule: a submodule has no git directory in a worktree. Its objects are in repositories of their own beside the mirror's,
which only the host touches; git writes its files before an agent has been there.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.domain.remote import Remote
from bot.git.command import GitFailed, git
from bot.git.commit_files import index_of_commit
from bot.git.index import SUBMODULE, Index, IndexEntry, UnreadableIndex, read_index, write_index
from bot.git.objects import blob_id
from bot.git.submodules import Submodule, git_dir_within, submodules_of, url_on_same_host
from bot.system.trash import Trash
from bot.text.invisible_characters import printable_path
from bot.workspace.capture import WorktreeContents, read_inner_folder
from bot.workspace.mirror import RAW_ATTRIBUTES, Mirror
from bot.workspace.paths import slug_for

log = logging.getLogger(__name__)

_FETCH_SECONDS = 900
_MAX_DEPTH = 8
"""Limit of submodules in submodules."""
_MAX_NAMED = 5
_REF = "refs/treehand/submodule/"


@dataclass(frozen=True, slots=True)
class SubmoduleFiles:
    """Writes the files of submodules into a new worktree."""

    mirror: Mirror
    folder: Path
    admin: Path

    def put(self, tree: str) -> None:
        """A submodule whose commit cannot be had stays empty."""
        remote = self.mirror.remote
        modules, url = (Path(remote.modules) if remote and remote.modules else None), remote.url if remote else ""
        self._put(self.mirror.path, tree, b"", modules, url, depth=0)

    def _put(self, repository: Path, tree: str, prefix: bytes, modules: Path | None, url: str, *, depth: int) -> None:
        entries = index_of_commit(repository, tree).entries if depth < _MAX_DEPTH else {}
        for one in submodules_of(repository, tree, entries):
            path = prefix + one.path
            store, place = self._store(path), modules and git_dir_within(modules, one.name)
            address = url_on_same_host(one.url, url)
            if self._fetch(store, one, str(place or address)):
                self._check_out(store, one.commit, path)
                self._put(store, one.commit, path + b"/", place and place / "modules", address, depth=depth + 1)

    def _store(self, path: bytes) -> Path:
        return self.mirror.path / "modules" / slug_for(path.decode(errors="surrogateescape"))

    def _fetch(self, store: Path, one: Submodule, source: str) -> bool:
        ref, remote = f"{_REF}{one.commit}", self.mirror.remote or Remote("")
        try:
            store.parent.mkdir(exist_ok=True)
            if not (store / "HEAD").exists():
                git(store, "init", "--bare", "--quiet", "--template=", "--initial-branch=treehand-none")
                (store / "info").mkdir(exist_ok=True)
                (store / "info" / "attributes").write_text(RAW_ATTRIBUTES)
            if git(store, "for-each-ref", ref):
                return True
            if not source:
                return False
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
            env = remote.env if source.startswith("https://") else {}
            git(store, "fetch", *options, "--", source, f"{one.commit}:{ref}", env=env, timeout=_FETCH_SECONDS)
        except GitFailed as problem:
            log.warning("submodule not fetched path=%s reason=%s", printable_path(one.path), problem)
            return False
        return True

    def _check_out(self, store: Path, commit: str, path: bytes) -> None:
        place = self.folder / path.decode(errors="surrogateescape")
        index = _index_path(self.admin, path)
        index.parent.mkdir(exist_ok=True)
        env = {"GIT_INDEX_FILE": str(index)}
        git(store, f"--work-tree={place}", "read-tree", "--reset", "-u", commit, env=env)


def empty_submodules(folder: Path, admin: Path, trash: Trash) -> None:
    """Removes the files that were put there: the repository's own setup brings them, and git wants an empty folder."""
    for path in sorted(_all_submodules(admin, read_index(admin / "index").entries)):
        if _index_path(admin, path).exists():
            with contextlib.suppress(FileNotFoundError):  # inside a removed submodule
                trash.throw_from(folder, path)
            _index_path(admin, path).unlink()


def judge_submodules(
    folder: Path, admin: Path, found: WorktreeContents, entries: Mapping[bytes, IndexEntry]
) -> WorktreeContents:
    """Adds what was changed in submodules to what is left out: no commit of this repository can hold it."""
    left_out, is_whole = list(found.left_out), found.is_whole
    for path in _all_submodules(admin, entries):
        known = _read(admin, path)
        changed = _changed(folder, path, known)
        if changed:
            is_whole = False
            left_out.append(f"{printable_path(path)}: {_count(changed)} in this submodule, which is another repository")
        elif not known.entries and not known.written_at:
            left_out.append(
                f"{printable_path(path)}: a submodule that was empty for the agent; "
                "`git submodule update --init --recursive` in the repository checks it out"
            )
    return WorktreeContents(found.entries, tuple(left_out), found.ignored_folders, is_whole=is_whole)


def note_submodules(folder: Path, admin: Path, entries: Mapping[bytes, IndexEntry]) -> None:
    """Counts the present content of submodules as setup's, and not as the agent's."""
    for path in _all_submodules(admin, entries):
        with contextlib.suppress(OSError):
            inside = read_inner_folder(folder, path, _read(admin, path), blob_id)
            if inside.entries:
                _index_path(admin, path).parent.mkdir(exist_ok=True)
                write_index(_index_path(admin, path), inside.entries)


def _all_submodules(admin: Path, entries: Mapping[bytes, IndexEntry]) -> Iterator[bytes]:
    """Yields the submodules of a commit, and those in them."""
    waiting = [path for path, entry in entries.items() if entry.mode == SUBMODULE]
    while waiting:
        path = waiting.pop()
        yield path
        inner = _read(admin, path).entries
        waiting += [path + b"/" + name for name, entry in inner.items() if entry.mode == SUBMODULE]


def _read(admin: Path, path: bytes) -> Index:
    """An empty one if nothing was put there."""
    try:
        return read_index(_index_path(admin, path))
    except UnreadableIndex:
        return Index()


def _changed(folder: Path, path: bytes, known: Index) -> list[bytes]:
    try:
        now = read_inner_folder(folder, path, known, blob_id).entries
    except OSError:  # the folder was removed
        now = {}
    before, after = ({name: (one.mode, one.sha) for name, one in found.items()} for found in (known.entries, now))
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _count(changed: list[bytes]) -> str:
    named = ", ".join(printable_path(name) for name in changed[:_MAX_NAMED])
    more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    return f"{len(changed)} file{'s' if len(changed) != 1 else ''} ({named}{more}) changed"


def _index_path(admin: Path, path: bytes) -> Path:
    return admin / "submodules" / slug_for(path.decode(errors="surrogateescape"))

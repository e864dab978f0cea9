"""Shows what a worktree holds against its base, also while an agent writes there. Nothing of it is kept for good.

Rule: the worktree is read as capture reads it; git works only in a repository of our own, which borrows the mirror's
objects and holds, until the next start, what is not committed yet. Whoever looks takes no lock that work needs.
"""

import asyncio
import shutil
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.diff_view import SeenFile, Sight, Version
from bot.errors import NeedsHuman, Retryable
from bot.git.changed_files import changed_files
from bot.git.command import git, git_bytes
from bot.git.gitignore import parse_rules
from bot.git.in_thread import in_thread
from bot.git.index import Index, NotAnIndex, read_index
from bot.git.objects import Objects, hash_content, index_of, write_tree
from bot.workspace.capture import Found, Keep, Reach, read_worktree
from bot.workspace.mirror import RAW
from bot.workspace.paths import BASES, Place, Places
from bot.workspace.pending_merge import find_pending
from bot.workspace.setup_record import read_provision

LARGEST_SEEN = 8_000_000
"""Of a file."""
MOST_SEEN = 64_000_000
_SECONDS = 20.0
_FRESH_SECONDS = 2.0
_AT_ONCE = 2
_KEPT = 24
_MOST_KEPT_BYTES = 256_000_000
_PATCHES_BYTES = 64_000_000
_GIT_SECONDS = 30.0
_NO_CONTENT = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

_TOO_MUCH = "The worktree holds too much to be looked at in a moment. This is what was committed last."


class _TooLong(Exception):
    """Looking took too long."""


@dataclass(slots=True)
class _Look:
    """What is known of one branch since it was looked at last."""

    path: Path
    sight: Sight = field(default_factory=Sight)
    at: float = -_FRESH_SECONDS
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: set[bytes] = field(default_factory=set)
    """Ids of content that is in our repository."""
    bytes_kept: int = 0


class Looks:
    """Of one project. `borrowed` are more repositories that may have what the mirror has no more."""

    def __init__(
        self,
        root: Path,
        project: str,
        *,
        ignored: Sequence[str],
        borrowed: Sequence[Path] = (),
        seconds: float = _SECONDS,
    ) -> None:
        self._places = Places(root, project)
        self._ignored = tuple(ignored)
        self._borrowed = tuple(borrowed)
        self._seconds = seconds
        self._looks: OrderedDict[str, _Look] = OrderedDict()
        self._patches: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._few = asyncio.Semaphore(_AT_ONCE)
        shutil.rmtree(self._places.looks, ignore_errors=True)

    async def see(self, branch: str, *, ended: tuple[str, str] = ("", "")) -> Sight:
        """`ended`: base and head of what was offered, for when the branch is gone."""
        look = self._look(branch)
        async with look.lock:
            if asyncio.get_running_loop().time() - look.at >= _FRESH_SECONDS:
                async with self._few:
                    look.sight = await in_thread(self._see, branch, look, ended)
                look.at = asyncio.get_running_loop().time()
            return look.sight

    async def patch(self, branch: str, file: SeenFile) -> bytes:
        """As git tells it, with three lines around each change."""
        old, new = _sha_of(file.before), _sha_of(file.now)
        if (old, new) not in self._patches:
            async with self._few:
                text = await in_thread(self._patch, self._look(branch).path, old, new)
            self._patches[old, new] = text
        self._patches.move_to_end((old, new))
        while sum(map(len, self._patches.values())) > _PATCHES_BYTES and len(self._patches) > 1:
            self._patches.popitem(last=False)
        return self._patches[old, new]

    async def content(self, branch: str, version: Version | None) -> bytes:
        sha = _sha_of(version)
        async with self._few:
            return await in_thread(git_bytes, self._look(branch).path, "cat-file", "blob", sha, timeout=_GIT_SECONDS)

    def _look(self, branch: str) -> _Look:
        place = self._places.of(branch)
        look = self._looks.setdefault(branch, _Look(self._places.looks / place.folder.name))
        self._looks.move_to_end(branch)
        idle = [name for name, one in self._looks.items() if name != branch and not one.lock.locked()]
        for name in idle[: max(len(self._looks) - _KEPT, 0)]:
            shutil.rmtree(self._looks.pop(name).path, ignore_errors=True)
        return look

    def _see(self, branch: str, look: _Look, ended: tuple[str, str]) -> Sight:
        self._prepare(look)
        place = self._places.of(branch)
        refs = self._refs(branch)
        base, tip = refs.get(f"{BASES}{branch}", ""), refs.get(f"refs/heads/{branch}", "")
        if not (base and tip):
            return self._committed(look, *ended)
        pending = find_pending(place.admin, tip)
        base = pending.base if pending else base
        if not _is_whole(place):
            return self._committed(look, base, tip)
        try:
            tree, found = self._read(place, look, tip)
        except _TooLong:
            return self._committed(look, base, tip, trouble=_TOO_MUCH)
        except NeedsHuman:  # it went while it was read
            return self._committed(look, base, tip)
        return Sight(changed_files(look.path, base, tree), live=True, left_out=found.left_out)

    def _committed(self, look: _Look, base: str, tip: str, *, trouble: str = "") -> Sight:
        return Sight(changed_files(look.path, base, tip) if base and tip else (), trouble=trouble)

    def _read(self, place: Place, look: _Look, tip: str) -> tuple[str, Found]:
        index, provision = self._index(place, tip), read_provision(place.admin)
        rules = parse_rules("\n".join((*self._ignored, *provision.folders)).encode())
        reach = Reach(LARGEST_SEEN, MOST_SEEN, _Patience(time.monotonic() + self._seconds))
        found = read_worktree(place.folder, index, _keeping(look, index), rules, reach)
        found = provision.without(found, index, place.folder)
        return write_tree(look.path, found.entries, look.path / "index"), found

    def _index(self, place: Place, tip: str) -> Index:
        try:
            return read_index(place.admin / "index")
        except NotAnIndex:
            return index_of(self._places.mirror, tip)

    def _refs(self, branch: str) -> dict[str, str]:
        if not (self._places.mirror / "HEAD").exists():
            return {}
        names = (f"{BASES}{branch}", f"refs/heads/{branch}")
        listing = git(self._places.mirror, "for-each-ref", "--format=%(objectname) %(refname)", *names)
        return {name: sha for sha, _, name in (line.partition(" ") for line in listing.splitlines())}

    def _prepare(self, look: _Look) -> None:
        if look.bytes_kept > _MOST_KEPT_BYTES:
            shutil.rmtree(look.path, ignore_errors=True)
        if (look.path / "HEAD").exists():
            return
        look.kept, look.bytes_kept = set(), 0
        for folder in ("objects/info", "refs", "info"):
            (look.path / folder).mkdir(parents=True, exist_ok=True)
        lenders = [one for one in (self._places.mirror, *self._borrowed) if (one / "objects").is_dir()]
        (look.path / "objects" / "info" / "alternates").write_text("".join(f"{one}/objects\n" for one in lenders))
        (look.path / "info" / "attributes").write_text(RAW)
        Objects(look.path, Index()).keep(b"")
        (look.path / "HEAD").write_text("ref: refs/heads/none\n")

    @staticmethod
    def _patch(path: Path, old: str, new: str) -> bytes:
        return git_bytes(
            path, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index", old, new, timeout=_GIT_SECONDS
        )


def _keeping(look: _Look, index: Index) -> Keep:
    """What did not change since the last look is read again, and not written again."""
    objects = Objects(look.path, index)

    def keep(content: bytes) -> bytes:
        sha = hash_content(content)
        if sha not in look.kept:
            objects.keep(content)
            look.kept.add(sha)
            look.bytes_kept += len(content)
        return sha

    return keep


def _is_whole(place: Place) -> bool:
    return (place.admin / "treehand").exists() and place.folder.is_dir() and not place.folder.is_symlink()


def _sha_of(version: Version | None) -> str:
    if version is None:
        return _NO_CONTENT
    if not version.has_content:
        raise Retryable("A submodule has no content here.")
    return version.sha


@dataclass(slots=True)
class _Patience:
    until: float
    asked: int = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.asked % 256 == 0 and time.monotonic() > self.until:
            raise _TooLong

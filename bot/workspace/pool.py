"""One project's worktrees that are made ahead of the runs that will take them.

Rule: a note says that one is whole, and it is taken by the renaming of its note, which happens once, whoever dies. Its
folder keeps its name for good: tools have written it into what they installed. Until it is taken it is nobody's, and
whole in nobody else's eyes.
"""

import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.remote import Remote
from bot.domain.turn import Workspace
from bot.errors import NeedsHuman
from bot.workspace.branch import find_base
from bot.workspace.mirror import Mirror
from bot.workspace.paths import AHEAD, BASES, ORIGIN, Places, made_ahead, ready_in
from bot.workspace.pool_refresh import bring_up
from bot.workspace.remove import remove
from bot.workspace.setup_record import Provision
from bot.workspace.shadow_git_dir import is_as_built, refs_for
from bot.workspace.worktree import Worktree

_PREFIX = AHEAD.removeprefix("treehand/")


@dataclass(frozen=True, slots=True)
class Ahead:
    """One that waits to be taken."""

    name: str
    commit: str

    @property
    def branch(self) -> str:
        return f"{AHEAD}{self.name.removeprefix(_PREFIX)}"


@dataclass(frozen=True, slots=True)
class Pool:
    places: Places
    mirror: Mirror
    worktree: Callable[[str], Worktree]
    _alone: threading.Lock = field(default_factory=threading.Lock)
    """What changes one is done by one at a time."""
    _begun: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By branch: those that are being made, with the refs their shadows were given."""

    def ready(self) -> Sequence[Ahead]:
        """The oldest first."""
        notes = [(made_ahead(note), note) for note in ready_in(self.places)]
        return [Ahead(name, note.read_text().partition(" ")[2].strip()) for name, note in notes]

    def onto(self, base: str, remote: Remote) -> str:
        """The branch that runs start from."""
        return find_base(self.mirror, base, remote, self.mirror.refs(ORIGIN))

    def tip(self, onto: str) -> str:
        """Where it was when it was last fetched, by whoever it was."""
        name = f"{ORIGIN}{onto}"
        try:
            return self.mirror.refs(name)[name]
        except KeyError:
            raise NeedsHuman(f"There is no branch `{onto}` any more.") from None

    def begin(self, commit: str, onto: str) -> Workspace:
        """Another one, with the files of a commit: to be made ready, and then finished or discarded."""
        branch = f"{AHEAD}{uuid.uuid4().hex[:12]}"
        worktree = self.worktree(branch)
        self._begun[branch] = {}
        try:
            self.mirror.update({worktree.ref: (commit, ""), f"{BASES}{branch}": (commit, "")})
            refs = self.mirror.refs(ORIGIN, worktree.ref)
            worktree.make(onto, places=self.places, refs=refs)
            worktree.provide(Provision(is_half=True))
        except BaseException:
            self.discard(branch)
            raise
        self._begun[branch] = refs_for(branch, onto, refs)
        return Workspace(worktree.place.ground(self.mirror.path), branch, commit, commit)

    def finish(self, branch: str, commit: str) -> bool:
        """From now on it can be taken. False: what was done in its git would be lost on whoever takes it."""
        is_plain = is_as_built(self.places.of(branch), self._begun[branch])
        if is_plain:
            self.offer(branch, commit)
        return is_plain

    def offer(self, branch: str, commit: str) -> None:
        note = self.places.ready / self.places.of(branch).folder.name
        note.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.places.pool / f"{note.name}~new"
        fresh.write_text(f"{note.name} {commit}\n")
        fresh.replace(note)
        self._begun.pop(branch, None)

    def withdraw(self, branch: str) -> bool:
        """Nobody takes it meanwhile. False: somebody has."""
        with self._alone:
            self._begun[branch] = {}
            try:
                (self.places.ready / self.places.of(branch).folder.name).unlink()
            except FileNotFoundError:
                del self._begun[branch]
                return False
        return True

    def bring_up(self, branch: str, commit: str) -> bool:
        """One that was withdrawn follows its base."""
        worktree = self.worktree(branch)
        return bring_up(worktree, commit, self.mirror.refs(worktree.ref, f"{BASES}{branch}"))

    def take(self, branch: str, onto: str, refs: Mapping[str, str]) -> bool:
        """For a branch that begins at a commit one was made of: it lives there from now on.

        Whatever goes wrong on the way: the worktree is not whole, and is made anew in the same place.
        """
        place, commit = self.places.of(branch), refs[f"refs/heads/{branch}"]
        if os.path.lexists(place.folder) or made_ahead(place.taken):
            return False  # it has lived already, and knows itself by that name
        with self._alone:
            found = next((one for one in self.ready() if one.commit == commit and self._is_sound(one)), None)
            if not found:
                return False
            place.taken.parent.mkdir(parents=True, exist_ok=True)
            (self.places.ready / found.name).rename(place.taken)
            with contextlib.suppress(OSError):
                self.worktree(branch).move_in(onto, refs)
            self._forget(found.branch)
        return True

    def discard(self, branch: str) -> bool:
        """Also one that is half made. False: it was taken meanwhile, and stays its taker's."""
        name = self.places.of(branch).folder.name
        with self._alone:
            is_ours = name not in self._taken()
            (self.places.ready / name).unlink(missing_ok=True)
        if is_ours:
            remove(self.worktree(branch))
        else:
            self._forget(branch)
        self._begun.pop(branch, None)
        return is_ours

    def clear(self) -> Sequence[Path]:
        """What those left who died half-way; the folders that are gone."""
        if not self.mirror.exists():
            return ()
        with self._alone:
            left = self._left()
        return [self.places.of(branch).folder for branch in left if self.discard(branch)]

    def _left(self) -> Sequence[str]:
        """Branches without a note, and notes without a branch."""
        refs, whole = self.mirror.refs(f"refs/heads/{AHEAD}*"), {one.branch for one in self.ready()}
        there = {name.removeprefix("refs/heads/") for name in refs}
        return sorted((there ^ whole) - self._begun.keys())

    def _is_sound(self, one: Ahead) -> bool:
        """Nothing has become of it since: the mirror may have been made anew, or somebody has tidied up."""
        worktree = self.worktree(one.branch)
        return worktree.place.folder.is_dir() and worktree.provision.is_half and worktree.onto != ""

    def _taken(self) -> frozenset[str]:
        return frozenset(map(made_ahead, self.places.taken.glob("*")))

    def _forget(self, branch: str) -> None:
        known = self.mirror.refs(f"refs/heads/{branch}", f"{BASES}{branch}")
        if known:
            self.mirror.update({name: ("", sha) for name, sha in known.items()})

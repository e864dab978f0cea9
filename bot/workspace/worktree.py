"""One branch's worktree: made whole or not at all, read, taken away. What we know of it is in the mirror."""

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.git.command import git
from bot.git.gitignore import Rule, parse_rules
from bot.git.index import Index, NotAnIndex, read_index
from bot.git.objects import Objects, index_of, write_tree
from bot.publish_guard.guard import Guard
from bot.system.trash import Trash
from bot.workspace.capture import Found, read_worktree
from bot.workspace.mirror import Mirror
from bot.workspace.paths import Place, Places
from bot.workspace.pending_merge import Pending, find_pending, note
from bot.workspace.quarantine import Quarantine
from bot.workspace.setup_record import Provision, read_provision, write_provision
from bot.workspace.shadow_git_dir import build_shadow, disarm, point_to_shadow, refs_for, rename_branch

_LOCKED = "In use by Treehand."


@dataclass(frozen=True, slots=True)
class Look:
    """What a worktree holds now. The index is a file that lives as long as the look does."""

    tree: str
    found: Found
    index: Path
    quarantine: Quarantine
    """Has what is new in the tree, and is a repository in which all of it can be looked at."""


@dataclass(frozen=True, slots=True)
class Worktree:
    place: Place
    mirror: Mirror
    trash: Trash
    guard: Guard
    ignored: Sequence[str] = ()

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.place.branch}"

    @property
    def onto(self) -> str:
        """The branch it was started from; empty: not known."""
        with contextlib.suppress(OSError):
            return self._mark.read_text()
        return ""

    @property
    def _mark(self) -> Path:
        """Written last, so that it says that everything else was done."""
        return self.place.admin / "treehand"

    def is_whole(self) -> bool:
        is_there = self._mark.exists() and self.place.folder.is_dir() and not self.place.folder.is_symlink()
        return is_there and not self.provision.is_half

    def find_pending(self, tip: str) -> Pending | None:
        """The merge that its files show, if they do."""
        return find_pending(self.place.admin, tip)

    def make(
        self, onto: str, *, places: Places, refs: Mapping[str, str], pending: Pending | None = None, tree: str = ""
    ) -> None:
        """From the tip of the branch, with the files of `tree`, or as a merge left them.

        Any trouble on the way leaves nothing of it.
        """
        if os.path.lexists(self.place.folder) and not self.place.admin.exists():
            self._set_aside(places.aside)
        self.discard()
        self.place.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._check_out(pending.tree if pending else tree)
            if pending:
                note(self.place.admin, pending)
            (self.place.admin / "locked").write_text(_LOCKED)
            self.renew_shadow(onto, refs)
            self._mark.write_text(onto)
        except BaseException:
            self.discard()
            raise

    def move_in(self, onto: str, refs: Mapping[str, str]) -> None:
        """Where it was made ready for this branch before there was one. That it is whole is said last."""
        fresh = self.place.admin / "HEAD.new"
        fresh.write_text(f"ref: {self.ref}\n")
        fresh.replace(self.place.admin / "HEAD")
        rename_branch(self.place, refs_for(self.place.branch, onto, refs))
        self._mark.write_text(onto)
        self.provide(replace(self.provision, is_half=False, is_ahead=True))

    def _check_out(self, tree: str) -> None:
        """Git may still work here: no agent has been in this folder yet."""
        folder, how = self.place.folder, ("--no-checkout",) if tree else ()
        git(self.mirror.path, "worktree", "add", "--quiet", *how, str(folder), self.place.branch)
        if tree:
            git(self.place.admin, f"--work-tree={folder}", "read-tree", "--reset", "-u", tree)

    def renew_shadow(self, onto: str, refs: Mapping[str, str]) -> None:
        known = refs_for(self.place.branch, onto, refs)
        build_shadow(self.place, self.trash, mirror=self.mirror.path, refs=known, ignored=self.ignored)
        point_to_shadow(self.place, self.trash)

    def renew_pointer(self, refs: Mapping[str, str]) -> None:
        """The agent's git goes on where it was, if there is still anything to go on with."""
        with contextlib.suppress(OSError):
            if (self.place.shadow / "HEAD").is_file():
                disarm(self.place, self.trash)
                point_to_shadow(self.place, self.trash)
                return
        self.renew_shadow(self.onto, refs)

    @contextlib.contextmanager
    def look(self, committed: str) -> Iterator[Look]:
        """Everything new in it is in quarantine, as long as it lasts."""
        index = self.index(committed)
        provision = self.provision
        new = self.place.admin / "index.new"
        with Quarantine(self.place.admin / "quarantine", self.mirror.path) as quarantine:
            everything = read_worktree(self.place.folder, index, Objects(quarantine.path, index).keep, self.rules)
            found = provision.without(everything, index, self.place.folder)
            try:
                yield Look(write_tree(quarantine.path, found.entries, new), found, new, quarantine)
            finally:
                new.unlink(missing_ok=True)

    @property
    def rules(self) -> Sequence[Rule]:
        """What is never looked into, unless it is tracked."""
        return parse_rules("\n".join((*self.ignored, *self.provision.folders)).encode())

    @property
    def provision(self) -> Provision:
        return read_provision(self.place.admin)

    def provide(self, provision: Provision) -> None:
        write_provision(self.place.admin, provision)

    def remember(self, look: Look) -> None:
        """So that the next look need not read the same files again."""
        look.index.replace(self.place.admin / "index")

    def discard(self) -> None:
        """What the trash cannot delete is out of the way all the same, and the sweep names it."""
        self.trash.throw(self.place.folder)
        if self.place.admin.exists():
            shutil.rmtree(self.place.admin)
        self.trash.throw(self.place.shadow)
        self.trash.empty()

    def index(self, committed: str) -> Index:
        try:
            return read_index(self.place.admin / "index")
        except NotAnIndex:
            return index_of(self.mirror.path, committed)

    def _set_aside(self, aside: Path) -> None:
        """Nothing says that we made it, so it is not ours to delete."""
        aside.mkdir(parents=True, exist_ok=True)
        self.place.folder.rename(aside / f"{self.place.folder.name}-{uuid.uuid4().hex[:8]}")

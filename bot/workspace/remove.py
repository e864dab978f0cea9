"""Takes a branch's workspace away. Rule: callers salvage first; every step can be repeated, so a half-done one ends."""

import os
import uuid
from collections.abc import Callable, Collection
from pathlib import Path

from bot.system.trash import Trash
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, BRANCHES, PARKED, PUSHED, Places, slug_for
from bot.workspace.worktree import Worktree


def remove(worktree: Worktree) -> None:
    """The refs go last: they are what says that there is something to remove."""
    worktree.discard()
    worktree.place.taken.unlink(missing_ok=True)
    branch = worktree.place.branch
    ours = (f"refs/heads/{branch}", f"{BASES}{branch}", f"{PUSHED}{branch}", f"{PARKED}{branch}")
    known = worktree.mirror.refs(*ours)
    worktree.mirror.update({name: ("", known[name]) for name in ours if name in known})


def branches_known(mirror: Mirror) -> frozenset[str]:
    """Every branch there is a trace of. A folder without one is not ours to touch."""
    where = (BASES, PUSHED, PARKED)
    traces = {name.removeprefix(prefix) for prefix in where for name in mirror.refs(prefix)}
    return frozenset(traces | {name.removeprefix("refs/heads/") for name in mirror.refs(BRANCHES)})


def leftovers(places: Places, wanted: Callable[[], Collection[str]]) -> tuple[Path, ...]:
    """Shadows, and notes of worktrees, that no branch has any more.

    `wanted` is asked last: whatever is begun meanwhile has its branch before it has anything else.
    """
    found, taken = [*_inside(places.shadows), *_inside(places.mirror / "worktrees")], _inside(places.taken)
    branches = wanted()
    slugs, live = {slug_for(branch) for branch in branches}, {places.of(branch).folder.name for branch in branches}
    over = [path for path in found if path.name.partition("~")[0] not in live]
    return (*over, *(note for note in taken if note.name not in slugs))


def clear_leftovers(places: Places, trash: Trash, found: Collection[Path]) -> None:
    """A worktree whose branch is gone cannot be salvaged: it is set aside, for people."""
    for path in found:
        folder = places.worktrees / path.name
        if path.parent == places.mirror / "worktrees" and os.path.lexists(folder):
            places.aside.mkdir(parents=True, exist_ok=True)
            folder.rename(places.aside / f"{path.name}-{uuid.uuid4().hex[:8]}")
        trash.throw(path)


def _inside(folder: Path) -> list[Path]:
    """Links are none of ours."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as listing:
        return [Path(item.path) for item in listing if not item.is_symlink()]

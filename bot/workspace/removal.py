"""Takes a branch's workspace away. Rule: callers salvage first; every step can be repeated, so a half-done one ends."""

from collections.abc import Collection

from bot.workspace.mirror import Mirror
from bot.workspace.places import BASES, BRANCHES, PUSHED, Places
from bot.workspace.trash import Trash
from bot.workspace.worktree import Worktree


def remove(worktree: Worktree) -> None:
    """The refs go last: they are what says that there is something to remove."""
    worktree.discard()
    branch = worktree.place.branch
    ours = (f"refs/heads/{branch}", f"{BASES}{branch}", f"{PUSHED}{branch}")
    known = worktree.mirror.refs(*ours)
    worktree.mirror.update({name: ("", known[name]) for name in ours if name in known})


def branches_known(mirror: Mirror) -> frozenset[str]:
    """Every branch there is a trace of. A folder without one is not ours to touch."""
    bases = (name.removeprefix(BASES) for name in mirror.refs(BASES))
    pushed = (name.removeprefix(PUSHED) for name in mirror.refs(PUSHED))
    heads = (name.removeprefix("refs/heads/") for name in mirror.refs(BRANCHES))
    return frozenset((*bases, *pushed, *heads))


def clear_leftovers(places: Places, trash: Trash, keep: Collection[str]) -> None:
    """Shadows no branch has any more, and what a process that died was deleting."""
    wanted = {places.of(branch).shadow.name for branch in keep}
    if places.shadows.exists():
        for shadow in list(places.shadows.iterdir()):
            if shadow.name.partition("~")[0] not in wanted:
                trash.throw(shadow)
    trash.empty()

"""Makes room: what an idle worktree holds that can be made again goes, then the worktree itself. Nothing is lost by it.

Rule: on hostile ground, like capture; and what is not committed is on a ref before its worktree goes.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.git.command import GitFailed, git
from bot.workspace.branch import uncommitted
from bot.workspace.capture import read_worktree
from bot.workspace.paths import PARKED, Places
from bot.workspace.salvage import keep
from bot.workspace.worktree import Worktree

_NO_ID = bytes(20)


def shed(worktree: Worktree) -> int:
    """Folders that git ignores: dependencies, build output, caches. How many there were."""
    tip = worktree.mirror.refs(worktree.ref).get(worktree.ref, "")
    if not tip or not worktree.is_whole():
        return 0
    # it only looks: a full disk has no place for what is new in there
    found = read_worktree(worktree.place.folder, worktree.index(tip), lambda _: _NO_ID, worktree.rules)
    for folder in found.ignored:
        worktree.trash.throw_from(worktree.place.folder, folder)
    worktree.trash.empty()
    if found.ignored:
        worktree.provide(replace(worktree.provision, stamp=""))  # what setup had made may be among them
    return len(found.ignored)


def park(worktree: Worktree) -> bool:
    """Take it away; the next turn has it again as it was, but for what git ignores. False: there is none to take."""
    mirror, name = worktree.mirror, f"{PARKED}{worktree.place.branch}"
    known = mirror.refs(worktree.ref, name)
    tip = known.get(worktree.ref, "")
    # a merge that waits for its conflicts to be resolved is in the files alone
    if not tip or not worktree.is_whole() or worktree.find_pending(tip):
        return False
    commit = uncommitted(worktree, tip)
    if commit:
        keep(mirror, worktree.place.salvage, commit)
    if commit != known.get(name, ""):
        mirror.update({name: (commit, known.get(name, ""))})
    worktree.discard()
    return True


def unpark(worktree: Worktree, onto: str, refs: Mapping[str, str], places: Places) -> None:
    """As it was when it was taken away. One that stands is newer than what was parked."""
    name = f"{PARKED}{worktree.place.branch}"
    commit = refs.get(name, "")
    if not commit:
        return
    if not worktree.is_whole() and _stands_on(worktree, commit, refs[worktree.ref]):
        worktree.make(onto, places=places, refs=refs, tree=f"{commit}^{{tree}}")
    worktree.mirror.update({name: ("", commit)})


def _stands_on(worktree: Worktree, commit: str, tip: str) -> bool:
    try:
        return git(worktree.mirror.path, "rev-parse", f"{commit}^") == tip
    except GitFailed:
        return False

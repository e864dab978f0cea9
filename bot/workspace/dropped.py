"""Dropped commits: published commits that people removed from a branch of ours by rewriting it.

Rule: Treehand does not publish them again, neither on the branch nor as salvaged work.
"""

from collections.abc import Mapping

from bot.git.command import git
from bot.workspace.mirror import Mirror
from bot.workspace.paths import DROPPED, ORIGIN, PUSHED


def is_rewritten(mirror: Mirror, branch: str, refs: Mapping[str, str]) -> bool:
    """Returns True if the remote's branch lacks published commits that ours contains."""
    published, theirs = refs.get(f"{PUSHED}{branch}", ""), refs.get(f"{ORIGIN}{branch}", "")
    ours = refs.get(f"refs/heads/{branch}", "")
    if not (published and theirs and ours) or mirror.is_ancestor(published, theirs):
        return False
    return mirror.is_ancestor(published, ours)


def note_dropped(mirror: Mirror, branch: str) -> None:
    """Remembers the oldest commit that people dropped, if they rewrote the branch."""
    refs = mirror.refs(f"refs/heads/{branch}", f"{PUSHED}{branch}", f"{ORIGIN}{branch}", DROPPED)
    if not is_rewritten(mirror, branch, refs):
        return
    theirs, published = refs[f"{ORIGIN}{branch}"], refs[f"{PUSHED}{branch}"]
    oldest = git(mirror.path, "rev-list", "--reverse", "--topo-order", f"{theirs}..{published}").partition("\n")[0]
    if f"{DROPPED}{oldest}" not in refs:
        mirror.update_refs({f"{DROPPED}{oldest}": (oldest, "")})


def contains_dropped(mirror: Mirror, ref: str) -> bool:
    """Returns True if it contains a dropped commit that no branch of the remote has."""
    found = git(mirror.path, "for-each-ref", "--format=%(objectname)", f"--merged={ref}", DROPPED).split()
    return any(not git(mirror.path, "for-each-ref", "--count=1", f"--contains={one}", ORIGIN) for one in found)

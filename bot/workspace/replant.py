"""Replants unpublished work: people rewrote the branch at the remote, and what they dropped from it stays dropped.

Rule: only what was never published is put on their history; with conflicts, nothing is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.git.command import git
from bot.workspace.branch import commit_date, commit_tree
from bot.workspace.merge_trees import MergedTree, merge_onto
from bot.workspace.paths import BASES, ORIGIN, PUSHED
from bot.workspace.pending_merge import PendingMerge
from bot.workspace.worktree import Worktree

_RULE = (
    "People have rewritten the branch. Theirs is the history as they want it; yours is only your last change. Keep "
    "that change, and do not bring back anything that they removed."
)


@dataclass(frozen=True, slots=True)
class Replanting:
    """Our unpublished commits, and the history that people want them on."""

    worktree: Worktree
    refs: Mapping[str, str]
    base: str
    """Base of the branch afterwards."""

    def plan(self) -> tuple[PendingMerge, str]:
        """Returns the replanting as a merge of the two sides, and the new tip; without a tip there are conflicts."""
        head = self._pick_each()
        merged = MergedTree(commit_tree(self.worktree, head)) if head else self._merge()
        if not head and not merged.conflicts:
            head = self._write(merged.tree, self._ours, self._parents)
        conflicts = (_RULE, *merged.conflicts) if merged.conflicts else ()
        pending = PendingMerge(
            self._ours, self._theirs, self._branch, self.base, merged.tree, merged.paths, conflicts, self._parents
        )
        return pending, head

    @property
    def _branch(self) -> str:
        return self.worktree.paths.branch

    @property
    def _ours(self) -> str:
        return self.refs[self.worktree.ref]

    @property
    def _theirs(self) -> str:
        return self.refs[f"{ORIGIN}{self._branch}"]

    @property
    def _published(self) -> str:
        return self.refs[f"{PUSHED}{self._branch}"]

    @property
    def _parents(self) -> tuple[str, ...]:
        """A base that was merged after the last push stays merged."""
        base, mirror = self.refs[f"{BASES}{self._branch}"], self.worktree.mirror
        is_new = not mirror.is_ancestor(base, self._published) and not mirror.is_ancestor(base, self._theirs)
        return (self._theirs, base) if is_new else (self._theirs,)

    def _pick_each(self) -> str:
        """Returns the tip after picking one commit after the other; empty if that is not possible."""
        tip, mirror = self._theirs, self.worktree.mirror.path
        for commit, parent in self._unpublished():
            if not parent:
                return ""
            if commit_tree(self.worktree, commit) == commit_tree(self.worktree, parent):
                continue  # a commit that only holds or starts CI
            merged = merge_onto(mirror, parent, commit, tip, self._names(commit))
            if merged.conflicts:
                return ""
            if merged.tree != commit_tree(self.worktree, tip):
                tip = self._write(merged.tree, commit, (tip,))
        return tip

    def _unpublished(self) -> Sequence[tuple[str, str]]:
        """Commits with their parent, oldest first; the parent is empty for a merge."""
        listing = git(
            self.worktree.mirror.path, "rev-list", "--reverse", "--topo-order", "--parents",
            f"{self._published}..{self._ours}",
        )  # fmt: skip
        lines = [line.split() for line in listing.splitlines()]
        return [(commit, parents[0] if len(parents) == 1 else "") for commit, *parents in lines]

    def _merge(self) -> MergedTree:
        return merge_onto(self.worktree.mirror.path, self._published, self._ours, self._theirs, self._names(self._ours))

    def _names(self, commit: str) -> Mapping[str, str]:
        return {commit: f"`{self._branch}`", self._theirs: "the rewritten branch"}

    def _write(self, tree: str, like: str, parents: Sequence[str]) -> str:
        mirror = self.worktree.mirror
        message = git(mirror.path, "show", "--no-patch", "--format=%B", like)
        return mirror.commit(tree, parents=parents, message=message, at=commit_date(mirror, like))

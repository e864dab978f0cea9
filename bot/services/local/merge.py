"""Merging a pull request, so that it happens exactly once however often it is interrupted and asked for again.

The order is the safety: the intent is written down, then the commit lands, then it is recorded. A repeat looks
whether the intended commit has landed already.
"""

from dataclasses import dataclass
from pathlib import Path

from bot.domain.pull_request import PullRequestState
from bot.errors import NeedsHuman, Retryable
from bot.services.local.database import Book
from bot.services.local.input_rules import checked_name
from bot.services.local.merge_git import Joint, Signature, Style, combine, land
from bot.services.local.pull_requests import Pulls
from bot.services.local.repository import is_ancestor
from bot.system.locks import alone


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did, for the person who asked."""

    key: str
    branch: str
    base: str
    commit: str
    was: str
    """The base branch's commit before."""
    left_behind: tuple[Path, ...] = ()
    """Folders that had the base branch checked out, and still show what they showed, on no branch."""

    def __str__(self) -> str:
        lines = [f"{self.key} is merged: {self.base} is now at {self.commit[:10]}."]
        lines += [
            f"{folder} still shows {self.was[:10]} as it was: `git switch {self.base}` there when you want the merge."
            for folder in self.left_behind
        ]
        return "\n".join(lines)


class Merging:
    """Of the pull requests of one project."""

    def __init__(self, book: Book, project: str, pulls: Pulls) -> None:
        self._book = book
        self._project = project
        self._pulls = pulls
        self._repository = pulls.repository

    def merge(self, number: int, *, by: str, email: str = "", style: Style = Style.MERGE) -> Merged:
        by = checked_name(by)
        signature = Signature(by, email or f"{by.lower().replace(' ', '.')}@localhost", self._book.clock())
        number = self._pulls.found(number)["number"]
        with alone(self._repository.lock):
            try:
                return self._merge(number, style, signature)
            except Retryable:
                # The base may have moved under us: once more, from what it is now.
                return self._merge(number, style, signature)

    def _merge(self, number: int, style: Style, signature: Signature) -> Merged:
        row = self._pulls.found(number)
        key = self._pulls.key(number)
        if row["state"] == PullRequestState.MERGED:
            return Merged(key, row["branch"], row["base"], row["merged_as"], row["merged_on"])
        if row["state"] == PullRequestState.CLOSED:
            raise NeedsHuman(f"{key} is closed. `treehand pr reopen {key}` opens it again.")
        self._repository.refresh_alone()
        was, head = self._ends(row["base"], row["branch"])
        merged = self._landed(number, key, row["branch"], row["base"], was)
        if merged is None:
            title = row["title"]
            message = f"{title} ({key})" if style is Style.SQUASH else f"Merge {key}: {title}"
            merged = self._land(number, row["branch"], row["base"], Joint(was, head, style, message), signature)
        self._pulls.record_merge(number, by=signature.name, head=head, commit=merged.commit, onto=merged.was)
        self._repository.keep(number, head)
        self._repository.refresh_alone()
        return merged

    def _ends(self, base: str, branch: str) -> tuple[str, str]:
        was, head = self._repository.tip(base), self._repository.tip(branch)
        if not was:
            raise NeedsHuman(f"There is no branch {base} any more to merge into.")
        if not head:
            raise NeedsHuman(f"The branch {branch} is gone: there is nothing to merge.")
        return was, head

    def _landed(self, number: int, key: str, branch: str, base: str, tip: str) -> Merged | None:
        """An earlier try got as far as the person's branch."""
        intent = self._book.row("SELECT * FROM landings WHERE project = ? AND number = ?", self._project, number)
        if intent and is_ancestor(self._repository.bare, intent["commit_id"], tip):
            return Merged(key, branch, base, intent["commit_id"], intent["onto"])
        return None

    def _land(self, number: int, branch: str, base: str, joint: Joint, signature: Signature) -> Merged:
        bare = self._repository.bare
        if is_ancestor(bare, joint.head, joint.base):
            return Merged(self._pulls.key(number), branch, base, joint.base, joint.base)
        commit = combine(bare, joint, signature)
        with self._book.changing():
            self._book.change(
                "INSERT OR REPLACE INTO landings VALUES (?, ?, ?, ?, ?)",
                self._project, number, commit, joint.base, joint.head,
            )  # fmt: skip
        left = land(self._repository, base, commit, expected=joint.base, signature=signature)
        return Merged(self._pulls.key(number), branch, base, commit, joint.base, left)

"""Merges a local pull request exactly once, even if it is interrupted and repeated.

Rule: the intent is stored, then the branch moves, then the merge is recorded. A repeat checks whether the intended
commit has reached the branch already.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.pull_request import PullRequestState
from bot.errors import NeedsHuman, Retryable
from bot.git.user_repository import git_identity
from bot.services.local.database import LocalDatabase
from bot.services.local.input_rules import check_person
from bot.services.local.merge_git import (
    CommitSignature,
    MergeStyle,
    PlannedMerge,
    co_authors,
    create_merge_commit,
    move_branch,
)
from bot.services.local.pull_requests import LocalPullRequests
from bot.services.local.repository import is_ancestor
from bot.system.locks import exclusive_lock


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """Result of a merge, for the person who requested it."""

    key: str
    branch: str
    base: str
    commit: str
    base_before: str
    """The base branch's commit before the merge."""
    updated_folder: Path | None = None
    """The user's folder that has the base branch checked out; its files were updated."""

    def __str__(self) -> str:
        with_files = f", and so are the files in {self.updated_folder}" if self.updated_folder else ""
        return f"{self.key} is merged: {self.base} is now at {self.commit[:10]}{with_files}."


class PullRequestMerger:
    """Merges pull requests of one project."""

    def __init__(self, database: LocalDatabase, project: str, pulls: LocalPullRequests) -> None:
        self._database = database
        self._project = project
        self._pull_requests = pulls
        self._repository = pulls.repository

    def merge(
        self, number: int, *, by: str, is_operator: bool = False, style: MergeStyle = MergeStyle.MERGE
    ) -> MergeOutcome:
        """`is_operator`: this person runs Treehand, so the commit has the name and address of their git settings."""
        by = check_person(by)
        name, email = git_identity(self._repository.user_git_dir()) if is_operator else ("", "")
        signature = CommitSignature(
            name or by, email or f"{by.lower().replace(' ', '.')}@localhost", self._database.clock()
        )
        number = self._pull_requests.get_row(number)["number"]
        with exclusive_lock(self._repository.lock):
            try:
                return self._merge(number, style, signature, by)
            except Retryable:
                # the base may have moved: try once more
                return self._merge(number, style, signature, by)

    def _merge(self, number: int, style: MergeStyle, signature: CommitSignature, by: str) -> MergeOutcome:
        row = self._pull_requests.get_row(number)
        key = self._pull_requests.key(number)
        if row["state"] == PullRequestState.MERGED:
            return MergeOutcome(key, row["branch"], row["base"], row["merged_as"], row["merged_on"])
        if row["state"] == PullRequestState.CLOSED:
            raise NeedsHuman(f"{key} is closed. `treehand pr reopen {key}` opens it again.")
        self._repository.fetch_locked()
        was, head = self._base_and_head(row["base"], row["branch"])
        merged = self._find_finished_merge(number, key, row["branch"], row["base"], was)
        if merged is None:
            title = row["title"]
            message = f"{title} ({key})" if style is MergeStyle.SQUASH else f"Merge {key}: {title}"
            merged = self._make_and_move(
                number, row["branch"], row["base"], PlannedMerge(was, head, style, message), signature
            )
        self._pull_requests.record_merge(number, by=by, head=head, commit=merged.commit, onto=merged.base_before)
        self._repository.keep_head(number, head)
        self._repository.fetch_locked()
        return merged

    def _base_and_head(self, base: str, branch: str) -> tuple[str, str]:
        was, head = self._repository.tip(base), self._repository.tip(branch)
        if not was:
            raise NeedsHuman(f"The base branch {base} no longer exists.")
        if not head:
            raise NeedsHuman(f"The branch {branch} no longer exists: there is nothing to merge.")
        return was, head

    def _find_finished_merge(self, number: int, key: str, branch: str, base: str, tip: str) -> MergeOutcome | None:
        """Returns the result of an earlier try that had moved the branch."""
        intent = self._database.row("SELECT * FROM landings WHERE project = ? AND number = ?", self._project, number)
        if intent and is_ancestor(self._repository.bare, intent["commit_id"], tip):
            return MergeOutcome(key, branch, base, intent["commit_id"], intent["onto"])
        return None

    def _make_and_move(
        self, number: int, branch: str, base: str, plan: PlannedMerge, signature: CommitSignature
    ) -> MergeOutcome:
        bare = self._repository.bare
        if is_ancestor(bare, plan.head, plan.base):
            return MergeOutcome(self._pull_requests.key(number), branch, base, plan.base, plan.base)
        if plan.style is MergeStyle.SQUASH and (others := co_authors(bare, plan, signature)):
            plan = replace(plan, message="\n".join((plan.message, "", *others)))
        commit = create_merge_commit(bare, plan, signature)
        with self._database.transaction():
            self._database.change(
                "INSERT OR REPLACE INTO landings VALUES (?, ?, ?, ?, ?)",
                self._project, number, commit, plan.base, plan.head,
            )  # fmt: skip
        updated = move_branch(self._repository, base, commit, expected=plan.base, signature=signature)
        return MergeOutcome(self._pull_requests.key(number), branch, base, commit, plan.base, updated)

"""Offline view: titles, addresses and pull requests from the cache, without a request and without the daemon."""

import json
from collections.abc import Mapping

from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.services.github.cache import Cache, RecordKind, Row

ACCOUNT = "account"
"""Name of the cursor that holds our account's id."""


class OfflineView:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @property
    def tips(self) -> Mapping[str, str]:
        """Commit by branch, of our branches that exist there."""
        cached = self._cache.cursor("tips")
        return json.loads(cached) if cached else {}

    def newest(self) -> dict[str, Row]:
        """Newest pull request by branch. Ours go first: other people may open some from our branches as well."""
        us = self._cache.cursor(ACCOUNT)
        return {row["branch"]: row for row in sorted(self._cache.all(RecordKind.PULL), key=lambda row: _is_by(us, row))}

    def is_ours(self, pull: Row) -> bool:
        return _is_by(self._cache.cursor(ACCOUNT), pull)

    def titles(self) -> Mapping[int, str]:
        """Keyed by issue number."""
        return {row["number"]: row["title"] for row in self._cache.all(RecordKind.ISSUE)}

    def addresses(self) -> Mapping[int, str]:
        """URLs by issue number."""
        return {row["number"]: row["url"] for row in self._cache.all(RecordKind.ISSUE)}

    def pulls(self) -> Mapping[str, PullRequest]:
        """Keyed by branch."""
        tips, checks, details = (
            self.tips,
            self._cache.by_id(RecordKind.CHECKS),
            self._cache.by_id(RecordKind.DETAILS),
        )
        return {
            branch: _pull(row, tips.get(branch, ""), checks.get(row["number"]), details.get(row["number"]))
            for branch, row in self.newest().items()
        }


def _pull(row: Row, tip: str, checks: Row | None, details: Row | None) -> PullRequest:
    state = PullRequestState.OPEN if row["open"] else PullRequestState.CLOSED
    head = tip if tip and row["open"] else row["head"]
    return PullRequest(
        number=row["number"],
        branch=row["branch"],
        title=row["title"],
        body=row["body"],
        state=PullRequestState.MERGED if row["merged"] else state,
        draft=row["draft"],
        head=head,
        url=row["url"],
        base=row["base"],
        checks=_checks(checks, head),
        conflicts=bool(row["open"] and details and details["mergeable"] is False and details["head"] == head),
    )


def _checks(row: Row | None, head: str) -> Checks:
    """Checks of an older commit do not count."""
    if row is None or row["commit"] != head:
        return Checks(commit=head)
    failed = tuple(_failed(item) for item in row["failed"])
    return Checks(CheckState(row["state"]), head, row["passed"], row["pending"], failed, row.get("unseen", ""))


def _failed(row: Row) -> FailedCheck:
    return FailedCheck(
        row["name"], row["url"], row["summary"], tuple(row["annotations"]), row["log"], on_base=row["on_base"]
    )


def _is_by(account: str, pull: Row) -> bool:
    """While our account is unknown, every pull request counts as ours."""
    return account in {"", str(pull["author"]["id"])}

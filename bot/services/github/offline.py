"""What is known of a repository's issues and pull requests without asking anybody: also while no daemon runs."""

import json
from collections.abc import Mapping

from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.services.github.cache import Kind, Notebook, Row

ACCOUNT = "account"
"""Under which it is noted who we are."""


class Recollection:
    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    @property
    def tips(self) -> Mapping[str, str]:
        """The commit id of each of our branches that exist there."""
        remembered = self._notebook.cursor("tips")
        return json.loads(remembered) if remembered else {}

    def newest(self) -> dict[str, Row]:
        """The newest pull request of each of our branches, by us if there is one: anybody may open some from there."""
        us = self._notebook.cursor(ACCOUNT)
        return {row["branch"]: row for row in sorted(self._notebook.all(Kind.PULL), key=lambda row: _is_by(us, row))}

    def is_ours(self, pull: Row) -> bool:
        return _is_by(self._notebook.cursor(ACCOUNT), pull)

    def titles(self) -> Mapping[int, str]:
        """By the issue's number."""
        return {row["number"]: row["title"] for row in self._notebook.all(Kind.ISSUE)}

    def addresses(self) -> Mapping[int, str]:
        """Of issues, by number."""
        return {row["number"]: row["url"] for row in self._notebook.all(Kind.ISSUE)}

    def pulls(self) -> Mapping[str, PullRequest]:
        """By branch."""
        tips, checks, glances = self.tips, self._notebook.by_id(Kind.CHECKS), self._notebook.by_id(Kind.GLANCE)
        return {
            branch: _pull(row, tips.get(branch, ""), checks.get(row["number"]), glances.get(row["number"]))
            for branch, row in self.newest().items()
        }


def _pull(row: Row, tip: str, checks: Row | None, glance: Row | None) -> PullRequest:
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
        conflicts=bool(row["open"] and glance and glance["mergeable"] is False and glance["head"] == head),
    )


def _checks(row: Row | None, head: str) -> Checks:
    """What an older commit's said is no news."""
    if row is None or row["commit"] != head:
        return Checks(commit=head)
    failed = tuple(_failed(item) for item in row["failed"])
    return Checks(CheckState(row["state"]), head, row["passed"], row["pending"], failed)


def _failed(row: Row) -> FailedCheck:
    return FailedCheck(
        row["name"], row["url"], row["summary"], tuple(row["annotations"]), row["log"], on_base=row["on_base"]
    )


def _is_by(account: str, pull: Row) -> bool:
    """As long as nobody told who we are, we take it for ours."""
    return account in {"", str(pull["author"]["id"])}

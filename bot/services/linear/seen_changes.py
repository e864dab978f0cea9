"""Versions of issues and comments that were read lately, so that a poll asks only for others.

Lists show a change late, so the last minutes are asked about again and again. Without this, each poll after a change
would read the same change again. A filter costs no complexity, what is read does.
"""

from collections.abc import Mapping
from typing import Any

_MOST = 100
"""Most versions in one filter. If there are more, the filter names none."""


class SeenChanges:
    """Times of the last change, by id."""

    def __init__(self) -> None:
        self._issues: dict[str, str] = {}
        self._comments: dict[str, str] = {}

    def add_issue(self, issue: str, updated: str) -> None:
        self._issues[issue] = updated

    def add_comment(self, comment: str, updated: str) -> None:
        self._comments[comment] = updated

    def forget_before(self, since: str) -> None:
        self._issues = {issue: updated for issue, updated in self._issues.items() if updated > since}
        self._comments = {comment: updated for comment, updated in self._comments.items() if updated > since}

    def unseen_since(self, since: str) -> Mapping[str, Any]:
        """Filter of issues that have changed, or have a comment that has, other than in a way that was seen."""
        comment = _unseen(self._comments, since)
        return {"or": [_unseen(self._issues, since), {"comments": {"some": comment}}]}


def _unseen(seen: Mapping[str, str], since: str) -> Mapping[str, Any]:
    later = {"updatedAt": {"gt": since}}
    if not seen or len(seen) > _MOST:
        return later
    changed = [{"id": {"eq": one}, "updatedAt": {"gt": updated}} for one, updated in sorted(seen.items())]
    return {**later, "or": [{"id": {"nin": sorted(seen)}}, *changed]}

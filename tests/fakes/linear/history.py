"""History entries of a change, and their grouping."""

from typing import Any

from tests.fakes.linear.model import Issue, Label, Who

Said = dict[str, Any]
"""Keyed by the names of the fields in Linear's schema."""

_MOVES = {"state": "State", "team": "Team", "assignee": "Assignee", "delegate": "Delegate", "project": "Project",
          "parent": "Parent", "priority": "Priority", "title": "Title"}  # fmt: skip


def told(issue: Issue, different: dict[str, Any], who: Who) -> Said:
    said: Said = {}
    for name, value in different.items():
        if name in _MOVES:
            said |= {f"from{_MOVES[name]}": getattr(issue, name), f"to{_MOVES[name]}": value}
        elif name == "description":
            said |= {"updatedDescription": True, "descriptionUpdatedBy": [who.user] if who.user else None}
        elif name == "labels":
            said |= _labels(issue.labels, value)
        elif name in {"archived_at", "trashed"}:
            said |= {name.removesuffix("_at"): bool(value)}
    return said


def _labels(before: list[Label], after: list[Label]) -> Said:
    added = [one for one in after if one not in before]
    removed = [one for one in before if one not in after]
    return {"addedLabels": added or None, "removedLabels": removed or None}


def together(first: Said, second: Said) -> Said:
    """Merges two entries: a change that the second one undoes is not recorded."""
    both = first | second
    for name in _MOVES.values():
        start, end = f"from{name}", f"to{name}"
        if start in first and end in second:
            both[start] = first[start]
            if both[start] == both[end]:
                del both[start], both[end]
    return both | _both_labels(first, second)


def _both_labels(first: Said, second: Said) -> Said:
    added = {name: one.get("addedLabels") or [] for name, one in (("first", first), ("second", second))}
    removed = {name: one.get("removedLabels") or [] for name, one in (("first", first), ("second", second))}
    return {
        "addedLabels": [one for one in added["first"] if one not in removed["second"]]
        + [one for one in added["second"] if one not in removed["first"]]
        or None,
        "removedLabels": [one for one in removed["first"] if one not in added["second"]]
        + [one for one in removed["second"] if one not in added["first"]]
        or None,
    }

"""How an issue changes, whoever changes it: what else moves with it, and what its history says."""

from typing import Any

from tests.fakes.linear.model import Change, Issue, Label, State, Team, Who
from tests.fakes.linear.setting_up import SettingUp

_DATES = {
    "started": "started_at",
    "completed": "completed_at",
    "canceled": "canceled_at",
    "duplicate": "canceled_at",
}
_NAMES = {"state": "State", "team": "Team", "assignee": "Assignee", "delegate": "Delegate", "project": "Project",
          "parent": "Parent", "priority": "Priority", "title": "Title"}  # fmt: skip


class Changing(SettingUp):
    def alter(self, issue: Issue, who: Who, **wanted: Any) -> Change | None:
        """Make it so, in one entry of history; what is so already does not count."""
        different = {name: value for name, value in wanted.items() if getattr(issue, name) != value}
        if not different:
            return None
        self.touch(issue)
        said = _told(issue, different, who)
        for name, value in different.items():
            setattr(issue, name, value)
        if "state" in different:
            self._date(issue)
        change = Change(**self.birth(), issue=issue, actor=who.user, bot=who.bot, said=said)
        self.changes.append(change)
        issue.updated_at = change.created_at
        return change

    def _date(self, issue: Issue) -> None:
        """When it was started and ended, as its state has it."""
        ended = _DATES.get(issue.state.type)
        issue.completed_at = issue.canceled_at = None
        if ended and (ended != "started_at" or issue.started_at is None):
            setattr(issue, ended, self.now)

    def emigrate(self, issue: Issue, team: Team, who: Who, state: State | None = None, **more: Any) -> None:
        """To another team: a new identifier, a state of that team, and no labels of the old one."""
        former = issue.identifier
        team.last_number += 1
        self.alter(
            issue,
            who,
            team=team,
            state=state or self.default_state(team),
            labels=[one for one in more.pop("labels", issue.labels) if one.team in {None, team}],
            number=team.last_number,
            previous_identifiers=[*issue.previous_identifiers, former],
            **more,
        )

    def shelve(self, issue: Issue, who: Who, *, archived: bool, trashed: bool | None = None) -> None:
        """Archive it or fetch it back; what is trashed is archived, too."""
        self.alter(issue, who, archived_at=self.now if archived else None, trashed=trashed)

    def with_label(self, labels: list[Label], label: Label) -> list[Label]:
        """Of one group, an issue has one label."""
        if label in labels:
            return labels
        return [one for one in labels if not one.parent or one.parent is not label.parent] + [label]

    def begin(self, issue: Issue) -> Issue:
        """A new issue takes its place; labels it is made with have no entry in its history."""
        self._date(issue)
        self.issues.append(issue)
        return issue


def _told(issue: Issue, different: dict[str, Any], who: Who) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, value in different.items():
        if name in _NAMES:
            said |= {f"from{_NAMES[name]}": getattr(issue, name), f"to{_NAMES[name]}": value}
        elif name == "description":
            said |= {"updatedDescription": True, "descriptionUpdatedBy": [who.user] if who.user else None}
        elif name == "labels":
            said |= _labels(issue.labels, value)
        elif name in {"archived_at", "trashed"}:
            said |= {name.removesuffix("_at"): bool(value)}
    return said


def _labels(before: list[Label], after: list[Label]) -> dict[str, Any]:
    added = [one for one in after if one not in before]
    removed = [one for one in before if one not in after]
    return {"addedLabels": added or None, "removedLabels": removed or None}

"""Changes an issue for any actor, with the fields that follow and its history."""

from typing import Any

from tests.fakes.linear.history import Said, together, told
from tests.fakes.linear.model import Change, Issue, Label, State, Team, Who
from tests.fakes.linear.workspace_setup import SettingUp

_DATES = {
    "started": "started_at",
    "completed": "completed_at",
    "canceled": "canceled_at",
    "duplicate": "canceled_at",
}


class Changing(SettingUp):
    def alter(self, issue: Issue, who: Who, **wanted: Any) -> Change | None:
        """Changes fields in one history entry; unchanged fields do not count."""
        different = {name: value for name, value in wanted.items() if getattr(issue, name) != value}
        if not different:
            return None
        self.touch(issue)
        said = told(issue, different, who)
        for name, value in different.items():
            setattr(issue, name, value)
        if "state" in different:
            self._date(issue)
        change = self.record(issue, who, said)
        issue.updated_at = change.updated_at
        return change

    def record(self, issue: Issue, who: Who, said: Said) -> Change:
        """Adds a history entry, or extends the last one if history is grouped."""
        last = next((one for one in reversed(self.changes) if one.issue is issue), None)
        if last and Who(last.actor, last.bot) == who and self.now - last.updated_at < self.groups_history:
            self.touch(last)
            last.said = together(last.said, said)
            return last
        made = Change(**self.birth(), issue=issue, actor=who.user, bot=who.bot, said=said)
        self.changes.append(made)
        return made

    def _date(self, issue: Issue) -> None:
        """Sets the times of start and end by the state."""
        ended = _DATES.get(issue.state.type)
        issue.completed_at = issue.canceled_at = None
        if ended and (ended != "started_at" or issue.started_at is None):
            setattr(issue, ended, self.now)

    def emigrate(self, issue: Issue, team: Team, who: Who, state: State | None = None, **more: Any) -> None:
        """Moves to another team: a new identifier, a state of that team, and no labels of the old one."""
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
        """Archives or restores an issue; a trashed issue is archived too."""
        self.alter(issue, who, archived_at=(issue.archived_at or self.now) if archived else None, trashed=trashed)

    def with_label(self, labels: list[Label], label: Label) -> list[Label]:
        """Adds a label; an issue has one label per group."""
        if label in labels:
            return labels
        return [one for one in labels if not one.parent or one.parent is not label.parent] + [label]

    def begin(self, issue: Issue) -> Issue:
        """Adds a new issue; labels set at its creation have no history entry."""
        self._date(issue)
        self.issues.append(issue)
        return issue

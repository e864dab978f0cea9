"""An imaginary Linear workspace: methods are actions of people, and attributes show the result."""

from collections.abc import Iterable

from tests.fakes.linear.comment_actions import Talking
from tests.fakes.linear.model import Attachment, Comment, Issue, Label, LinearProject, Team, User
from tests.fakes.linear.state import deed

By = User | str | None


class LinearWorld(Talking):
    # Actions of people on issues

    @deed
    def open_issue(
        self,
        team: Team | str,
        title: str,
        description: str = "",
        *,
        by: By,
        integration: str | None = None,
        labels: Iterable[str] = (),
        priority: int = 0,
        project: LinearProject | str | None = None,
        parent: str | Issue | None = None,
        assignee: User | str | None = None,
        state: str | None = None,
    ) -> Issue:
        home, who = self.team(team), self.who(by, integration)
        home.last_number += 1
        made = Issue(
            **self.birth(), team=home, number=home.last_number, title=title, description=self.kept(description),
            state=self.state_named(home, state) if state else self.default_state(home), priority=priority,
            creator=who.user, bot=who.bot, assignee=self.user(assignee) if assignee else None,
            project=self._project(project), parent=self._issue(parent) if parent else None,
        )  # fmt: skip
        for name in labels:
            made.labels = self.with_label(made.labels, self.label_for(name, home))
        return self.begin(made)

    def _project(self, project: LinearProject | str | None) -> LinearProject | None:
        return next(one for one in self.projects if one.name == project) if isinstance(project, str) else project

    def _issue(self, issue: str | Issue) -> Issue:
        return self.find(issue if isinstance(issue, str) else issue.id)

    @deed
    def label(self, issue: str | Issue, name: str, *, by: By, integration: str | None = None) -> Label:
        found = self._issue(issue)
        label = self.label_for(name, found.team)
        self.alter(found, self.who(by, integration), labels=self.with_label(found.labels, label))
        return label

    @deed
    def unlabel(self, issue: str | Issue, name: str, *, by: By, integration: str | None = None) -> None:
        found = self._issue(issue)
        left = [one for one in found.labels if one.name.lower() != name.lower()]
        self.alter(found, self.who(by, integration), labels=left)

    @deed
    def edit(self, issue: str | Issue, *, title: str | None = None, description: str | None = None, by: By) -> None:
        new = {"title": title, "description": None if description is None else self.kept(description)}
        self.alter(self._issue(issue), self.who(by), **{name: text for name, text in new.items() if text is not None})

    @deed
    def move(self, issue: str | Issue, state: str, *, by: By, integration: str | None = None) -> None:
        found = self._issue(issue)
        self.alter(found, self.who(by, integration), state=self.state_named(found.team, state))

    @deed
    def move_team(self, issue: str | Issue, team: Team | str, *, by: By) -> Issue:
        found = self._issue(issue)
        self.emigrate(found, self.team(team), self.who(by))
        return found

    @deed
    def mark_duplicate(self, issue: str | Issue, of: str | Issue, *, by: By) -> None:
        found = self._issue(issue)
        self.tie(found, "duplicate", self._issue(of), self.who(by))
        self.alter(found, self.who(by), state=self.first_state(found.team, "duplicate", "canceled"))

    @deed
    def archive(self, issue: str | Issue, *, by: By) -> None:
        self.shelve(self._issue(issue), self.who(by), archived=True)

    @deed
    def unarchive(self, issue: str | Issue, *, by: By) -> None:
        self.shelve(self._issue(issue), self.who(by), archived=False)

    @deed
    def trash(self, issue: str | Issue, *, by: By) -> None:
        self.shelve(self._issue(issue), self.who(by), archived=True, trashed=True)

    @deed
    def delete(self, issue: str | Issue) -> None:
        """Deletes an issue permanently, with its comments."""
        gone = self._issue(issue)
        self.issues.remove(gone)
        for name in ("changes", "all_comments", "all_attachments"):
            setattr(self, name, [one for one in getattr(self, name) if one.issue is not gone])
        self.relations = [one for one in self.relations if gone not in {one.issue, one.related}]

    @deed
    def relate(self, issue: str | Issue, kind: str, other: str | Issue, *, by: By) -> None:
        self.tie(self._issue(issue), kind, self._issue(other), self.who(by))

    @deed
    def assign(self, issue: str | Issue, user: User | str | None, *, by: By) -> None:
        self.alter(self._issue(issue), self.who(by), assignee=None if user is None else self.user(user))

    @deed
    def prioritise(self, issue: str | Issue, priority: int, *, by: By) -> None:
        self.alter(self._issue(issue), self.who(by), priority=priority)

    # Comments of people

    @deed
    def comment(
        self,
        issue: str | Issue,
        text: str,
        *,
        by: By,
        parent: Comment | str | None = None,
        integration: str | None = None,
        external_user: str | None = None,
    ) -> str:
        """Returns its id. Without `by`, an integration comments for an external person."""
        under = self.find_comment(parent) if parent else None
        outside = None if by is not None else external_user or "Somebody outside"
        who = self.who(by, integration)
        return self.say(self._issue(issue), text, who, parent=under, external_user=outside).id

    @deed
    def edit_comment(self, comment: Comment | str, text: str) -> None:
        self.say_otherwise(self.find_comment(comment), text)

    @deed
    def delete_comment(self, comment: Comment | str) -> None:
        self.unsay(self.find_comment(comment))

    # Reading the result

    def comments(self, issue: str | Issue, by: By = None) -> list[Comment]:
        """Returns the comments, oldest first."""
        on = self._issue(issue)
        author = self.user(by) if by is not None else None
        return [one for one in self.all_comments if one.issue is on and author in {None, one.user}]

    def labels(self, issue: str | Issue) -> set[str]:
        return {one.name for one in self._issue(issue).labels}

    def state(self, issue: str | Issue) -> str:
        return self._issue(issue).state.name

    def attachments(self, issue: str | Issue) -> list[Attachment]:
        on = self._issue(issue)
        return [one for one in self.all_attachments if one.issue is on]

    def reactions(self, thing: Comment | Issue | str) -> set[tuple[str, str]]:
        """Returns emoji and author of reactions on a comment or an issue."""
        wanted = thing if isinstance(thing, str) else thing.id
        return {(one.emoji, one.user.name) for one in self.all_reactions if one.on.id == wanted}

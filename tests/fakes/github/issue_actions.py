"""Actions of people on issues and conversations, including those of pull requests."""

from collections.abc import Iterable
from dataclasses import replace

from tests.fakes.github.model import Comment, Edit, Issue, Label, Lasting, Reaction, Repository, User
from tests.fakes.github.state import Impossible, State, deed

LONGEST = 65_536


def said(body: str) -> str:
    if len(body) > LONGEST:
        raise Impossible(f"body is too long (maximum is {LONGEST} characters)")
    return body


class OnIssues(State):
    @deed
    def open_issue(
        self, repo: str, title: str, body: str = "", *, by: str = "ana", labels: Iterable[str] = ()
    ) -> Issue:
        issue = self._begin(self.repository(repo), title, body, self.user(by))
        for name in labels:
            self.label(repo, issue.number, name, by=by)
        return issue

    def _begin(self, home: Repository, title: str, body: str, author: User) -> Issue:
        now = self.now
        home.last_number += 1
        made = Issue(
            id=self.new_id(), number=home.last_number, author=author, body=said(body), title=title,
            created_at=now, updated_at=now, changed_at=now,
        )  # fmt: skip
        home.issues[made.number] = made
        return made

    @deed
    def label(self, repo: str, number: int, *names: str, by: str = "ana") -> None:
        home, issue = self.repository(repo), self.issue(repo, number)
        for name in names:
            label = self.label_named(home, name)
            if label not in issue.labels:
                self.touch(issue)
                issue.labels = [*issue.labels, label]
                self.happened(issue, "labeled", self.user(by), label=label)

    @deed
    def unlabel(self, repo: str, number: int, *names: str, by: str = "ana") -> None:
        issue = self.issue(repo, number)
        for name in names:
            label = next((label for label in issue.labels if label.name.lower() == name.lower()), None)
            if label:
                self.touch(issue)
                issue.labels = [kept for kept in issue.labels if kept is not label]
                self.happened(issue, "unlabeled", self.user(by), label=label)

    @deed
    def edit_issue(
        self, repo: str, number: int, *, title: str | None = None, body: str | None = None, by: str = "ana"
    ) -> None:
        issue, editor = self.issue(repo, number), self.user(by)
        if title is not None and title != issue.title:
            self.touch(issue)
            self.happened(issue, "renamed", editor, rename=(issue.title, title))
            issue.title = title
        if body is not None and body != issue.body:
            self.touch(issue)
            self._rewrite(issue, body, editor)

    def _rewrite(self, thing: Lasting, body: str, editor: User) -> None:
        if not thing.edits:
            thing.edits = [Edit(self.new_id(), thing.author, thing.created_at, thing.body)]
        thing.edits = [*thing.edits, Edit(self.new_id(), editor, self.now, body)]
        thing.body = said(body)

    @deed
    def close(self, repo: str, number: int, *, by: str = "ana", reason: str = "completed") -> None:
        issue = self.issue(repo, number)
        if issue.state == "open":
            self.touch(issue)
            issue.state, issue.closed_at, issue.closed_by = "closed", self.now, self.user(by)
            issue.state_reason = None if issue.pull else reason
            self.happened(issue, "closed", self.user(by))

    @deed
    def reopen(self, repo: str, number: int, *, by: str = "ana") -> None:
        issue = self.issue(repo, number)
        if issue.pull and issue.pull.merged_at:
            raise Impossible("state cannot be changed. The pull request cannot be reopened.")
        if issue.state == "closed":
            self.touch(issue)
            issue.state, issue.closed_at, issue.closed_by = "open", None, None
            issue.state_reason = None if issue.pull else "reopened"
            self.happened(issue, "reopened", self.user(by))

    @deed
    def lock_issue(self, repo: str, number: int, *, by: str = "ana", locked: bool = True) -> None:
        issue = self.issue(repo, number)
        self.touch(issue)
        issue.locked = locked
        self.happened(issue, "locked" if locked else "unlocked", self.user(by))

    @deed
    def delete_issue(self, repo: str, number: int) -> None:
        home = self.repository(repo)
        del home.issues[number]
        home.deleted.add(number)
        home.comments = {key: comment for key, comment in home.comments.items() if comment.number != number}
        self.version += 1

    @deed
    def transfer_issue(self, repo: str, number: int, to: str, *, by: str = "ana") -> Issue:
        """The issue gets a new number in the other repository, and loses labels that do not exist there."""
        home, target = self.repository(repo), self.repository(to)
        issue = home.issues.pop(number)
        moved = self._begin(target, issue.title, issue.body, issue.author)
        moved.id, moved.state, moved.created_at, moved.comments = (
            issue.id,
            issue.state,
            issue.created_at,
            issue.comments,
        )
        moved.labels = [
            target.labels[label.name.lower()] for label in issue.labels if label.name.lower() in target.labels
        ]
        self.happened(moved, "transferred", self.user(by))
        for comment in [comment for comment in home.comments.values() if comment.number == number]:
            del home.comments[comment.id]
            comment.number = moved.number
            target.comments[comment.id] = comment
        home.moved[number] = (target, moved.number)
        return moved

    # Conversations.

    @deed
    def comment(self, repo: str, number: int, body: str, *, by: str = "ana") -> Comment:
        home, issue, now = self.repository(repo), self.issue(repo, number), self.now
        self.touch(issue)
        made = Comment(
            id=self.new_id(), number=number, author=self.user(by), body=said(body),
            created_at=now, updated_at=now, changed_at=now,
        )  # fmt: skip
        home.comments[made.id] = made
        issue.comments += 1
        return made

    @deed
    def comment_on_pull(self, repo: str, number: int, body: str, *, by: str = "ana") -> Comment:
        """Comments in the conversation, not on a line."""
        self.pull(repo, number)
        return self.comment(repo, number, body, by=by)

    @deed
    def edit_comment(self, repo: str, comment: int, body: str, *, by: str = "ana") -> None:
        home = self.repository(repo)
        thing: Lasting = home.comments.get(comment) or home.inlines[comment]
        self.touch(thing)
        self.touch(home.issues[thing.number])
        self._rewrite(thing, body, self.user(by))

    @deed
    def edit_review(self, repo: str, review: int, body: str, *, by: str = "ana") -> None:
        home = self.repository(repo)
        self.touch(home.reviews[review])
        self.touch(home.issues[home.reviews[review].number])
        self._rewrite(home.reviews[review], body, self.user(by))

    @deed
    def delete_comment(self, repo: str, comment: int) -> None:
        home = self.repository(repo)
        issue = home.issues[(home.comments.get(comment) or home.inlines[comment]).number]
        self.touch(issue)
        issue.comments -= home.comments.pop(comment, None) is not None
        home.inlines.pop(comment, None)

    @deed
    def react(self, thing: Lasting, content: str, *, by: str = "ana") -> tuple[Reaction, bool]:
        """Adds a reaction once per person and kind; returns whether it is new. Changes no time of the target."""
        user = self.user(by)
        for had in thing.reactions:
            if had.user is user and had.content == content:
                return had, False
        made = Reaction(self.new_id(), user, content, self.now)
        thing.reactions = [*thing.reactions, made]
        return made, True

    @deed
    def delete_account(self, login: str) -> None:
        """Deletes an account; its comments stay, without an author."""
        gone = self.users.pop(login.lower())
        for home in self.repositories.values():
            for thing in (
                *home.issues.values(),
                *home.comments.values(),
                *home.inlines.values(),
                *home.reviews.values(),
            ):
                thing.author = None if thing.author is gone else thing.author
                thing.edits = [replace(edit, editor=None) if edit.editor is gone else edit for edit in thing.edits]
            for event in (event for issue in home.issues.values() for event in issue.events):
                event.actor = None if event.actor is gone else event.actor
        self.tokens = {text: token for text, token in self.tokens.items() if token.user is not gone}

    @deed
    def make_label(self, repo: str, name: str, *, color: str = "ededed", description: str | None = None) -> Label:
        home = self.repository(repo)
        if name.lower() in home.labels:
            raise Impossible("already_exists")
        label = self.label_named(home, name)
        label.color, label.description = color, description
        return label

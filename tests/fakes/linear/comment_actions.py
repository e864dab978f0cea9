"""Actions of people and programs on comments, reactions and attachments."""

from typing import Any

from tests.fakes.linear.issue_changes import Changing
from tests.fakes.linear.model import Attachment, Comment, Issue, Reaction, Relation, User, Who


class Talking(Changing):
    def say(
        self,
        issue: Issue,
        text: str,
        who: Who,
        *,
        parent: Comment | None = None,
        wanted: str | None = None,
        external_user: str | None = None,
    ) -> Comment:
        said = Comment(
            **self.birth(wanted),
            issue=issue,
            body=self.kept(text),
            user=who.user,
            bot=who.bot,
            parent=parent,
            external_user=external_user,
        )
        self.all_comments.append(said)
        self.noticed(issue)
        return said

    def noticed(self, issue: Issue) -> None:
        """Updates an issue after a comment or an attachment on it."""
        if self.comments_touch_issue:
            self.touch(issue)

    def say_otherwise(self, comment: Comment, text: str) -> None:
        self.touch(comment)
        comment.body, comment.edited_at = self.kept(text), comment.updated_at
        self.noticed(comment.issue)

    def unsay(self, comment: Comment) -> None:
        """Deletes a comment with its replies."""
        gone = {comment.id} | {one.id for one in self.all_comments if one.parent is comment}
        self.all_comments = [one for one in self.all_comments if one.id not in gone]
        self.noticed(comment.issue)

    def find_reaction(self, thing: Comment | Issue, emoji: str, user: User) -> Reaction | None:
        return next((one for one in self.reactions_on(thing) if (one.emoji, one.user) == (emoji, user)), None)

    def reactions_on(self, thing: Comment | Issue) -> list[Reaction]:
        return [one for one in self.all_reactions if one.on.id == thing.id]

    def react(self, thing: Comment | Issue, emoji: str, user: User, wanted: str | None = None) -> Reaction:
        made = Reaction(**self.birth(wanted), on=thing, emoji=emoji, user=user)
        self.all_reactions.append(made)
        self.noticed(thing if isinstance(thing, Issue) else thing.issue)
        return made

    def find_attachment(self, issue: Issue, url: str) -> Attachment | None:
        return next((one for one in self.all_attachments if (one.issue.id, one.url) == (issue.id, url)), None)

    def attach(
        self, issue: Issue, url: str, title: str, by: User, *, wanted: str | None = None, **more: Any
    ) -> Attachment:
        """An attachment is identified by its URL on its issue."""
        found = self.find_attachment(issue, url)
        if found:
            self.touch(found)
        else:
            found = Attachment(**self.birth(wanted), issue=issue, url=url, title=title, creator=by)
            self.all_attachments.append(found)
        for name, value in {"title": title, **more}.items():
            setattr(found, name, value)
        self.noticed(issue)
        return found

    def tie(self, issue: Issue, kind: str, other: Issue, who: Who, wanted: str | None = None) -> Relation:
        """Adds a relation to the history. Linear does not document its kinds there: here they keep their names."""
        self.touch(issue)
        made = Relation(**self.birth(wanted), issue=issue, related=other, type=kind)
        self.relations.append(made)
        self.record(issue, who, {"relationChanges": [{"identifier": other.identifier, "type": kind}]})
        return made

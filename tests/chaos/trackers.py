"""Issues as people see them, on the stand-in GitHub or in the stand-in Linear, with the same deeds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.linear.world import LinearWorld

LABEL = "ai"
_PHASES = {f"{LABEL}:{phase}" for phase in ("queued", "working", "review", "asking")}
_GITHUB_MARK = re.compile(r"<!-- treehand:(?P<slug>\d+/[\w./%~+-]+) [0-9a-f]{64} -->")
_LINEAR_MARK = re.compile(r"#treehand:(?P<slug>[\w./%~+-]+):[0-9a-f]{64}")


@dataclass
class Said:
    """A comment by a person."""

    key: str
    """Issue, or branch of the pull request."""
    comment: str
    """Its id, as the ledger has it."""
    by: str
    text: str
    at: float
    repo: str
    gone: bool = False
    changed: bool = False
    place: str = ""
    """Empty: on the issue."""


def slug_in(body: str) -> str:
    """Slug of our last marker; empty if it is not by us."""
    found = [*_GITHUB_MARK.finditer(body), *_LINEAR_MARK.finditer(body)]
    return found[-1]["slug"].replace("%2F", "/") if found else ""


class GitHubIssues:
    """Keys are those of the first name of the repository."""

    def __init__(self, world: GitHubWorld, repo: str) -> None:
        self.world, self.repo, self._first = world, repo, repo

    def keys(self) -> set[str]:
        return {self._key(one.number) for one in self.world.repository(self.repo).issues.values() if not one.pull}

    def _key(self, number: int) -> str:
        return f"{self._first}#{number}"

    def _number(self, key: str) -> int:
        return int(key.rpartition("#")[2])

    def find(self, key: str):
        return self.world.repository(self.repo).issues.get(self._number(key))

    def open(self, title: str, *, by: str) -> str:
        return self._key(self.world.open_issue(self.repo, title, "Do it, please.", by=by, labels=[LABEL]).number)

    def label(self, key: str, name: str, *, by: str = "ana") -> None:
        self.world.label(self.repo, self._number(key), name, by=by)

    def unlabel(self, key: str, name: str, *, by: str = "ana") -> None:
        self.world.unlabel(self.repo, self._number(key), name, by=by)

    def close(self, key: str) -> None:
        self.world.close(self.repo, self._number(key))

    def reopen(self, key: str) -> None:
        self.world.reopen(self.repo, self._number(key))

    def edit(self, key: str, text: str, *, by: str) -> None:
        self.world.edit_issue(self.repo, self._number(key), body=text, by=by)

    def remove(self, key: str, random: Random) -> str:
        self.world.delete_issue(self.repo, self._number(key))
        return f"{key} deleted"

    def move(self, key: str, random: Random) -> str:
        if "acme/other" not in self.world.repositories:
            self.world.add_repository("acme/other", ana="write")
        return f"{key} to {self.world.transfer_issue(self.repo, self._number(key), 'acme/other').number}"

    def comment(self, key: str, text: str, *, by: str) -> str:
        return f"issue-{self.world.comment(self.repo, self._number(key), text, by=by).id}"

    def reply(self, key: str, text: str, *, by: str, random: Random) -> str:
        """There are no threads."""
        return self.comment(key, text, by=by)

    def edit_comment(self, comment: str, text: str, *, by: str) -> None:
        if int(comment.partition("-")[2]) not in self.world.repository(self.repo).comments:
            raise StopIteration
        self.world.edit_comment(self.repo, int(comment.partition("-")[2]), text, by=by)

    def delete_comment(self, comment: str) -> None:
        if int(comment.partition("-")[2]) not in self.world.repository(self.repo).comments:
            raise StopIteration
        self.world.delete_comment(self.repo, int(comment.partition("-")[2]))

    # What is seen

    def is_ours(self, key: str) -> bool:
        return self.find(key) is not None

    def is_open(self, key: str) -> bool:
        issue = self.find(key)
        return issue is not None and issue.state == "open"

    def labels(self, key: str) -> set[str]:
        return {label.name for label in self.find(key).labels}

    def bodies(self, key: str) -> Sequence[str]:
        number = self._number(key)
        return [one.body for one in self.world.repository(self.repo).comments.values() if one.number == number]


class LinearIssues:
    def __init__(self, world: LinearWorld, repo: str) -> None:
        self.world, self.repo = world, repo
        self._known: dict[str, str] = {}
        """Linear's id of an issue, by its first identifier."""

    def keys(self) -> set[str]:
        there = {one.id for one in self.world.issues}
        return {key for key, known in self._known.items() if known in there}

    def find(self, key: str):
        return next((one for one in self.world.issues if one.id == self._known.get(key)), None)

    def open(self, title: str, *, by: str) -> str:
        made = self.world.open_issue("ENG", title, "Do it, please.", by=by, labels=[LABEL])
        self._known[made.identifier] = made.id
        return made.identifier

    def label(self, key: str, name: str, *, by: str = "ana") -> None:
        self.world.label(self.find(key), name, by=by)

    def unlabel(self, key: str, name: str, *, by: str = "ana") -> None:
        self.world.unlabel(self.find(key), name, by=by)

    def close(self, key: str) -> None:
        self.world.move(self.find(key), "Canceled", by="ana")

    def reopen(self, key: str) -> None:
        if self.is_open(key):
            raise StopIteration
        if self.find(key).archived_at:
            self.world.unarchive(self.find(key), by="ana")
        self.world.move(self.find(key), "Todo", by="ana")

    def edit(self, key: str, text: str, *, by: str) -> None:
        self.world.edit(self.find(key), description=text, by=by)

    def remove(self, key: str, random: Random) -> str:
        how = random.choice(("archive", "trash", "delete"))
        if how == "delete":
            self.world.delete(self.find(key))
        else:
            getattr(self.world, how)(self.find(key), by="ana")
        return f"{key} {how}"

    def move(self, key: str, random: Random) -> str:
        where = random.choice(("OPS", "ENG", "In Progress", "Triage", "Todo"))
        if where in {"OPS", "ENG"}:
            if self.find(key).team.key == where:
                raise StopIteration
            self.world.move_team(self.find(key), where, by="ana")
        else:
            self.world.move(self.find(key), where, by="ana")
        return f"{key} to {where}"

    def comment(self, key: str, text: str, *, by: str) -> str:
        return self.world.comment(self.find(key), text, by=by)

    def reply(self, key: str, text: str, *, by: str, random: Random) -> str:
        firsts = [one for one in self.world.comments(self.find(key)) if one.parent is None]
        if not firsts:
            raise StopIteration
        return self.world.comment(self.find(key), text, by=by, parent=random.choice(firsts))

    def edit_comment(self, comment: str, text: str, *, by: str) -> None:
        """Only authors can."""
        if not any(one.id == comment for one in self.world.all_comments):
            raise StopIteration
        self.world.edit_comment(comment, text)

    def delete_comment(self, comment: str) -> None:
        if not any(one.id == comment for one in self.world.all_comments):
            raise StopIteration
        self.world.delete_comment(comment)

    # What is seen

    def is_ours(self, key: str) -> bool:
        """False in another team: nobody reads those."""
        return self.find(key).team.key == "ENG"

    def is_open(self, key: str) -> bool:
        issue = self.find(key)
        gone = issue is None or issue.archived_at or issue.trashed
        return not gone and issue.state.type not in {"completed", "canceled", "duplicate"}

    def labels(self, key: str) -> set[str]:
        return {
            label.name if not label.parent else f"{label.parent.name}:{label.name}" for label in self.find(key).labels
        }

    def bodies(self, key: str) -> Sequence[str]:
        return [one.body for one in self.world.comments(self.find(key))]


def phase_labels_in(labels: set[str]) -> set[str]:
    return labels & _PHASES

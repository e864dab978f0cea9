"""Pull requests: what people do with them, and what the bot reads and writes there."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.domain.comment import Comment, Place, Reaction, Remark
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.errors import NeedsHuman, Retryable
from bot.services.local.comments import Said, Talk
from bot.services.local.database import Book
from bot.services.local.hunks import hunk_at
from bot.services.local.input_rules import BOT, checked_comment, checked_name, checked_text, cleaned
from bot.services.local.repository import Repository
from bot.text.pull_request_body import body_with, closed_by


class Verdict(StrEnum):
    COMMENT = "comment"
    APPROVE = "approve"
    CHANGES = "request changes"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pull request with everything there is to see."""

    key: str
    pull: PullRequest
    base: str
    said: tuple[Said, ...] = ()
    diff: str = ""
    ended_by: str = ""
    merged_as: str = ""
    opened_at: float = 0.0


class Pulls:
    """Those of one project."""

    def __init__(self, book: Book, project: str, repository: Repository) -> None:
        self._book = book
        self._project = project
        self._talk = Talk(book)
        self.repository = repository

    # What people do. They may also name a pull request by the issue it closes.

    def listed(self, *, closed: bool = False) -> list[Proposal]:
        """Newest first; the open ones, or with `closed` all of them."""
        rows = self._book.rows(
            "SELECT * FROM pulls WHERE project = ? AND (? OR state = 'open') ORDER BY number DESC",
            self._project,
            closed,
        )
        tips = self.repository.tips()
        return [self._proposal(row, tips) for row in rows]

    def show(self, number: int) -> Proposal:
        row = self.found(number)
        shown = self._proposal(row, self.repository.tips())
        onto = row["merged_on"] or self.repository.tip(row["base"])
        return replace(
            shown,
            said=self._talk.everything(self._project, row["number"]),
            diff=self.repository.diff(onto, shown.pull.head),
        )

    def thread(self, number: int) -> Proposal:
        """Without its diff."""
        row = self.found(number)
        return replace(self._proposal(row, {}), said=self._talk.everything(self._project, row["number"]))

    def ends(self, number: int) -> tuple[str, str]:
        """What it is, or was, to be merged into, and what it offers."""
        row = self.found(number)
        onto, head = row["merged_on"] or self.repository.tip(row["base"]), self._proposal(row, {}).pull.head
        return self.repository.fork(onto, head), head

    def comment(self, number: int, text: str, *, by: str) -> str:
        """Its id."""
        text, by = checked_comment(text), checked_name(by)
        return self._talk.add(self._project, self.found(number)["number"], by=by, text=text)

    def review(
        self,
        number: int,
        text: str = "",
        *,
        by: str,
        verdict: Verdict = Verdict.COMMENT,
        remarks: Sequence[Remark] = (),
    ) -> str:
        """One comment with all its remarks. Its id."""
        text, by = checked_text(text), checked_name(by)
        if verdict is Verdict.CHANGES and not text.strip() and not remarks:
            raise NeedsHuman("Say which changes you want.")
        if verdict is Verdict.COMMENT and not remarks:
            checked_comment(text)
        shown = self.show(number)
        placed = [self._placed(remark, shown.diff) for remark in remarks]
        return self._talk.add(self._project, shown.pull.number, by=by, text=text, verdict=verdict, remarks=placed)

    def close(self, number: int, *, by: str) -> None:
        by = checked_name(by)
        row = self.found(number)
        if row["state"] == PullRequestState.MERGED:
            raise NeedsHuman(f"{self.key(row['number'])} is merged already.")
        head = self.repository.tip(row["branch"]) or row["head"]
        with self._book.changing():
            self._end(row["number"], by, head)

    def reopen(self, number: int, *, by: str) -> None:
        checked_name(by)
        row = self.found(number)
        key = self.key(row["number"])
        if row["state"] == PullRequestState.MERGED:
            raise NeedsHuman(f"{key} is merged already.")
        if not self.repository.tip(row["branch"]):
            raise NeedsHuman(f"The branch {row['branch']} is gone, so {key} cannot be opened again.")
        with self._book.changing():
            self._update(row["number"], state=PullRequestState.OPEN, ended_by="", ended_at=0.0)

    def ready(self, number: int, *, by: str) -> None:
        """No draft any more."""
        checked_name(by)
        row = self.found(number)
        with self._book.changing():
            self._update(row["number"], draft=0)

    def edit(self, number: int, body: str, *, by: str) -> None:
        checked_name(by)
        body = checked_text(body)
        row = self.found(number)
        with self._book.changing():
            self._update(row["number"], body=body)

    # What the bot reads and writes.

    def snapshot(
        self, branches: Collection[str], tips: Mapping[str, str]
    ) -> tuple[dict[str, PullRequest], dict[str, tuple[Comment, ...]]]:
        """The newest of each branch, and what people said there. As many queries for a thousand as for one."""
        rows = self._book.rows(
            "SELECT *, max(number) FROM pulls WHERE project = ?1 AND (branch IN (SELECT value FROM json_each(?2)) "
            "OR state = ?3) GROUP BY branch",
            self._project, json.dumps(list(branches)), PullRequestState.OPEN,
        )  # fmt: skip
        comments = self._talk.by_people(Place.PULL_REQUEST, self._project, [row["number"] for row in rows])
        pulls = {row["branch"]: self._proposal(row, tips).pull for row in rows}
        return pulls, {branch: comments[pull.number] for branch, pull in pulls.items()}

    def ensure_draft(self, branch: str, *, base: str, title: str, body: str, head: str) -> int:
        """Its number. The title is people's once it is open."""
        with self._book.changing():
            found = self._find_newest(branch)
            if found and found["state"] != PullRequestState.OPEN:
                raise Retryable(f"The pull request of {branch} has been closed or merged, and is the only one it gets.")
            if found:
                self._update(found["number"], body=body_with(cleaned(body), around=found["body"]), head=head)
                return int(found["number"])
            number = self._book.next_number(self._project)
            self._book.change(
                "INSERT INTO pulls (project, number, branch, base, title, body, author, head, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                self._project, number, branch, base, cleaned(title), body_with(cleaned(body)), BOT, head,
                self._book.clock(),
            )  # fmt: skip
            return number

    def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self._talk.ensure_ours(self._project, self._newest(branch)["number"], slug=slug, text=text, thread=thread)

    def ensure_reaction(self, branch: str, *, comment: str, reaction: Reaction) -> None:
        number = self._newest(branch)["number"]
        self._talk.ensure_reaction(self._project, number, comment=comment, reaction=reaction)

    def ensure_closed(self, branch: str, head: str) -> None:
        """Without its branch a pull request cannot stay open."""
        with self._book.changing():
            found = self._open_one(branch)
            if found:
                self._end(found["number"], BOT, head)

    def record_merge(self, number: int, *, by: str, head: str, commit: str, onto: str) -> None:
        """The last step of a merge: from here on it has happened, and the issues it closes are closed."""
        with self._book.changing():
            row = self.found(number)
            self._update(
                number, state=PullRequestState.MERGED, ended_by=by, ended_at=self._book.clock(), head=head,
                merged_as=commit, merged_on=onto,
            )  # fmt: skip
            for key in closed_by(row["body"]):
                project, _, issue = key.rpartition("#")
                if issue.isdigit() and project in {"", self._project}:
                    self._book.change(
                        "UPDATE issues SET open = 0 WHERE project = ? AND number = ?", self._project, int(issue)
                    )

    def found(self, number: int) -> sqlite3.Row:
        row = self._book.row("SELECT * FROM pulls WHERE project = ? AND number = ?", self._project, number)
        row = row or self._closing(number)
        if row is None:
            raise NeedsHuman(f"There is no pull request {self.key(number)}. `treehand pr list` shows those there are.")
        return row

    def key(self, number: int) -> str:
        return f"{self._project}#{number}"

    def _closing(self, issue: int) -> sqlite3.Row | None:
        """The newest pull request that closes the issue."""
        keys = {self.key(issue), f"#{issue}"}
        newest_first = self._book.rows("SELECT * FROM pulls WHERE project = ? ORDER BY number DESC", self._project)
        return next((row for row in newest_first if keys & set(closed_by(row["body"]))), None)

    def _find_newest(self, branch: str) -> sqlite3.Row | None:
        return self._book.row(
            "SELECT * FROM pulls WHERE project = ? AND branch = ? ORDER BY number DESC LIMIT 1", self._project, branch
        )

    def _newest(self, branch: str) -> sqlite3.Row:
        row = self._find_newest(branch)
        if row is None:
            raise NeedsHuman(f"There is no pull request of {branch}.")
        return row

    def _open_one(self, branch: str) -> sqlite3.Row | None:
        return self._book.row(
            "SELECT * FROM pulls WHERE project = ? AND branch = ? AND state = 'open'", self._project, branch
        )

    def _end(self, number: int, by: str, head: str) -> None:
        self._update(number, state=PullRequestState.CLOSED, ended_by=by, ended_at=self._book.clock(), head=head)

    def _update(self, number: int, **fields: str | float) -> None:
        columns = ", ".join(f"{name} = ?" for name in fields)
        sql = f"UPDATE pulls SET {columns} WHERE project = ? AND number = ?"  # noqa: S608 - names are ours
        self._book.change(sql, *fields.values(), self._project, number)

    def _placed(self, remark: Remark, diff: str) -> Remark:
        text = checked_comment(remark.text)
        return Remark(remark.path, remark.line, text, remark.hunk or hunk_at(diff, remark.path, remark.line))

    def _proposal(self, row: sqlite3.Row, tips: Mapping[str, str]) -> Proposal:
        state = PullRequestState(row["state"])
        tip = tips.get(row["branch"], "") if state is PullRequestState.OPEN else ""
        pull = PullRequest(
            number=row["number"],
            branch=row["branch"],
            title=row["title"],
            body=row["body"],
            state=state,
            draft=bool(row["draft"]),
            head=tip or row["head"],
            base=row["base"],
        )
        return Proposal(
            self.key(row["number"]), pull, row["base"], ended_by=row["ended_by"], merged_as=row["merged_as"],
            opened_at=row["created_at"],
        )  # fmt: skip

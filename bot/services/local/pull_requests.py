"""Local pull requests: people's actions, the bot's reads and writes, and the diff context of remarks."""

import json
import re
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, Retryable
from bot.services.local.comments import LocalComments, ShownComment
from bot.services.local.database import LocalDatabase
from bot.services.local.input_rules import BOT, check_comment, check_person, check_text, clean_text
from bot.services.local.repository import LocalRepository
from bot.text.pull_request_section import closed_issues, replace_section

CONTEXT_LINES = 8
"""Diff lines shown with a remark, up to the commented line."""

_START = re.compile(r"@@ -\S+ \+(\d+)")


class ReviewVerdict(StrEnum):
    COMMENT = "comment"
    APPROVE = "approve"
    CHANGES = "request changes"


@dataclass(frozen=True, slots=True)
class PullRequestPage:
    """A pull request with its comments and diff."""

    key: str
    pull: PullRequest
    base: str
    comments: tuple[ShownComment, ...] = ()
    diff: str = ""
    ended_by: str = ""
    merged_as: str = ""
    opened_at: float = 0.0


class LocalPullRequests:
    """Pull requests of one project."""

    def __init__(self, database: LocalDatabase, project: str, repository: LocalRepository) -> None:
        self._database = database
        self._project = project
        self._comments = LocalComments(database)
        self.repository = repository

    # People's actions. A pull request can also be named by the issue it closes.

    def list_pull_requests(self, *, closed: bool = False) -> list[PullRequestPage]:
        """Open pull requests, newest first; with `closed` all of them."""
        rows = self._database.rows(
            "SELECT * FROM pulls WHERE project = ? AND (? OR state = 'open') ORDER BY number DESC",
            self._project,
            closed,
        )
        tips = self.repository.our_tips()
        return [self._page(row, tips) for row in rows]

    def show(self, number: int) -> PullRequestPage:
        row = self.get_row(number)
        shown = self._page(row, self.repository.our_tips())
        comments = self._comments.list_all(self._project, row["number"])
        return replace(shown, comments=comments, diff=self._diff(row, shown))

    def diff(self, number: int, *, stat: bool = False) -> str:
        """`stat`: only the files, and the number of changed lines."""
        row = self.get_row(number)
        return self._diff(row, self._page(row, self.repository.our_tips()), stat=stat)

    def _diff(self, row: sqlite3.Row, page: PullRequestPage, *, stat: bool = False) -> str:
        return self.repository.diff(row["merged_on"] or self.repository.tip(row["base"]), page.pull.head, stat=stat)

    def thread(self, number: int) -> PullRequestPage:
        """Without the diff."""
        row = self.get_row(number)
        return replace(self._page(row, {}), comments=self._comments.list_all(self._project, row["number"]))

    def base_and_head(self, number: int) -> tuple[str, str]:
        """Returns the merge base with the target branch, and the head."""
        row = self.get_row(number)
        onto, head = row["merged_on"] or self.repository.tip(row["base"]), self._page(row, {}).pull.head
        return self.repository.merge_base(onto, head), head

    def comment(self, number: int, text: str, *, by: str) -> str:
        """Its id."""
        text, by = check_comment(text), check_person(by)
        return self._comments.add(self._project, self.get_row(number)["number"], by=by, text=text)

    def review(
        self,
        number: int,
        text: str = "",
        *,
        by: str,
        verdict: ReviewVerdict = ReviewVerdict.COMMENT,
        remarks: Sequence[Remark] = (),
    ) -> str:
        """Adds one comment with all remarks. Returns its id."""
        text, by = check_text(text), check_person(by)
        if verdict is ReviewVerdict.CHANGES and not text.strip() and not remarks:
            raise NeedsHuman("Describe the changes that you request.")
        if verdict is ReviewVerdict.COMMENT and not remarks:
            check_comment(text)
        shown = self.show(number)
        placed = [self._add_diff_context(remark, shown) for remark in remarks]
        return self._comments.add(self._project, shown.pull.number, by=by, text=text, verdict=verdict, remarks=placed)

    def close(self, number: int, *, by: str) -> None:
        by = check_person(by)
        row = self.get_row(number)
        if row["state"] == PullRequestState.MERGED:
            raise NeedsHuman(f"{self.key(row['number'])} is merged already.")
        head = self.repository.tip(row["branch"]) or row["head"]
        with self._database.transaction():
            self._set_ended(row["number"], by, head)

    def reopen(self, number: int, *, by: str) -> None:
        check_person(by)
        row = self.get_row(number)
        key = self.key(row["number"])
        if row["state"] == PullRequestState.MERGED:
            raise NeedsHuman(f"{key} is merged already.")
        if not self.repository.tip(row["branch"]):
            raise NeedsHuman(f"The branch {row['branch']} no longer exists, so {key} cannot be reopened.")
        with self._database.transaction():
            self._update(row["number"], state=PullRequestState.OPEN, ended_by="", ended_at=0.0)

    def mark_ready(self, number: int, *, by: str) -> None:
        """Marks it as no longer a draft."""
        check_person(by)
        row = self.get_row(number)
        with self._database.transaction():
            self._update(row["number"], draft=0)

    def edit(self, number: int, body: str, *, by: str) -> None:
        check_person(by)
        body = check_text(body)
        row = self.get_row(number)
        with self._database.transaction():
            self._update(row["number"], body=body)

    # The bot's reads and writes

    def snapshot(
        self, branches: Collection[str], tips: Mapping[str, str]
    ) -> tuple[dict[str, PullRequest], dict[str, tuple[Comment, ...]]]:
        """The newest pull request of each branch with people's comments, in a constant number of queries."""
        rows = self._database.rows(
            "SELECT *, max(number) FROM pulls WHERE project = ?1 AND (branch IN (SELECT value FROM json_each(?2)) "
            "OR state = ?3) GROUP BY branch",
            self._project, json.dumps(list(branches)), PullRequestState.OPEN,
        )  # fmt: skip
        comments = self._comments.list_by_people(
            CommentPlace.PULL_REQUEST, self._project, [row["number"] for row in rows]
        )
        pulls = {row["branch"]: self._page(row, tips).pull for row in rows}
        return pulls, {branch: comments[pull.number] for branch, pull in pulls.items()}

    def ensure_draft(self, branch: str, *, base: str, title: str, body: str, head: str) -> int:
        """Returns its number. Does not change the title of an open pull request."""
        with self._database.transaction():
            found = self._find_newest(branch)
            if found and found["state"] != PullRequestState.OPEN:
                raise Retryable(f"The pull request of {branch} has been closed or merged; a branch gets only one.")
            if found:
                self._update(found["number"], body=replace_section(clean_text(body), around=found["body"]), head=head)
                return int(found["number"])
            number = self._database.next_number(self._project)
            self._database.change(
                "INSERT INTO pulls (project, number, branch, base, title, body, author, head, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                self._project, number, branch, base, clean_text(title), replace_section(clean_text(body)), BOT, head,
                self._database.clock(),
            )  # fmt: skip
            return number

    def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self._comments.ensure_ours(self._project, self._newest(branch)["number"], slug=slug, text=text, thread=thread)

    def ensure_reaction(self, branch: str, *, comment: str, reaction: Reaction) -> None:
        number = self._newest(branch)["number"]
        self._comments.ensure_reaction(self._project, number, comment=comment, reaction=reaction)

    def ensure_closed(self, branch: str, head: str) -> None:
        """Closes the pull request of a removed branch."""
        with self._database.transaction():
            found = self._find_open(branch)
            if found:
                self._set_ended(found["number"], BOT, head)

    def record_merge(self, number: int, *, by: str, head: str, commit: str, onto: str) -> None:
        """Last step of a merge: marks it merged and closes its issues."""
        with self._database.transaction():
            row = self.get_row(number)
            self._update(
                number, state=PullRequestState.MERGED, ended_by=by, ended_at=self._database.clock(), head=head,
                merged_as=commit, merged_on=onto,
            )  # fmt: skip
            for key in closed_issues(row["body"]):
                project, _, issue = key.rpartition("#")
                if issue.isdigit() and project in {"", self._project}:
                    self._database.change(
                        "UPDATE issues SET open = 0 WHERE project = ? AND number = ?", self._project, int(issue)
                    )

    def get_row(self, number: int) -> sqlite3.Row:
        row = self._database.row("SELECT * FROM pulls WHERE project = ? AND number = ?", self._project, number)
        row = row or self._find_closing(number)
        if row is None:
            raise NeedsHuman(f"There is no pull request {self.key(number)}. `treehand pr list` shows the open ones.")
        return row

    def key(self, number: int) -> str:
        return f"{self._project}#{number}"

    def _find_closing(self, issue: int) -> sqlite3.Row | None:
        """The newest pull request that closes the issue."""
        keys = {self.key(issue), f"#{issue}"}
        newest_first = self._database.rows("SELECT * FROM pulls WHERE project = ? ORDER BY number DESC", self._project)
        return next((row for row in newest_first if keys & set(closed_issues(row["body"]))), None)

    def _find_newest(self, branch: str) -> sqlite3.Row | None:
        return self._database.row(
            "SELECT * FROM pulls WHERE project = ? AND branch = ? ORDER BY number DESC LIMIT 1", self._project, branch
        )

    def _newest(self, branch: str) -> sqlite3.Row:
        row = self._find_newest(branch)
        if row is None:
            raise NeedsHuman(f"There is no pull request of {branch}.")
        return row

    def _find_open(self, branch: str) -> sqlite3.Row | None:
        return self._database.row(
            "SELECT * FROM pulls WHERE project = ? AND branch = ? AND state = 'open'", self._project, branch
        )

    def _set_ended(self, number: int, by: str, head: str) -> None:
        self._update(number, state=PullRequestState.CLOSED, ended_by=by, ended_at=self._database.clock(), head=head)

    def _update(self, number: int, **fields: str | float) -> None:
        columns = ", ".join(f"{name} = ?" for name in fields)
        sql = f"UPDATE pulls SET {columns} WHERE project = ? AND number = ?"  # noqa: S608 - names are ours
        self._database.change(sql, *fields.values(), self._project, number)

    def _add_diff_context(self, remark: Remark, shown: PullRequestPage) -> Remark:
        text, hunk = check_comment(remark.text), remark.hunk or hunk_at(shown.diff, remark.path, remark.line)
        if not hunk:
            self._ensure_line(remark, shown.pull.head)
        return Remark(remark.path, remark.line, text, hunk)

    def _ensure_line(self, remark: Remark, head: str) -> None:
        """Raises NeedsHuman if the line does not exist: the remark would only pay an agent."""
        lines = self.repository.count_lines(head, remark.path)
        if lines is None:
            raise NeedsHuman(f"{remark.path} is removed in this pull request, so it has no lines to comment on.")
        if not 1 <= remark.line <= lines:
            known = "1 line" if lines == 1 else f"{lines} lines"
            raise NeedsHuman(f"{remark.path} has {known} in this pull request, so there is no line {remark.line}.")

    def _page(self, row: sqlite3.Row, tips: Mapping[str, str]) -> PullRequestPage:
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
        return PullRequestPage(
            self.key(row["number"]), pull, row["base"], ended_by=row["ended_by"], merged_as=row["merged_as"],
            opened_at=row["created_at"],
        )  # fmt: skip


def hunk_at(diff: str, path: str, line: int) -> str:
    """Returns the diff lines up to a line of the new file; empty if the diff does not contain it."""
    for hunk in _hunks(diff, path):
        shown: list[str] = []
        match = _START.match(hunk[0])
        number = int(match[1]) - 1 if match else 0
        for text in hunk[1:]:
            shown.append(text)
            number += not text.startswith(("-", "\\"))
            if number == line and not text.startswith("-"):
                return "\n".join([hunk[0], *shown[-CONTEXT_LINES:]])
    return ""


def _hunks(diff: str, path: str) -> list[list[str]]:
    files = re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]
    mine = next((part for part in files if f"\n+++ b/{path}\n" in part or f"\n--- a/{path}\n" in part), None)
    if mine is None:
        raise NeedsHuman(f"{path} is not changed in this pull request.")
    hunks: list[list[str]] = []
    for text in mine.splitlines():
        if _START.match(text):
            hunks.append([])
        if hunks:
            hunks[-1].append(text)
    return hunks

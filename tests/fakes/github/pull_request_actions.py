"""Actions of people on branches and pull requests: pushes, reviews, the three merges and their effects."""

import re
from collections.abc import Iterable, Mapping

from tests.fakes.github import gits
from tests.fakes.github.issue_actions import OnIssues, said
from tests.fakes.github.model import Inline, Issue, Pull, Repository, Review
from tests.fakes.github.state import Impossible, deed

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+/[\w.-]+))?#(\d+)", re.IGNORECASE)
_SKIPS_CI = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|\n\n\nskip-checks: ?true\s*$")
Remarked = tuple[str, int, str]


class NotMergeable(Exception):
    """GitHub responds 405 with this message."""


class OnPulls(OnIssues):
    # Branches.

    @deed
    def push(
        self, repo: str, branch: str, files: Mapping[str, str | None], *, by: str = "ana", message: str = ""
    ) -> str:
        home = self.repository(repo)
        before = gits.refs(home.path)
        sha = gits.commit_files(home.path, branch, files, message or "Change things", by)
        self.refs_moved(home, before, by=by)
        return sha

    @deed
    def force_push(self, repo: str, branch: str, sha: str, *, by: str = "ana") -> None:
        home = self.repository(repo)
        before = gits.refs(home.path)
        gits.git(home.path, "update-ref", f"refs/heads/{branch}", sha)
        self.refs_moved(home, before, by=by)

    @deed
    def delete_branch(self, repo: str, branch: str, *, by: str = "ana") -> None:
        home = self.repository(repo)
        before = gits.refs(home.path)
        if f"refs/heads/{branch}" not in before:
            raise Impossible("Reference does not exist")
        gits.git(home.path, "update-ref", "-d", f"refs/heads/{branch}")
        self.refs_moved(home, before, by=by)

    def tip(self, repo: str, branch: str) -> str | None:
        return gits.tip(self.repository(repo).path, branch)

    @deed
    def refs_moved(self, home: Repository, before: Mapping[str, str], *, by: str) -> None:
        """Updates pull requests after their branches were moved."""
        after = gits.refs(home.path)
        moved = {ref.removeprefix("refs/heads/") for ref in before.keys() | after if before.get(ref) != after.get(ref)}
        if not moved:
            return
        home.pushed_at = self.now
        self.version += 1
        home.workflows += [sha for ref in sorted(moved) if (sha := self._starts_workflows(home, after, ref))]
        for issue in [i for i in home.issues.values() if i.pull and i.state == "open"]:
            if issue.pull.head_ref in moved and not issue.pull.fork:
                self._head_moved(home, issue, after.get(f"refs/heads/{issue.pull.head_ref}"), by)
            if issue.pull.base_ref in moved and issue.state == "open":
                self._base_moved(home, issue, after.get(f"refs/heads/{issue.pull.base_ref}"), by)

    def _starts_workflows(self, home: Repository, after: Mapping[str, str], branch: str) -> str:
        """Returns the commit whose workflows on push and pull_request start; empty if its message skips them.

        https://docs.github.com/actions/managing-workflow-runs-and-deployments/managing-workflow-runs/skipping-workflow-runs
        """
        sha = after.get(f"refs/heads/{branch}", "")
        message = gits.git(home.path, "show", "--no-patch", "--format=%B", sha) if sha else ""
        return "" if _SKIPS_CI.search(message) else sha

    def _head_moved(self, home: Repository, issue: Issue, sha: str | None, by: str) -> None:
        if sha is None:
            self.happened(issue, "head_ref_deleted", self.user(by))
            self.close(home.full_name, issue.number, by=by)
            return
        self.touch(issue)
        if not gits.is_ancestor(home.path, issue.pull.head, sha):
            self.happened(issue, "head_ref_force_pushed", self.user(by))
        issue.pull.head = sha
        issue.pull.base = gits.tip(home.path, issue.pull.base_ref) or issue.pull.base
        gits.git(home.path, "update-ref", f"refs/pull/{issue.number}/head", sha)

    def _base_moved(self, home: Repository, issue: Issue, sha: str | None, by: str) -> None:
        """Closes pull requests whose base is removed; marks those as merged whose commits the base contains."""
        if sha is None:
            self.close(home.full_name, issue.number, by=by)
        elif gits.is_ancestor(home.path, issue.pull.head, sha):
            self._merged(home, issue, sha, by)

    # Pull requests.

    @deed
    def open_pull(
        self,
        repo: str,
        title: str,
        body: str = "",
        *,
        head: str,
        base: str = "main",
        by: str = "ana",
        draft: bool = False,
    ) -> Issue:
        home = self.repository(repo)
        head_sha, base_sha = gits.tip(home.path, head), gits.tip(home.path, base)
        if not head_sha or not base_sha:
            raise Impossible(f"{'base' if head_sha else 'head'}: invalid")
        if any((i.pull.fork, i.pull.head_ref, i.pull.base_ref) == (None, head, base) for i in self._open_pulls(home)):
            raise Impossible(f"A pull request already exists for {home.owner.login}:{head}.")
        if draft and not home.drafts:
            raise Impossible("Draft pull requests are not supported in this repository.")
        if gits.is_ancestor(home.path, head_sha, base_sha):
            raise Impossible(f"No commits between {base} and {head}")
        issue = self._begin(home, title, body, self.user(by))
        issue.pull = Pull(self.new_id(), head, base, head_sha, base_sha, draft)
        gits.git(home.path, "update-ref", f"refs/pull/{issue.number}/head", head_sha)
        return issue

    @deed
    def open_pull_from_fork(
        self, repo: str, title: str, *, by: str, head: str, files: Mapping[str, str | None], base: str = "main"
    ) -> Issue:
        """Opens a pull request from a fork, from a branch of any name."""
        home, owner = self.repository(repo), self.user(by)
        sha = gits.commit_on(home.path, base, files, "Change things", by)
        fork = Repository(id=self.new_id(), owner=owner, name=home.name, path=home.path, created_at=self.now)
        issue = self._begin(home, title, "", owner)
        issue.pull = Pull(self.new_id(), head, base, sha, gits.tip(home.path, base) or "", fork=fork)
        gits.git(home.path, "update-ref", f"refs/pull/{issue.number}/head", sha)
        return issue

    def _open_pulls(self, home: Repository) -> list[Issue]:
        return [issue for issue in home.issues.values() if issue.pull and issue.state == "open"]

    @deed
    def ready(self, repo: str, number: int, *, by: str = "ana", draft: bool = False) -> None:
        issue = self.pull(repo, number)
        if issue.pull.draft is not draft:
            self.touch(issue)
            issue.pull.draft = draft
            self.happened(issue, "convert_to_draft" if draft else "ready_for_review", self.user(by))

    @deed
    def retarget(self, repo: str, number: int, base: str, *, by: str = "ana") -> None:
        home, issue = self.repository(repo), self.pull(repo, number)
        sha = gits.tip(home.path, base)
        if not sha:
            raise Impossible("base: invalid")
        self.touch(issue)
        issue.pull.base_ref, issue.pull.base = base, sha
        self.happened(issue, "base_ref_changed", self.user(by))

    def conflicts(self, home: Repository, issue: Issue) -> bool:
        base = self.refs(home).get(f"refs/heads/{issue.pull.base_ref}")
        key = (home.id, base, issue.pull.head)
        if key not in self.mergeable:
            self.mergeable[key] = base is not None and gits.can_merge(home.path, base, issue.pull.head)
        return not self.mergeable[key]

    mergeable: dict[tuple, bool] = {}  # noqa: RUF012 - what git said of two commits holds for ever

    @deed
    def merge(self, repo: str, number: int, how: str = "merge", *, by: str = "ana", readying: bool = True) -> str:
        """Merges; a person who merges a draft first marks it as ready."""
        home, issue = self.repository(repo), self.pull(repo, number)
        if readying:
            self.ready(repo, number, by=by)
        if issue.pull.draft:
            raise NotMergeable("Pull Request is still a draft")
        if issue.state != "open":
            raise NotMergeable("Pull Request is not mergeable")
        base = gits.tip(home.path, issue.pull.base_ref) or ""
        source = f"{issue.pull.source(home).owner.login}/{issue.pull.head_ref}"
        title = f"Merge pull request #{number} from {source}\n\n{issue.title}"
        message = f"{issue.title} (#{number})" if how == "squash" else title
        try:
            sha = gits.merge(home.path, how=how, base=base, head=issue.pull.head, message=message, who=by)
        except gits.Conflict as problem:
            raise NotMergeable("Pull Request is not mergeable") from problem
        before = gits.refs(home.path)
        gits.git(home.path, "update-ref", f"refs/heads/{issue.pull.base_ref}", sha)
        self._merged(home, issue, sha, by)
        self.refs_moved(home, before, by=by)
        return sha

    def _merged(self, home: Repository, issue: Issue, sha: str, by: str) -> None:
        self.touch(issue)
        issue.pull.merged_at, issue.pull.merged_by, issue.pull.merge_commit = self.now, self.user(by), sha
        self.happened(issue, "merged", self.user(by))
        self.close(home.full_name, issue.number, by=by)
        if issue.pull.base_ref == home.default_branch:
            for name, number in _CLOSES.findall(issue.body):
                if name.lower() in {"", home.full_name.lower()} and int(number) in home.issues:
                    self.close(home.full_name, int(number), by=by)

    # Reviews.

    @deed
    def review(
        self, repo: str, number: int, *, by: str = "ana", state: str = "COMMENTED", body: str = "",
        remarks: Iterable[Remarked] = (), commit: str = "",
    ) -> Review:  # fmt: skip
        """Adds a review with its remarks (path, line, text); PENDING until it is submitted."""
        home, issue = self.repository(repo), self.pull(repo, number)
        if self.user(by) is issue.author and state in {"APPROVED", "CHANGES_REQUESTED"}:
            verb = "approve" if state == "APPROVED" else "request changes on"
            raise Impossible(f"Can not {verb} your own pull request", plain=True)
        made = Review(
            id=self.new_id(), number=number, author=self.user(by), body=said(body), state=state,
            commit=commit or issue.pull.head, created_at=self.now, updated_at=self.now, changed_at=self.now,
            submitted_at=None if state == "PENDING" else self.now,
        )  # fmt: skip
        home.reviews[made.id] = made
        for path, line, text in remarks:
            self._remark(home, issue, made, path, line, text)
        if state != "PENDING":
            self.touch(issue)
        return made

    @deed
    def submit(self, repo: str, review: int, *, state: str = "COMMENTED", body: str = "") -> Review:
        home = self.repository(repo)
        made = home.reviews[review]
        self.touch(made)
        made.state, made.submitted_at, made.body = state, self.now, body or made.body
        for inline in [inline for inline in home.inlines.values() if inline.review == review]:
            self.touch(inline)
            inline.created_at = self.now
        self.touch(home.issues[made.number])
        return made

    @deed
    def remark(self, repo: str, number: int, path: str, line: int, text: str, *, by: str = "ana") -> Inline:
        """Adds a single comment on a line: GitHub makes a separate review around it."""
        review = self.review(repo, number, by=by, remarks=[(path, line, text)])
        return next(i for i in self.repository(repo).inlines.values() if i.review == review.id)

    def _remark(self, home: Repository, issue: Issue, review: Review, path: str, line: int, text: str) -> Inline:
        found = gits.hunk_up_to(home.path, issue.pull.base, issue.pull.head, path, line)
        if found is None:
            raise Impossible("pull_request_review_thread.line must be part of the diff", plain=True)
        made = Inline(
            id=self.new_id(), number=issue.number, author=review.author, body=said(text), review=review.id, path=path,
            line=line, commit=review.commit, hunk=found[0], position=found[1], created_at=self.now,
            updated_at=self.now, changed_at=self.now,
        )  # fmt: skip
        home.inlines[made.id] = made
        return made

    @deed
    def reply(self, repo: str, inline: int, text: str, *, by: str = "ana") -> Inline:
        """Replies in the thread, in a separate review, as on GitHub."""
        home = self.repository(repo)
        first = home.inlines[inline]
        first = home.inlines[first.in_reply_to] if first.in_reply_to else first
        review = self.review(repo, first.number, by=by)
        made = first.frozen()
        made.id, made.author, made.body, made.review = self.new_id(), self.user(by), said(text), review.id
        made.in_reply_to, made.reactions, made.edits, made.settled = first.id, [], [], None
        made.created_at = made.updated_at = made.changed_at = self.now
        home.inlines[made.id] = made
        return made

"""JSON of pull requests, reviews and checks."""

from tests.fakes.github import gits
from tests.fakes.github.as_json import Json, Shapes, node_id, when
from tests.fakes.github.model import Check, Inline, Issue, Repository, Review, Status, User, iso

_GITHUB = User(9919, "github", "Organization")


class PullShapes(Shapes):
    def pull(self, home: Repository, issue: Issue, level: str) -> Json:
        """JSON as in lists."""
        pull = issue.pull
        assert pull
        root, page = self.repo_url(home), f"{self.site}/{home.full_name}/pull/{issue.number}"
        url, about = f"{root}/pulls/{issue.number}", f"{root}/issues/{issue.number}"
        links = {
            "self": url, "html": page, "issue": about, "comments": f"{about}/comments",
            "review_comments": f"{url}/comments", "review_comment": f"{root}/pulls/comments{{/number}}",
            "commits": f"{url}/commits", "statuses": f"{root}/statuses/{pull.head}",
        }  # fmt: skip
        urls = {f"{name}_url": links[name] for name in ("html", "issue", "comments", "review_comment", "commits")}
        return urls | {
            "url": url, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "statuses_url": links["statuses"],
            "review_comments_url": links["review_comments"], "id": pull.id, "node_id": node_id("PR", issue.id),
            "number": issue.number, "state": issue.state, "locked": issue.locked, "title": issue.title,
            "user": self.user(issue.author), "body": issue.body or None, "created_at": iso(issue.created_at),
            "labels": [self.label(home, label) for label in issue.labels], "updated_at": iso(issue.updated_at),
            "closed_at": when(issue.closed_at), "merged_at": when(pull.merged_at),
            "merge_commit_sha": pull.merge_commit, "assignee": None, "assignees": [], "requested_reviewers": [],
            "requested_teams": [], "milestone": None, "draft": pull.draft, "auto_merge": None,
            "head": self._side(pull.source(home), pull.head_ref, pull.head, level),
            "base": self._side(home, pull.base_ref, pull.base, level),
            "_links": {name: {"href": link} for name, link in links.items()},
            "author_association": self.association(home, issue.author), "active_lock_reason": None,
        }  # fmt: skip

    def _side(self, home: Repository, ref: str, sha: str, level: str) -> Json:
        return {
            "label": f"{home.owner.login}:{ref}", "ref": ref, "sha": sha, "user": self.user(home.owner),
            "repo": self.repository(home, level),
        }  # fmt: skip

    def whole_pull(self, home: Repository, issue: Issue, level: str, *, conflicts: bool) -> Json:
        """JSON as for a single one. After merging or closing, `mergeable` is unknown."""
        pull = issue.pull
        assert pull
        added, gone, files = gits.numbers_of(home.path, pull.base, pull.head)
        closed = issue.state == "closed"
        state = "unknown" if closed else "dirty" if conflicts else "draft" if pull.draft else "clean"
        inlines = [inline for inline in home.inlines.values() if inline.number == issue.number]
        return self.pull(home, issue, level) | {
            "merged": pull.merged_at is not None, "merged_by": self.user(pull.merged_by),
            "mergeable": None if closed else not conflicts, "rebaseable": None if closed else not conflicts,
            "mergeable_state": state, "comments": issue.comments,
            "review_comments": len(inlines), "maintainer_can_modify": False,
            "commits": len(gits.commits_between(home.path, pull.base, pull.head)),
            "additions": added, "deletions": gone, "changed_files": files,
        }  # fmt: skip

    def review(self, home: Repository, review: Review) -> Json:
        url = f"{self.repo_url(home)}/pulls/{review.number}"
        page = f"{self.site}/{home.full_name}/pull/{review.number}#pullrequestreview-{review.id}"
        shape = {
            "id": review.id, "node_id": node_id("PRR", review.id), "user": self.user(review.author),
            "body": review.body, "state": review.state, "html_url": page, "pull_request_url": url,
            "_links": {"html": {"href": page}, "pull_request": {"href": url}}, "commit_id": review.commit,
            "author_association": self.association(home, review.author),
        }  # fmt: skip
        return shape if review.submitted_at is None else shape | {"submitted_at": iso(review.submitted_at)}

    def inline(self, home: Repository, inline: Inline) -> Json:
        url = f"{self.repo_url(home)}/pulls/comments/{inline.id}"
        pull = f"{self.repo_url(home)}/pulls/{inline.number}"
        page = f"{self.site}/{home.full_name}/pull/{inline.number}#discussion_r{inline.id}"
        current = home.issues[inline.number].pull
        stale = current is not None and current.head != inline.commit and self._outdated(home, inline, current.head)
        shape = {
            "url": url, "id": inline.id, "node_id": node_id("PRRC", inline.id), "pull_request_review_id": inline.review,
            "diff_hunk": inline.hunk, "path": inline.path, "commit_id": inline.commit if stale else current.head,
            "original_commit_id": inline.commit, "user": self.user(inline.author), "body": inline.body,
            "created_at": iso(inline.created_at), "updated_at": iso(inline.updated_at), "html_url": page,
            "pull_request_url": pull, "author_association": self.association(home, inline.author),
            "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull}},
            "reactions": self.rollup(url, inline), "start_line": None, "original_start_line": None,
            "start_side": None, "line": None if stale else inline.line, "original_line": inline.line, "side": "RIGHT",
            "position": None if stale else inline.position, "original_position": inline.position,
            "subject_type": "line",
        }  # fmt: skip
        return shape | ({"in_reply_to_id": inline.in_reply_to} if inline.in_reply_to else {})

    def _outdated(self, home: Repository, inline: Inline, head: str) -> bool:
        """Returns True for a remark on a file that was changed since: it has no line any more."""
        return gits.differs(home.path, inline.commit, head, inline.path)

    def check(self, home: Repository, check: Check) -> Json:
        url = f"{self.repo_url(home)}/check-runs/{check.id}"
        run = f"{self.site}/{home.full_name}/actions/runs/{check.suite}/job/{check.id}"
        page = run if check.log is not None else f"{self.site}/{home.full_name}/runs/{check.id}"
        return {
            "id": check.id, "node_id": node_id("CR", check.id), "head_sha": check.sha, "name": check.name, "url": url,
            "html_url": page, "details_url": page, "status": check.status, "conclusion": check.conclusion,
            "started_at": iso(check.started_at), "completed_at": when(check.completed_at), "external_id": "",
            "check_suite": {"id": check.suite}, "app": self._ci(actions=check.log is not None), "pull_requests": [],
            "output": {
                "title": check.title or None, "summary": check.summary or None, "text": None,
                "annotations_count": len(check.annotations), "annotations_url": f"{url}/annotations",
            },
        }  # fmt: skip

    def workflow_run(self, home: Repository, check: Check) -> Json:
        root, page = self.repo_url(home), f"{self.site}/{home.full_name}/actions/runs/{check.suite}"
        url, small = f"{root}/actions/runs/{check.suite}", self.small_repository(home)
        return {
            "id": check.suite, "node_id": node_id("WFR", check.suite), "name": "CI", "head_branch": None,
            "run_number": 1, "display_title": "CI", "event": "push", "status": check.status,
            "conclusion": check.conclusion, "head_sha": check.sha, "path": ".github/workflows/ci.yml",
            "workflow_id": 1, "url": url, "html_url": page, "created_at": iso(check.started_at),
            "updated_at": iso(check.started_at), "head_commit": None, "head_repository": small, "repository": small,
            "jobs_url": f"{url}/jobs", "logs_url": f"{url}/logs", "check_suite_url": f"{root}/check-suites/1",
            "cancel_url": f"{url}/cancel", "rerun_url": f"{url}/rerun", "artifacts_url": f"{url}/artifacts",
            "workflow_url": f"{root}/actions/workflows/1", "pull_requests": [],
        }  # fmt: skip

    def job(self, home: Repository, check: Check) -> Json:
        root, shape = self.repo_url(home), self.check(home, check)
        names = ("id", "node_id", "head_sha", "name", "html_url", "status", "conclusion", "started_at", "completed_at")
        return {name: shape[name] for name in names} | {
            "run_id": check.suite, "run_url": f"{root}/actions/runs/{check.suite}", "workflow_name": "CI",
            "head_branch": None, "url": f"{root}/actions/jobs/{check.id}", "check_run_url": shape["url"], "labels": [],
            "runner_id": None, "runner_name": None, "runner_group_id": None, "runner_group_name": None,
            "created_at": iso(check.started_at),
        }  # fmt: skip

    def _ci(self, *, actions: bool) -> Json:
        slug = "github-actions" if actions else "other-ci"
        return {
            "id": 15368 if actions else 99, "slug": slug, "node_id": f"A_{slug}", "name": slug,
            "owner": self.user(_GITHUB), "description": None, "external_url": "https://example.com",
            "html_url": f"{self.site}/apps/{slug}", "created_at": iso(0), "updated_at": iso(0),
            "permissions": {"checks": "write"}, "events": [],
        }  # fmt: skip

    def annotation(self, home: Repository, path: str, line: int, message: str) -> Json:
        return {
            "path": path, "blob_href": f"{self.site}/{home.full_name}/blob/main/{path}", "start_line": line,
            "end_line": line, "start_column": None, "end_column": None, "annotation_level": "failure",
            "title": None, "message": message, "raw_details": None,
        }  # fmt: skip

    def status(self, home: Repository, status: Status) -> Json:
        return {
            "url": f"{self.repo_url(home)}/statuses/{status.sha}", "id": status.id, "avatar_url": None,
            "node_id": node_id("SC", status.id), "state": status.state, "description": status.description,
            "target_url": status.target_url, "context": status.context, "created_at": iso(status.at),
            "updated_at": iso(status.at),
        }  # fmt: skip

    def commit(self, home: Repository, sha: str) -> Json:
        url, who = f"{self.repo_url(home)}/commits/{sha}", gits.author_of(home.path, sha)
        parents = gits.parents_of(home.path, sha)
        signed = {"name": who, "email": f"{who}@example.com", "date": iso(home.created_at)}
        tree = {"sha": gits.git(home.path, "rev-parse", f"{sha}^{{tree}}"), "url": url}
        unverified = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
        return {
            "url": url, "sha": sha, "node_id": f"C_{sha}", "html_url": url, "comments_url": f"{url}/comments",
            "commit": {
                "url": url, "author": signed, "committer": signed, "message": gits.message_of(home.path, sha),
                "comment_count": 0, "tree": tree, "verification": unverified,
            },
            "author": None, "committer": None,
            "parents": [{"sha": one, "url": url, "html_url": url} for one in parents],
        }  # fmt: skip

    def file(self, home: Repository, head: str, state: str, name: str) -> Json:
        states = {"A": "added", "D": "removed", "M": "modified"}
        url = f"{self.site}/{home.full_name}/raw/{head}/{name}"
        return {
            "sha": head, "filename": name, "status": states.get(state[:1], "changed"), "additions": 0, "deletions": 0,
            "changes": 0, "blob_url": url, "raw_url": url, "contents_url": url,
        }  # fmt: skip

    def ref(self, home: Repository, name: str, sha: str) -> Json:
        url = self.repo_url(home)
        return {
            "ref": name, "node_id": f"REF_{name}", "url": f"{url}/git/{name}",
            "object": {"sha": sha, "type": "commit", "url": f"{url}/git/commits/{sha}"},
        }  # fmt: skip

"""JSON of people, repositories, issues and comments."""

from typing import Any
from urllib.parse import quote

from tests.fakes.github.model import (
    Comment,
    Event,
    Issue,
    Label,
    Lasting,
    Reaction,
    Repository,
    User,
    at_least,
    iso,
)

Json = dict[str, Any]
KINDS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")

_LINKS = [
    "archive_url",
    "assignees_url",
    "blobs_url",
    "branches_url",
    "collaborators_url",
    "comments_url",
    "commits_url",
    "compare_url",
    "contents_url",
    "contributors_url",
    "deployments_url",
    "downloads_url",
    "events_url",
    "forks_url",
    "git_commits_url",
    "git_refs_url",
    "git_tags_url",
    "hooks_url",
    "issue_comment_url",
    "issue_events_url",
    "issues_url",
    "keys_url",
    "labels_url",
    "languages_url",
    "merges_url",
    "milestones_url",
    "notifications_url",
    "pulls_url",
    "releases_url",
    "stargazers_url",
    "statuses_url",
    "subscribers_url",
    "subscription_url",
    "tags_url",
    "teams_url",
    "trees_url",
]
_USER_LINKS = [
    "followers_url",
    "following_url",
    "gists_url",
    "starred_url",
    "subscriptions_url",
    "organizations_url",
    "repos_url",
    "events_url",
    "received_events_url",
]


def node_id(kind: str, number: int) -> str:
    return f"{kind}_kwDO{number:08d}"


def when(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)


class Shapes:
    """Base of the JSON builders: knows the API's root as the client calls it."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.site = base.removesuffix("/api/v3")

    def repo_url(self, home: Repository) -> str:
        return f"{self.base}/repos/{home.full_name}"

    def user(self, user: User | None) -> Json | None:
        if user is None:
            return None
        name_in_url = quote(user.login)  # an App's has brackets in it
        url = f"{self.base}/users/{name_in_url}"
        named = {name: f"{url}/{name.removesuffix('_url')}" for name in _USER_LINKS}
        return named | {
            "login": user.login, "id": user.id, "node_id": node_id("U", user.id), "gravatar_id": "", "url": url,
            "avatar_url": f"{self.site}/avatars/{user.id}", "html_url": f"{self.site}/{name_in_url}",
            "type": user.kind, "site_admin": False,
        }  # fmt: skip

    def account(self, user: User) -> Json:
        """Returns the same person in full, except the fields that need the scope `user`."""
        empty = dict.fromkeys(("bio", "blog", "company", "email", "hireable", "location", "twitter_username"))
        none = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
        more = {"created_at": iso(0), "updated_at": iso(0), "name": user.login, "user_view_type": "public"}
        return (self.user(user) or {}) | empty | none | more

    def label(self, home: Repository, label: Label) -> Json:
        return {
            "id": label.id, "node_id": node_id("LA", label.id), "name": label.name, "color": label.color,
            "url": f"{self.repo_url(home)}/labels/{label.name}", "default": False, "description": label.description,
        }  # fmt: skip

    def small_repository(self, home: Repository) -> Json:
        url = self.repo_url(home)
        return {name: f"{url}/{name.removesuffix('_url')}" for name in _LINKS} | {
            "id": home.id, "node_id": node_id("R", home.id), "name": home.name, "full_name": home.full_name,
            "owner": self.user(home.owner), "private": home.private, "html_url": f"{self.site}/{home.full_name}",
            "description": None, "fork": False, "url": url,
        }  # fmt: skip

    def repository(self, home: Repository, level: str) -> Json:
        """Returns the repository in full, with the permissions of the client."""
        site = f"{self.site}/{home.full_name}"
        counts = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size", "network_count",
                  "subscribers_count")  # fmt: skip
        open_issues = sum(issue.state == "open" for issue in home.issues.values())
        rights = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read"}
        return self.small_repository(home) | dict.fromkeys(counts, 0) | {
            "clone_url": f"{site}.git", "git_url": f"{site}.git", "ssh_url": f"{site}.git", "svn_url": site,
            "mirror_url": None, "homepage": None, "language": None, "license": None, "topics": [],
            "default_branch": home.default_branch, "archived": home.archived, "disabled": False,
            "visibility": "private" if home.private else "public", "open_issues": open_issues,
            "open_issues_count": open_issues, "has_issues": True, "has_projects": False, "has_wiki": False,
            "has_pages": False, "has_discussions": False, "has_downloads": False, "allow_forking": True,
            "pushed_at": iso(home.pushed_at), "created_at": iso(home.created_at), "updated_at": iso(home.updated_at),
            "is_template": False, "web_commit_signoff_required": False, "allow_squash_merge": True,
            "allow_merge_commit": True, "allow_rebase_merge": True, "allow_auto_merge": False,
            "delete_branch_on_merge": False,
            "permissions": {name: at_least(level, needed) for name, needed in rights.items()},
        }  # fmt: skip

    @staticmethod
    def has(level: str, needed: str) -> bool:
        return at_least(level, needed)

    def association(self, home: Repository, user: User | None) -> str:
        if user is home.owner:
            return "OWNER"
        return "COLLABORATOR" if user and user.login.lower() in home.levels else "NONE"

    def rollup(self, url: str, thing: Lasting) -> Json:
        counts = {kind: sum(one.content == kind for one in thing.reactions) for kind in KINDS}
        return {"url": f"{url}/reactions", "total_count": len(thing.reactions), **counts}

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id, "node_id": node_id("REA", reaction.id), "user": self.user(reaction.user),
            "content": reaction.content, "created_at": iso(reaction.at),
        }  # fmt: skip

    def issue(self, home: Repository, issue: Issue) -> Json:
        root = self.repo_url(home)
        url = f"{root}/issues/{issue.number}"
        where = "pull" if issue.pull else "issues"
        subs = {"total": 0, "completed": 0, "percent_completed": 0}
        shape = {
            "url": url, "repository_url": root, "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments", "events_url": f"{url}/events", "timeline_url": f"{url}/timeline",
            "html_url": f"{self.site}/{home.full_name}/{where}/{issue.number}",
            "id": issue.id, "node_id": node_id("PR" if issue.pull else "I", issue.id), "number": issue.number,
            "title": issue.title, "body": issue.body or None, "user": self.user(issue.author),
            "labels": [self.label(home, label) for label in issue.labels], "state": issue.state,
            "state_reason": issue.state_reason, "locked": issue.locked, "active_lock_reason": None, "assignee": None,
            "assignees": [], "milestone": None, "comments": issue.comments, "created_at": iso(issue.created_at),
            "updated_at": iso(issue.updated_at), "closed_at": when(issue.closed_at),
            "closed_by": self.user(issue.closed_by), "author_association": self.association(home, issue.author),
            "reactions": self.rollup(url, issue), "sub_issues_summary": subs, "performed_via_github_app": None,
        }  # fmt: skip
        if issue.pull:
            page = f"{self.site}/{home.full_name}/pull/{issue.number}"
            shape["draft"] = issue.pull.draft
            shape["pull_request"] = {
                "url": f"{root}/pulls/{issue.number}", "html_url": page, "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch", "merged_at": when(issue.pull.merged_at),
            }  # fmt: skip
        return shape

    def comment(self, home: Repository, comment: Comment) -> Json:
        url = f"{self.repo_url(home)}/issues/comments/{comment.id}"
        where = "pull" if home.issues[comment.number].pull else "issues"
        return {
            "url": url, "id": comment.id, "node_id": node_id("IC", comment.id), "body": comment.body,
            "html_url": f"{self.site}/{home.full_name}/{where}/{comment.number}#issuecomment-{comment.id}",
            "issue_url": f"{self.repo_url(home)}/issues/{comment.number}", "user": self.user(comment.author),
            "created_at": iso(comment.created_at), "updated_at": iso(comment.updated_at),
            "author_association": self.association(home, comment.author), "reactions": self.rollup(url, comment),
            "performed_via_github_app": None,
        }  # fmt: skip

    def event(self, home: Repository, event: Event) -> Json:
        shape = {
            "id": event.id, "node_id": node_id("EV", event.id), "event": event.event, "actor": self.user(event.actor),
            "url": f"{self.repo_url(home)}/issues/events/{event.id}", "commit_id": None, "commit_url": None,
            "created_at": iso(event.at), "performed_via_github_app": None,
        }  # fmt: skip
        if event.label:
            shape["label"] = {"name": event.label.name, "color": event.label.color}
        if event.rename:
            shape["rename"] = {"from": event.rename[0], "to": event.rename[1]}
        if event.event in {"locked", "unlocked"}:
            shape["lock_reason"] = None
        return shape

"""GraphQL nodes: the world as dictionaries whose values may take arguments."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tests.fakes.github import gits
from tests.fakes.github.api_request import Ask
from tests.fakes.github.as_json import node_id, when
from tests.fakes.github.model import Check, Event, Inline, Issue, Lasting, Repository, Review, Status, User, iso
from tests.fakes.github.rest_checks import latest_checks, latest_statuses

Json = Any
_EMOJI = {"THUMBS_UP": "+1", "THUMBS_DOWN": "-1"}
_ID = re.compile(r"([A-Z]+)_kwDO0*(\d+)")
_EVENTS = {
    "labeled": "LabeledEvent", "unlabeled": "UnlabeledEvent", "renamed": "RenamedTitleEvent",
    "closed": "ClosedEvent", "reopened": "ReopenedEvent", "transferred": "TransferredEvent",
    "locked": "LockedEvent", "unlocked": "UnlockedEvent", "merged": "MergedEvent",
    "ready_for_review": "ReadyForReviewEvent", "convert_to_draft": "ConvertToDraftEvent",
    "head_ref_deleted": "HeadRefDeletedEvent", "head_ref_force_pushed": "HeadRefForcePushedEvent",
    "base_ref_changed": "BaseRefChangedEvent",
}  # fmt: skip


class Unseen(Exception):
    """A missing or inaccessible node: part of an ordinary response."""

    kind = "NOT_FOUND"


class Forbidden(Unseen):
    """A mutation that this account or token may not perform: the others of its request are performed."""

    kind = "FORBIDDEN"


def connection(things: Sequence[Json]) -> Json:
    """Returns whole pages only: from the start, or from the end."""

    def ask(first: int | None = None, last: int | None = None, after: str | None = None, **_: Json) -> Json:
        start = int(after) if after else 0
        end = start + first if first is not None else len(things)
        start = max(len(things) - last, 0) if last is not None else start
        shown = list(things[start:end])
        page = {"hasNextPage": end < len(things), "endCursor": str(min(end, len(things))),
                "hasPreviousPage": start > 0, "startCursor": str(start)}  # fmt: skip
        return {"totalCount": len(things), "nodes": shown, "edges": [{"node": n} for n in shown], "pageInfo": page}

    return ask


class Nodes:
    def __init__(self, ask: Ask) -> None:
        self.ask, self.world = ask, ask.world

    # Lookup

    def repository_named(self, name: str) -> Json:
        home = self.world.repositories.get(name.lower()) or self.world.redirects.get(name.lower())
        if home is None or not self.ask.may("read", home):
            raise Unseen(f"Could not resolve to a Repository with the name '{name}'.")
        return self.repository(home)

    def by_id_or_error(self, key: str) -> Json:
        try:
            return self.by_id(key)
        except Unseen as unseen:
            return unseen

    def by_id(self, key: str) -> Json:
        home, thing = self._thing(key)
        match thing:
            case Issue():
                return self.issue(home, thing)
            case Review():
                return self.review(home, thing)
            case Inline():
                return self.inline(home, thing)
            case Lasting():
                return self.comment(home, thing)
            case _:
                return self.repository(home)

    def _thing(self, key: str) -> tuple[Repository, Lasting | None]:
        found = _ID.fullmatch(key)
        kind, number = (found[1], int(found[2])) if found else ("", 0)
        for home in self.world.repositories.values():
            if self.ask.may("read", home):
                if kind == "R" and home.id == number:
                    return home, None
                if thing := self._in(home, kind, number):
                    return home, thing
        raise Unseen(f"Could not resolve to a node with the global id of '{key}'.")

    def _in(self, home: Repository, kind: str, number: int) -> Lasting | None:
        if kind in {"I", "PR"}:
            return next((one for one in home.issues.values() if one.id == number), None)
        held = {"IC": home.comments, "PRR": home.reviews, "PRRC": home.inlines}.get(kind, {})
        return held.get(number)

    # People and repositories.

    def actor(self, user: User | None) -> Json:
        if user is None:
            return None
        return {
            "__typename": user.kind, "login": user.login.removesuffix("[bot]"), "databaseId": user.id,
            "id": node_id("U", user.id), "url": f"{self.ask.site}/{user.login}",
        }  # fmt: skip

    def rate_limit(self) -> Json:
        return {"cost": 1, "limit": 5000, "remaining": 5000, "used": 0, "nodeCount": 1, "resetAt": iso(self.world.now)}

    def repository(self, home: Repository) -> Json:
        issues = [issue for issue in home.issues.values() if not issue.pull]
        pulls = [issue for issue in home.issues.values() if issue.pull]
        rules = [{"pattern": p, "restrictsPushes": True, "isAdminEnforced": True, "id": f"BPR_{p}", "lockBranch": True,
                  "requiresLinearHistory": False, "requiresCommitSignatures": False, "allowsForcePushes": False,
                  "requiresApprovingReviews": False} for p in home.protected]  # fmt: skip
        return {
            "__typename": "Repository", "id": node_id("R", home.id), "databaseId": home.id, "name": home.name,
            "nameWithOwner": home.full_name, "isArchived": home.archived, "isPrivate": home.private,
            "defaultBranchRef": {"name": home.default_branch, "id": "REF_default"},
            "viewerPermission": self.ask.level(home).upper(),
            "issue": lambda number: self._numbered(home, number, pull=False),
            "pullRequest": lambda number: self._numbered(home, number, pull=True),
            "issueOrPullRequest": lambda number: self._numbered(home, number, pull=None),
            "issues": connection([self.issue(home, one) for one in issues]),
            "pullRequests": connection([self.issue(home, one) for one in pulls]),
            "branchProtectionRules": connection(rules),
            "collaborators": partial(self._collaborators, home),
        }  # fmt: skip

    def _collaborators(self, home: Repository, **paging: Json) -> Json:
        """Visible to accounts that may push."""
        if not self.ask.may("write", home):
            raise Unseen("You do not have permission to view repository collaborators.")
        users = [self.world.user(login) for login in home.levels]
        shown = [{**self.actor(user), "email": self.world.addresses.get(user.login, "")} for user in users]
        return connection(shown)(**paging)

    def _numbered(self, home: Repository, number: int, *, pull: bool | None) -> Json:
        found = home.issues.get(number)
        if found is None or (pull is not None and (found.pull is not None) is not pull):
            raise Unseen(f"Could not resolve to an Issue with the number of {number}.")
        return self.issue(home, found)

    # Texts

    def _written(self, kind: str, home: Repository, thing: Lasting) -> Json:
        edits = [
            {
                "editedAt": iso(e.at),
                "createdAt": iso(e.at),
                "editor": self.actor(e.editor),
                "diff": e.text,
                "id": f"E{e.id}",
            }
            for e in reversed(thing.edits)
        ]
        last = thing.edits[-1] if thing.edits else None
        groups = {one.content for one in thing.reactions}
        return {
            "__typename": kind, "databaseId": thing.id, "author": self.actor(thing.author), "body": thing.body,
            "createdAt": iso(thing.created_at), "updatedAt": iso(thing.updated_at),
            "lastEditedAt": iso(last.at) if last else None, "editor": self.actor(last.editor) if last else None,
            "includesCreatedEdit": last is not None, "userContentEdits": connection(edits),
            "reactions": connection([self.reaction(one) for one in thing.reactions]),
            "reactionGroups": [{"content": _graph_name(content)} for content in groups],
            "viewerDidAuthor": self.ask.token is not None and thing.author is self.ask.token.user,
        }  # fmt: skip

    def reaction(self, one: Any) -> Json:
        return {"content": _graph_name(one.content), "user": self.actor(one.user), "databaseId": one.id,
                "id": node_id("REA", one.id), "createdAt": iso(one.at)}  # fmt: skip

    def issue(self, home: Repository, issue: Issue) -> Json:
        comments = [c for c in home.comments.values() if c.number == issue.number]
        shared = self._written("PullRequest" if issue.pull else "Issue", home, issue) | {
            "id": node_id("PR" if issue.pull else "I", issue.id), "number": issue.number, "title": issue.title,
            "state": issue.state.upper(), "locked": issue.locked, "closed": issue.state == "closed",
            "closedAt": when(issue.closed_at), "repository": lambda: self.repository(home),
            "labels": connection([{"name": one.name, "id": node_id("LA", one.id)} for one in issue.labels]),
            "comments": connection([self.comment(home, one) for one in comments]),
            "url": f"{self.ask.site}/{home.full_name}/{'pull' if issue.pull else 'issues'}/{issue.number}",
            "timelineItems": lambda **page: self._timeline(issue, page.pop("itemTypes", None), **page),
        }  # fmt: skip
        return shared | self._pull(home, issue) if issue.pull else shared

    def comment(self, home: Repository, one: Lasting) -> Json:
        return self._written("IssueComment", home, one) | {"id": node_id("IC", one.id)}

    def _timeline(self, issue: Issue, kinds: Iterable[str] | None, **page: Json) -> Json:
        shown = [self.event(event) for event in issue.events if event.event in _EVENTS]
        wanted = {kind.replace("_", "").lower() for kind in kinds} if kinds else None
        return connection([e for e in shown if wanted is None or e["__typename"].lower() in wanted])(**page)

    def event(self, event: Event) -> Json:
        label = {"name": event.label.name, "id": node_id("LA", event.label.id)} if event.label else None
        before, after = event.rename or ("", "")
        return {
            "__typename": _EVENTS[event.event], "id": node_id("EV", event.id), "createdAt": iso(event.at),
            "actor": self.actor(event.actor), "label": label, "previousTitle": before, "currentTitle": after,
        }  # fmt: skip

    # Pull requests.

    def _pull(self, home: Repository, issue: Issue) -> Json:
        pull = issue.pull
        assert pull
        merged = pull.merged_at is not None
        head = self.commit(home, pull.head)
        reviews = [r for r in home.reviews.values() if r.number == issue.number and self._sees(r)]
        threads = [one for one in home.inlines.values() if one.number == issue.number and not one.in_reply_to]
        return {
            "state": "MERGED" if merged else issue.state.upper(), "merged": merged, "mergedAt": when(pull.merged_at),
            "isDraft": pull.draft, "headRefName": pull.head_ref,
            "isCrossRepository": pull.fork is not None, "baseRefName": pull.base_ref, "headRefOid": pull.head,
            "baseRefOid": pull.base, "mergeable": lambda: self._mergeable(home, issue), "headRef": None,
            "mergeCommit": self.commit(home, pull.merge_commit) if pull.merge_commit else None,
            "commits": connection([{"commit": head, "id": f"PRC_{pull.head}"}]),
            "statusCheckRollup": lambda: self.rollup(home, pull.head),
            "reviews": connection([self.review(home, one) for one in reviews]),
            "reviewThreads": connection([self.thread(home, one) for one in threads]),
        }  # fmt: skip

    def _mergeable(self, home: Repository, issue: Issue) -> str:
        if issue.state == "closed":
            return "UNKNOWN"
        return "CONFLICTING" if self.world.conflicts(home, issue) else "MERGEABLE"

    def _sees(self, review: Review) -> bool:
        return review.state != "PENDING" or (self.ask.token is not None and review.author is self.ask.token.user)

    def review(self, home: Repository, review: Review) -> Json:
        inlines = [one for one in home.inlines.values() if one.review == review.id]
        return self._written("PullRequestReview", home, review) | {
            "id": node_id("PRR", review.id), "state": review.state, "submittedAt": when(review.submitted_at),
            "comments": connection([self.inline(home, one) for one in inlines]),
        }  # fmt: skip

    def inline(self, home: Repository, inline: Inline) -> Json:
        return self._written("PullRequestReviewComment", home, inline) | {
            "id": node_id("PRRC", inline.id), "path": inline.path, "line": inline.line, "diffHunk": inline.hunk,
            "position": inline.position,
        }  # fmt: skip

    def thread(self, home: Repository, first: Inline) -> Json:
        said = [one for one in home.inlines.values() if first.id in {one.id, one.in_reply_to}]
        return {
            "__typename": "PullRequestReviewThread", "id": node_id("PRRT", first.id), "isResolved": first.resolved,
            "isOutdated": False, "path": first.path, "line": first.line,
            "comments": connection([self.inline(home, one) for one in said]),
        }  # fmt: skip

    def commit(self, home: Repository, sha: str) -> Json:
        return {
            "__typename": "Commit", "id": f"C_{sha}", "oid": sha, "message": lambda: gits.message_of(home.path, sha),
            "statusCheckRollup": lambda: self.rollup(home, sha),
        }  # fmt: skip

    def rollup(self, home: Repository, sha: str) -> Json:
        checks, statuses = latest_checks(home, sha), latest_statuses(home, sha)
        if not checks and not statuses:
            return None
        contexts = [_check(one) for one in checks] + [_status(one) for one in statuses]
        states = {one.status == "completed" and (one.conclusion or "") for one in checks} | {s.state for s in statuses}
        bad = states & {"failure", "error", "timed_out", "cancelled", "action_required", "startup_failure"}
        state = "FAILURE" if bad else "PENDING" if states & {False, "pending"} else "SUCCESS"
        return {"id": f"SCR_{sha}", "state": state, "contexts": connection(contexts)}

    # Permissions of the viewer

    def add_reaction(self, subject: str, content: str) -> Json:
        home, thing = self._thing(subject)
        if thing is None or self.ask.token is None:
            raise Unseen("Could not resolve to a Reactable.")
        self._may_write(home, "read", "issues", "pull_requests")
        reaction, _ = self.world.react(thing, _rest_name(content), by=self.ask.login)
        return {"reaction": self.reaction(reaction), "clientMutationId": None, "subject": None}

    def add_labels(self, key: str, ids: Sequence[str]) -> Json:
        home, issue, names = self._labelable(key, ids)
        self.world.label(home.full_name, issue.number, *names, by=self.ask.login)
        return {"labelable": self.issue(home, issue), "clientMutationId": None}

    def remove_labels(self, key: str, ids: Sequence[str]) -> Json:
        home, issue, names = self._labelable(key, ids)
        self.world.unlabel(home.full_name, issue.number, *names, by=self.ask.login)
        return {"labelable": self.issue(home, issue), "clientMutationId": None}

    def _labelable(self, key: str, ids: Sequence[str]) -> tuple[Repository, Issue, Sequence[str]]:
        home, issue = self._thing(key)
        if not isinstance(issue, Issue):
            raise Unseen("Could not resolve to a Labelable.")
        self._may_write(home, "triage", "issues", "pull_requests")
        known = {node_id("LA", label.id): label.name for label in home.labels.values()}
        if missing := [one for one in ids if one not in known]:
            raise Unseen(f"Could not resolve to a node with the global id of '{missing[0]}'.")
        return home, issue, [known[one] for one in ids]

    def _may_write(self, home: Repository, level: str, *permissions: str) -> None:
        token = self.ask.token
        assert token
        if home.archived:
            raise Forbidden("Repository was archived so is read-only.")
        if not self.ask.may(level, home):
            raise Forbidden(f"{token.user.login} does not have the correct permissions to execute this mutation.")
        granted = token.permissions
        if granted is not None and not any(granted.get(one) in {"write", "admin"} for one in permissions):
            raise Forbidden("Resource not accessible by personal access token")

    def ready(self, key: str, *, draft: bool) -> Json:
        home, thing = self._thing(key)
        if not isinstance(thing, Issue) or not self.ask.may("write", home):
            raise Unseen("Could not resolve to a PullRequest.")
        self.world.ready(home.full_name, thing.number, by=self.ask.login, draft=draft)
        return {"pullRequest": self.issue(home, thing), "clientMutationId": None}


def _graph_name(content: str) -> str:
    return next((name for name, short in _EMOJI.items() if short == content), content.upper())


def _rest_name(content: str) -> str:
    return _EMOJI.get(content, content.lower())


def _check(one: Check) -> Json:
    return {"__typename": "CheckRun", "id": node_id("CR", one.id), "databaseId": one.id, "name": one.name,
            "status": one.status.upper(), "conclusion": one.conclusion.upper() if one.conclusion else None}  # fmt: skip


def _status(one: Status) -> Json:
    return {"__typename": "StatusContext", "id": node_id("SC", one.id), "context": one.context,
            "state": one.state.upper(), "description": one.description, "targetUrl": one.target_url}  # fmt: skip

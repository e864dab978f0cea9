"""Root fields of queries."""

from typing import Any

from tests.fakes.linear.errors import bad_argument
from tests.fakes.linear.field_registry import FIELDS, Ask, Resolver
from tests.fakes.linear.model import Comment
from tests.fakes.linear.other_fields import organization
from tests.fakes.linear.paging import connection


def _all(kind: str, store: str, *, lagging: bool = True) -> Resolver:
    return connection(kind, lambda ask, source: getattr(ask.world, store), lagging=lagging)


def _one(store: str, kind: str) -> Resolver:
    return lambda ask, source, key: ask.found(getattr(ask.world, store), key, kind)


def _team(ask: Ask, source: Any, key: str) -> Any:
    """Finds a team by id or key."""
    keyed = next((one.id for one in ask.world.teams if one.key == key), key)
    return ask.found(ask.world.teams, keyed, "Team")


def _comment(ask: Ask, source: Any, key: str | None = None, mark: str | None = None) -> Comment:
    if key is None and mark is None:
        raise bad_argument("id or hash must be given.")
    marked = next((one.id for one in ask.world.all_comments if mark and one.id[:8] == mark), "")
    return ask.comment(key or marked)


def _users(ask: Ask, source: Any, *, include_disabled: bool | None) -> list[Any]:
    return [one for one in ask.world.users if one.active or include_disabled]


def _rate_limit_status(ask: Ask, source: Any) -> dict[str, Any]:
    limits, token = ask.limits, ask.token.text
    told = [
        {"type": kind, "requestedAmount": 0.0, "allowedAmount": limits.limit(kind), "period": limits.period * 1000,
         "remainingAmount": limits.left(token, kind), "reset": float(limits.reset(token, kind))}
        for kind in ("requests", "complexity")
    ]  # fmt: skip
    return {"identifier": ask.viewer.id, "kind": "oauth" if ask.token.oauth else "apiKey", "limits": told}


def _for_url(ask: Ask, source: Any, url: str) -> list[Any]:
    return [one for one in ask.world.all_attachments if one.url == url and ask.sees(one.issue)]


FIELDS["Query"] = {
    "viewer": lambda ask, source: ask.viewer,
    "organization": organization,
    "rateLimitStatus": _rate_limit_status,
    "users": connection("user", _users, lagging=False, taking="include_disabled"),
    "user": lambda ask, source, key: ask.viewer if key == "me" else ask.found(ask.world.users, key, "User"),
    "teams": _all("team", "teams", lagging=False),
    "team": _team,
    "issues": _all("issue", "issues"),
    "issue": lambda ask, source, key: ask.issue(key),
    "comments": _all("comment", "all_comments"),
    "comment": _comment,
    "issueLabels": _all("label", "all_labels"),
    "issueLabel": _one("all_labels", "IssueLabel"),
    "workflowStates": _all("state", "states", lagging=False),
    "workflowState": _one("states", "WorkflowState"),
    "projects": _all("project", "projects"),
    "project": _one("projects", "Project"),
    "attachments": connection(
        "attachment", lambda ask, source: [one for one in ask.world.all_attachments if ask.sees(one.issue)]
    ),
    "attachment": _one("all_attachments", "Attachment"),
    "attachmentsForURL": connection("attachment", _for_url, taking="url"),
    "integrations": _all("integration", "integrations", lagging=False),
}

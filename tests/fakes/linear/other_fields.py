"""Query fields of comments, people, teams and the rest of the workspace."""

from typing import Any

from tests.fakes.linear.clock import iso
from tests.fakes.linear.field_registry import FIELDS, LASTING, Ask, always, ids_of, nothing, plain, times
from tests.fakes.linear.issue_fields import bot, reaction_data, url_of
from tests.fakes.linear.model import Comment, Issue, User
from tests.fakes.linear.paging import connection


def organization(ask: Ask, source: Any, **args: Any) -> dict[str, Any]:
    born = iso(ask.world.born_at)
    return {"id": ask.world.organization_id, "name": "Acme", "urlKey": ask.world.url_key, "createdAt": born,
            "updatedAt": born, "archivedAt": None, "previousUrlKeys": []}  # fmt: skip


FIELDS["Organization"] = {
    "users": connection("user", lambda ask, source: ask.world.users, lagging=False),
    "teams": connection("team", lambda ask, source: ask.world.teams, lagging=False),
    "labels": connection("label", lambda ask, source: ask.world.all_labels),
    "integrations": connection("integration", lambda ask, source: ask.world.integrations, lagging=False),
    "userCount": lambda ask, source: len(ask.world.users),
}


def _external(ask: Ask, comment: Comment) -> dict[str, Any] | None:
    if comment.external_user is None:
        return None
    at = iso(comment.created_at)
    return {"id": f"external-{comment.id}", "name": comment.external_user, "displayName": comment.external_user,
            "email": None, "avatarUrl": None, "createdAt": at, "updatedAt": at, "archivedAt": None,
            "lastSeen": at}  # fmt: skip


FIELDS["Comment"] = (
    LASTING
    | plain("body user parent issue")
    | ids_of("parent issue")
    | times("editedAt")
    | nothing("resolvedAt resolvingUser resolvingComment resolvingCommentId quotedText onBehalfOf agentSession project")
    | nothing("projectUpdate initiativeUpdate documentContent post externalThread")
    | always(hideInLinear=False)
    | {
        "botActor": bot,
        "externalUser": _external,
        "children": connection(
            "comment",
            lambda ask, comment: [o for o in ask.world.all_comments if o.parent and o.parent.id == comment.id],
        ),
        "reactions": lambda ask, comment: ask.world.reactions_on(comment),
        "reactionData": reaction_data,
        "url": lambda ask, comment: f"{url_of(ask, comment.issue)}#comment-{comment.id[:8]}",
    }
)
FIELDS["Reaction"] = (
    LASTING
    | plain("emoji user")
    | nothing("externalUser projectUpdate initiativeUpdate post")
    | {
        "comment": lambda ask, one: one.on if isinstance(one.on, Comment) else None,
        "issue": lambda ask, one: one.on if isinstance(one.on, Issue) else None,
    }
)


def _works_in(ask: Ask, user: User) -> list[Any]:
    return [team for team in ask.world.teams if user in team.members]


FIELDS["User"] = (
    LASTING
    | plain("name displayName email guest app active admin")
    | nothing("avatarUrl description lastSeen statusEmoji statusLabel statusUntilAt timezone title gitHubUserId")
    | always(owner=False)
    | {
        "isMe": lambda ask, user: user is ask.viewer,
        "initials": lambda ask, user: user.name[:1].upper(),
        "isAssignable": lambda ask, user: user.active and not user.app,
        "isMentionable": lambda ask, user: user.active,
        "canAccessAnyPublicTeam": lambda ask, user: not user.guest,
        "supportsAgentSessions": lambda ask, user: user.app,
        "url": lambda ask, user: f"https://linear.app/{ask.world.url_key}/profiles/{user.display_name}",
        "organization": organization,
        "teams": connection("team", _works_in, lagging=False),
        "assignedIssues": connection("issue", lambda ask, u: [o for o in ask.world.issues if o.assignee is u]),
        "createdIssues": connection("issue", lambda ask, u: [o for o in ask.world.issues if o.creator is u]),
        "delegatedIssues": connection("issue", lambda ask, u: [o for o in ask.world.issues if o.delegate is u]),
    }
)


def of_team(kind: str, store: str, *, lagging: bool = False):
    return connection(
        kind, lambda ask, team: [one for one in getattr(ask.world, store) if one.team is team], lagging=lagging
    )


def labels_for(ask: Ask, team: Any) -> list[Any]:
    """Returns a team's own labels only, without those of the workspace."""
    return [one for one in ask.world.all_labels if one.team is team]


FIELDS["Team"] = (
    LASTING
    | plain("key name private triageEnabled")
    | nothing("description icon color parent retiredAt")
    | always(timezone="UTC", cyclesEnabled=False)
    | {
        "displayName": lambda ask, team: team.name,
        "visibility": lambda ask, team: "private" if team.private else "public",
        "organization": organization,
        "states": of_team("state", "states"),
        "labels": connection("label", labels_for),
        "issues": of_team("issue", "issues", lagging=True),
        "gitAutomationStates": of_team("automation", "automations"),
        "members": connection("user", lambda ask, team: team.members, lagging=False),
        "projects": connection("project", lambda ask, team: [p for p in ask.world.projects if team in p.teams]),
        "defaultIssueState": lambda ask, team: ask.world.default_state(team),
        "triageIssueState": lambda ask, team: ask.world.first_state(team, "triage") if team.triage_enabled else None,
    }
)
FIELDS["WorkflowState"] = (
    LASTING
    | plain("name type position color description team")
    | nothing("inheritedFrom")
    | {"issues": connection("issue", lambda ask, state: [o for o in ask.world.issues if o.state is state])}
)
FIELDS["IssueLabel"] = (
    LASTING
    | plain("name isGroup parent team creator color description")
    | nothing("inheritedFrom lastAppliedAt retiredAt retiredBy")
    | {
        "children": connection("label", lambda ask, label: [o for o in ask.world.all_labels if o.parent is label]),
        "issues": connection("issue", lambda ask, label: [o for o in ask.world.issues if label in o.labels]),
        "organization": organization,
    }
)
FIELDS["Project"] = (
    LASTING
    | plain("name slugId")
    | {
        "teams": connection("team", lambda ask, project: project.teams, lagging=False),
        "issues": connection("issue", lambda ask, project: [o for o in ask.world.issues if o.project is project]),
        "url": lambda ask, project: f"https://linear.app/{ask.world.url_key}/project/{project.slug_id}",
    }
)
FIELDS["GitAutomationState"] = LASTING | plain("event state team") | nothing("targetBranch branchPattern")
FIELDS["Integration"] = LASTING | plain("service creator") | nothing("team") | {"organization": organization}
FIELDS["Webhook"] = (
    LASTING
    | plain("url resourceTypes team creator label secret enabled")
    | {"allPublicTeams": lambda ask, hook: hook.team is None}
)

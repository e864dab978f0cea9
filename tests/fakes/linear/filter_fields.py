"""Fields that each type can be filtered by."""

from typing import Any

from tests.fakes.linear.filters import FILTERS, Test, Wanted, compare, many, one, time, value
from tests.fakes.linear.model import Lasting

_LASTING: dict[str, Test] = {
    "id": value(lambda thing: thing.id),
    "createdAt": time(lambda thing: thing.created_at),
    "updatedAt": time(lambda thing: thing.updated_at),
}


def _is_me(ask: Any, wanted: Wanted, thing: Lasting) -> bool:
    return compare(thing is ask.viewer, wanted)


def _related(kind: str, side: str) -> Test:
    return lambda ask, wanted, thing: compare(
        any(tie.type == kind and getattr(tie, side).id == thing.id for tie in ask.world.relations), wanted
    )


FILTERS["issue"] = _LASTING | {
    "number": value(lambda issue: issue.number),
    "title": value(lambda issue: issue.title),
    "description": value(lambda issue: issue.description),
    "priority": value(lambda issue: issue.priority),
    "archivedAt": time(lambda issue: issue.archived_at),
    "startedAt": time(lambda issue: issue.started_at),
    "completedAt": time(lambda issue: issue.completed_at),
    "canceledAt": time(lambda issue: issue.canceled_at),
    "team": one("team", lambda issue: issue.team),
    "state": one("state", lambda issue: issue.state),
    "creator": one("user", lambda issue: issue.creator),
    "assignee": one("user", lambda issue: issue.assignee),
    "delegate": one("user", lambda issue: issue.delegate),
    "project": one("project", lambda issue: issue.project),
    "parent": one("issue", lambda issue: issue.parent),
    "labels": many("label", lambda ask, issue: issue.labels),
    "children": many("issue", lambda ask, issue: [o for o in ask.world.issues if o.parent and o.parent.id == issue.id]),
    "comments": many("comment", lambda ask, issue: _shown(ask, ask.world.all_comments, issue)),
    "attachments": many("attachment", lambda ask, issue: _shown(ask, ask.world.all_attachments, issue)),
    "reactions": many("reaction", lambda ask, issue: ask.world.reactions_on(issue)),
    "hasBlockingRelations": _related("blocks", "issue"),
    "hasBlockedByRelations": _related("blocks", "related"),
    "hasDuplicateRelations": _related("duplicate", "issue"),
}
FILTERS["comment"] = _LASTING | {
    "body": value(lambda comment: comment.body),
    "user": one("user", lambda comment: comment.user),
    "issue": one("issue", lambda comment: comment.issue),
    "parent": one("comment", lambda comment: comment.parent),
    "reactions": many("reaction", lambda ask, comment: ask.world.reactions_on(comment)),
}
FILTERS["state"] = _LASTING | {
    "name": value(lambda state: state.name),
    "type": value(lambda state: state.type),
    "position": value(lambda state: state.position),
    "description": value(lambda state: state.description),
    "team": one("team", lambda state: state.team),
}
FILTERS["label"] = _LASTING | {
    "name": value(lambda label: label.name),
    "isGroup": value(lambda label: label.is_group),
    "parent": one("label", lambda label: label.parent),
    "team": one("team", lambda label: label.team),
    "creator": one("user", lambda label: label.creator),
}
FILTERS["user"] = _LASTING | {
    "name": value(lambda user: user.name),
    "displayName": value(lambda user: user.display_name),
    "email": value(lambda user: user.email),
    "active": value(lambda user: user.active),
    "admin": value(lambda user: user.admin),
    "app": value(lambda user: user.app),
    "isMe": _is_me,
}
FILTERS["team"] = _LASTING | {
    "key": value(lambda team: team.key),
    "name": value(lambda team: team.name),
    "private": value(lambda team: team.private),
    "members": many("user", lambda ask, team: team.members),
}
FILTERS["project"] = _LASTING | {
    "name": value(lambda project: project.name),
    "slugId": value(lambda project: project.slug_id),
    "accessibleTeams": many("team", lambda ask, project: project.teams),
}
FILTERS["attachment"] = _LASTING | {
    "url": value(lambda attachment: attachment.url),
    "title": value(lambda attachment: attachment.title),
    "subtitle": value(lambda attachment: attachment.subtitle),
    "sourceType": value(lambda attachment: attachment.source_type),
    "creator": one("user", lambda attachment: attachment.creator),
}
FILTERS["reaction"] = _LASTING | {"emoji": value(lambda reaction: reaction.emoji)}


def _shown(ask: Any, things: list[Any], issue: Any) -> list[Any]:
    """Filters the state that lists show."""
    return ask.world.listed([other for other in things if other.issue.id == issue.id])

"""Query fields of an issue, its history, its relations and its attachments."""

import re
from typing import Any

from tests.fakes.linear import filter_fields  # noqa: F401 - fills the table that connections filter by
from tests.fakes.linear.field_registry import FIELDS, LASTING, Ask, Resolver, always, ids_of, nothing, plain, times
from tests.fakes.linear.model import Bot, Issue
from tests.fakes.linear.paging import connection

_PRIORITIES = ("No priority", "Urgent", "High", "Medium", "Low")


def url_of(ask: Ask, issue: Issue) -> str:
    return f"https://linear.app/{ask.world.url_key}/issue/{issue.identifier}/{slug(issue.title)}"


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def branch_of(ask: Ask, issue: Issue) -> str:
    """Returns the branch name for the person of the query."""
    return f"{ask.viewer.display_name}/{issue.identifier.lower()}-{slug(issue.title)}"


def bot(ask: Ask, source: Any) -> dict[str, Any] | None:
    return bot_of(source.bot)


def bot_of(acting: Bot | None) -> dict[str, Any] | None:
    if acting is None:
        return None
    return {"id": acting.id, "type": acting.type, "subType": None, "name": acting.name, "userDisplayName": None,
            "avatarUrl": None}  # fmt: skip


def hanging(kind: str, store: str) -> Resolver:
    """Makes a connection of objects that know their issue."""
    return connection(kind, lambda ask, issue: [one for one in getattr(ask.world, store) if one.issue.id == issue.id])


def reaction_data(ask: Ask, source: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for one in ask.world.reactions_on(source):
        data.setdefault(one.emoji, []).append({"id": one.id, "userId": one.user.id})
    return data


def _history(ask: Ask, issue: Issue) -> list[Any]:
    if ask.world.now - issue.created_at < ask.world.history_begins:
        return []
    return [one for one in ask.world.changes if one.issue.id == issue.id]


FIELDS["Issue"] = (
    LASTING
    | plain("identifier number title description priority team state creator assignee delegate project")
    | plain("previousIdentifiers trashed")
    | times("startedAt completedAt canceledAt")
    | nothing("autoArchivedAt autoClosedAt triagedAt startedTriageAt snoozedUntilAt snoozedBy dueDate estimate cycle")
    | nothing("projectMilestone externalUserCreator integrationSourceType addedToCycleAt addedToProjectAt favorite")
    | nothing("sourceComment slaBreachesAt slaStartedAt slaType recurringIssueTemplate lastAppliedTemplate")
    | always(customerTicketCount=0, sortOrder=0.0, prioritySortOrder=0.0)
    | {
        "url": url_of,
        "branchName": branch_of,
        "botActor": bot,
        "priorityLabel": lambda ask, issue: _PRIORITIES[issue.priority],
        "parent": lambda ask, issue: issue.parent if issue.parent and ask.sees(issue.parent) else None,
        "labelIds": lambda ask, issue: [one.id for one in issue.labels],
        "labels": connection("label", lambda ask, issue: issue.labels, lagging=False),
        "children": connection(
            "issue", lambda ask, issue: [o for o in ask.world.issues if o.parent and o.parent.id == issue.id]
        ),
        "comments": hanging("comment", "all_comments"),
        "attachments": hanging("attachment", "all_attachments"),
        "history": connection("change", _history),
        "relations": connection("relation", lambda ask, issue: _ties(ask, issue, "issue", "related")),
        "inverseRelations": connection("relation", lambda ask, issue: _ties(ask, issue, "related", "issue")),
        "reactions": lambda ask, issue: ask.world.reactions_on(issue),
        "reactionData": reaction_data,
        "subscribers": connection("user", lambda ask, issue: [one for one in [issue.creator] if one], lagging=False),
    }
)


def _ties(ask: Ask, issue: Issue, here: str, there: str) -> list[Any]:
    """Returns relations, except those to issues that the client may not see."""
    return [one for one in ask.world.relations if getattr(one, here).id == issue.id and ask.sees(getattr(one, there))]


FIELDS["IssueRelation"] = LASTING | plain("type issue") | {"relatedIssue": lambda ask, tie: tie.related}


def _said(name: str) -> Resolver:
    return lambda ask, change: change.said.get(name)


def _said_id(name: str) -> Resolver:
    return lambda ask, change: (one := change.said.get(name)) and one.id


def _said_ids(name: str) -> Resolver:
    return lambda ask, change: (some := change.said.get(name)) and [one.id for one in some]


_MOVES = ("State", "Team", "Assignee", "Project", "Parent")
_SAID = """addedLabels removedLabels updatedDescription descriptionUpdatedBy archived trashed fromTitle toTitle
fromPriority toPriority fromDelegate toDelegate relationChanges"""

FIELDS["IssueHistory"] = (
    LASTING
    | plain("issue actor")
    | ids_of("actor")
    | {"botActor": bot, "actors": lambda ask, change: [change.actor] if change.actor else None}
    | {name: _said(name) for name in _SAID.split()}
    | {f"{end}{what}": _said(f"{end}{what}") for what in _MOVES for end in ("from", "to")}
    | {f"{end}{what}Id": _said_id(f"{end}{what}") for what in _MOVES for end in ("from", "to")}
    | {"addedLabelIds": _said_ids("addedLabels"), "removedLabelIds": _said_ids("removedLabels")}
    | nothing("autoArchived autoClosed attachment attachmentId fromCycle toCycle fromEstimate toEstimate")
    | nothing("fromDueDate toDueDate changes issueImport toConvertedProject")
)

FIELDS["Attachment"] = (
    LASTING
    | plain("issue url title subtitle metadata creator sourceType")
    | nothing("externalUserCreator originalIssue bodyData")
    | always(groupBySource=False)
    | {"source": lambda ask, one: {"type": one.source_type} if one.source_type else None}
)

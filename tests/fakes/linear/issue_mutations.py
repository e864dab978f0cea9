"""Mutations of issues."""

from typing import Any

from tests.fakes.linear.errors import bad_argument
from tests.fakes.linear.field_registry import Ask
from tests.fakes.linear.model import Issue, Team
from tests.fakes.linear.mutation_inputs import fitting, known, mutation, new_id, state_in, with_labels

_UPDATE = """title description priority stateId teamId assigneeId delegateId projectId parentId labelIds addedLabelIds
removedLabelIds trashed"""
_CREATE = "id title description priority stateId teamId assigneeId delegateId projectId parentId labelIds"
_PLAIN = ("title", "priority")


@mutation("issueCreate", "issues:create")
def _create(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    known(given, _CREATE)
    team = ask.found(ask.world.teams, given["teamId"], "Team")
    wanted, own_id = _wanted(ask, team, given), new_id(ask, given.get("id"), "Issue")
    if not wanted.get("title"):
        raise bad_argument("title must be longer than or equal to 1 characters.")
    state = wanted.pop("state", None) or _first_state(ask, team)
    team.last_number += 1
    said = {"description": "", "creator": ask.viewer} | {name: one for name, one in wanted.items() if one is not None}
    made = Issue(**ask.world.birth(own_id), team=team, number=team.last_number, state=state, **said)
    return {"issue": ask.world.begin(made)}


def _first_state(ask: Ask, team: Team) -> Any:
    return ask.world.first_state(team, "triage") if team.triage_enabled else ask.world.default_state(team)


@mutation("issueUpdate")
def _update(ask: Ask, *, key: str, given: dict[str, Any]) -> dict[str, Any]:
    known(given, _UPDATE)
    issue = ask.issue(key)
    team = ask.found(ask.world.teams, given["teamId"], "Team") if given.get("teamId") else issue.team
    wanted = _wanted(ask, team, given) | _relabelled(ask, issue, given)
    if "trashed" in given:
        ask.world.shelve(issue, ask.who, archived=bool(given["trashed"]), trashed=given["trashed"] or None)
    if team is not issue.team:
        ask.world.emigrate(issue, team, ask.who, **wanted)
    else:
        ask.world.alter(issue, ask.who, **wanted)
    return {"issue": issue}


def _wanted(ask: Ask, team: Team, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the wanted values by the names of an issue's attributes."""
    wanted: dict[str, Any] = {name: given[name] for name in _PLAIN if name in given}
    if "description" in given:
        wanted["description"] = ask.world.kept(given["description"] or "")
    if given.get("stateId"):
        wanted["state"] = state_in(ask, team, given["stateId"])
    if "labelIds" in given:
        wanted["labels"] = fitting(team, ask.labels(given["labelIds"] or []))
    return wanted | _tied(ask, given)


def _tied(ask: Ask, given: dict[str, Any]) -> dict[str, Any]:
    """Sets or, by null, removes a link to another object."""
    found = {
        "assignee": lambda key: ask.found(ask.world.users, key, "User"),
        "delegate": lambda key: ask.found([one for one in ask.world.users if one.app], key, "User"),
        "project": lambda key: ask.found(ask.world.projects, key, "Project"),
        "parent": ask.issue,
    }
    names = [name for name in found if f"{name}Id" in given]
    return {name: found[name](given[f"{name}Id"]) if given[f"{name}Id"] else None for name in names}


def _relabelled(ask: Ask, issue: Issue, given: dict[str, Any]) -> dict[str, Any]:
    added, removed = given.get("addedLabelIds"), given.get("removedLabelIds")
    if not added and not removed:
        return {}
    if "labelIds" in given:
        raise bad_argument("labelIds cannot be used together with addedLabelIds or removedLabelIds.")
    return {"labels": with_labels(ask, issue, ask.labels(added or []), ask.labels(removed or []))}


@mutation("issueAddLabel")
def _add_label(ask: Ask, *, key: str, label_id: str) -> dict[str, Any]:
    issue = ask.issue(key)
    ask.world.alter(issue, ask.who, labels=with_labels(ask, issue, ask.labels([label_id])))
    return {"issue": issue}


@mutation("issueRemoveLabel")
def _remove_label(ask: Ask, *, key: str, label_id: str) -> dict[str, Any]:
    issue = ask.issue(key)
    ask.world.alter(issue, ask.who, labels=with_labels(ask, issue, [], ask.labels([label_id])))
    return {"issue": issue}


@mutation("issueArchive")
def _archive(ask: Ask, *, key: str, trash: bool | None = None) -> dict[str, Any]:
    issue = ask.issue(key)
    ask.world.shelve(issue, ask.who, archived=True, trashed=trash or None)
    return {"entity": issue}


@mutation("issueUnarchive")
def _unarchive(ask: Ask, *, key: str) -> dict[str, Any]:
    issue = ask.issue(key)
    ask.world.shelve(issue, ask.who, archived=False)
    return {"entity": issue}


@mutation("issueDelete")
def _delete(ask: Ask, *, key: str, permanently_delete: bool | None = None) -> dict[str, Any]:
    """Moves to the trash; deletes permanently only on demand."""
    issue = ask.issue(key)
    if permanently_delete:
        ask.world.delete(issue)
    else:
        ask.world.shelve(issue, ask.who, archived=True, trashed=True)
    return {"entity": None if permanently_delete else issue}


@mutation("issueRelationCreate")
def _relate(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    known(given, "id issueId relatedIssueId type")
    wanted = new_id(ask, given.get("id"), "IssueRelation")
    issue, other = ask.issue(given["issueId"]), ask.issue(given["relatedIssueId"])
    return {"issueRelation": ask.world.tie(issue, given["type"], other, ask.who, wanted)}


@mutation("issueRelationDelete")
def _unrelate(ask: Ask, *, key: str) -> dict[str, Any]:
    gone = ask.found(ask.world.relations, key, "IssueRelation")
    ask.world.relations.remove(gone)
    return {"entityId": gone.id}

"""Parses and validates the input of a mutation."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.linear.errors import Gap, Refusal, bad_argument, taken
from tests.fakes.linear.field_registry import FIELDS, Ask, Resolver
from tests.fakes.linear.model import Issue, Label, State, Team

_HARMLESS = {"doNotSubscribeToIssue", "subscriberIds", "sortOrder", "skipEditedAt"}


def mutation(name: str, *scopes: str) -> Callable[[Resolver], Resolver]:
    """Registers a mutation for tokens with `write` or with one of these narrower scopes."""

    def register(change: Resolver) -> Resolver:
        def permitted(ask: Ask, source: Any, **args: Any) -> dict[str, Any]:
            ask.needs("write", *scopes)
            return {"success": True, "lastSyncId": float(ask.world.now), **change(ask, **args)}

        FIELDS.setdefault("Mutation", {})[name] = permitted
        return change

    return register


def known(given: dict[str, Any], names: str) -> dict[str, Any]:
    unknown = given.keys() - set(names.split()) - _HARMLESS
    if unknown:
        raise Gap(f"inputs {sorted(unknown)}")
    return given


def new_id(ask: Ask, given: str | None, kind: str) -> str | None:
    """Returns the requested id if it is valid and unused."""
    if given is None:
        return None
    try:
        parsed = uuid.UUID(given)
    except ValueError:
        parsed = None
    if parsed is None or parsed.version != 4 or str(parsed) != given.lower():
        raise bad_argument("id must be a UUID.")
    if given.lower() in ask.world.used_ids:
        raise taken(kind, given)
    return given.lower()


def state_in(ask: Ask, team: Team, key: str) -> State:
    state = ask.found(ask.world.states, key, "WorkflowState")
    if state.team is not team:
        raise Refusal("stateId for incorrect team", f"The status '{state.name}' is not one of the issue's team.")
    return state


def fitting(team: Team, labels: Sequence[Label]) -> list[Label]:
    """Returns the labels if an issue of that team may have all of them together."""
    for one in labels:
        if one.is_group:
            raise Refusal("labelIds contain a group", f"The label '{one.name}' is a group and cannot be applied.")
        if one.team not in {None, team}:
            raise Refusal("labelIds for incorrect team", f"The label '{one.name}' is of another team.")
    for one in labels:
        rival = next((o for o in labels if o is not one and o.parent and o.parent is one.parent), None)
        if rival:
            raise Refusal(
                "labelIds not exclusive child labels",
                f"The label '{one.name}' is in the same group as '{rival.name}'. "
                "Only one label in a group can be applied to an issue.",
            )
    return [*labels]


def with_labels(ask: Ask, issue: Issue, added: Sequence[Label], removed: Sequence[Label] = ()) -> list[Label]:
    """Returns the issue's labels after the change."""
    kept = [one for one in issue.labels if one not in removed]
    fitting(issue.team, added)
    if ask.world.swaps_grouped_labels:
        for one in added:
            kept = ask.world.with_label(kept, one)
        return kept
    return fitting(issue.team, [*kept, *(one for one in added if one not in kept)])

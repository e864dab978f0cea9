"""REST API of issues: lists, single issues, labels, events, locks."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from tests.fakes.github.api_request import Ask, Refusal, Reply, invalid, paged, redirection, route
from tests.fakes.github.as_json import KINDS, Shapes
from tests.fakes.github.model import Issue, Lasting, Repository, iso

ISSUES = "/repos/{owner}/{repo}/issues"
ISSUE = f"{ISSUES}/{{number}}"
EITHER = "issues|pull_requests"
_Thing = TypeVar("_Thing", bound=Lasting)


def home_of(ask: Ask) -> Repository:
    assert ask.home
    return ask.home


def issue_of(ask: Ask, number: int) -> Issue:
    home = home_of(ask)
    if number in home.issues:
        return home.issues[number]
    if number in home.deleted:
        raise Refusal(410, "This issue was deleted")
    if number in home.moved and ask.may("read", home.moved[number][0]):
        target, there = home.moved[number]
        raise redirection(ask, target, f"issues/{there}" + ask.path.partition(f"/issues/{number}")[2])
    raise Refusal(404, "Not Found")


def since(ask: Ask, things: Iterable[_Thing]) -> list[_Thing]:
    if not (text := ask.query.get("since")):
        return list(things)
    try:
        start = iso(datetime.fromisoformat(text).timestamp())
    except ValueError:
        raise invalid("Issue", "since must be a time", name="since") from None
    return [thing for thing in things if iso(thing.updated_at) >= start]


def in_order(ask: Ask, things: Iterable[_Thing], *, descending: bool) -> list[_Thing]:
    """Sorts by `sort` and `direction`; ties by id in the same direction."""
    by: Callable[[_Thing], tuple[str, int]] = (
        (lambda thing: (iso(thing.updated_at), thing.id))
        if ask.query.get("sort") == "updated"
        else (lambda thing: (iso(thing.created_at), thing.id))
    )
    direction = ask.query.get("direction")
    return sorted(things, key=by, reverse=descending if direction is None else direction == "desc")


@route("GET", ISSUES, app=EITHER, anonymous=True)
def issues(ask: Ask) -> Reply:
    home, state = home_of(ask), ask.query.get("state", "open")
    wanted = {name.strip().lower() for name in ask.query.get("labels", "").split(",") if name.strip()}
    creator = ask.query.get("creator", "").lower()
    found = [
        issue
        for issue in since(ask, ask.world.listed(home.issues.values()))
        if state in {"all", issue.state}
        and wanted <= {label.name.lower() for label in issue.labels}
        and (not creator or (issue.author and issue.author.login.lower() == creator))
    ]
    return paged(ask, in_order(ask, found, descending=True), lambda issue: Shapes(ask.base).issue(home, issue))


@route("POST", ISSUES, app="issues")
def open_issue(ask: Ask) -> Reply:
    home = home_of(ask)
    labels = [one if isinstance(one, str) else one["name"] for one in ask.field("labels", list, [])]
    made = ask.world.open_issue(
        home.full_name,
        str(ask.needed("title", object)),
        ask.field("body", str) or "",
        by=ask.login,
        labels=labels if ask.may("triage") else [],
    )
    shape = Shapes(ask.base).issue(home, made)
    return Reply(201, shape, {"Location": shape["url"]})


@route("GET", ISSUE, app=EITHER, anonymous=True)
def issue(ask: Ask, number: int) -> Reply:
    return Reply(200, Shapes(ask.base).issue(home_of(ask), issue_of(ask, number)))


@route("PATCH", ISSUE, app=EITHER)
def edit_issue(ask: Ask, number: int) -> Reply:
    home, found = home_of(ask), issue_of(ask, number)
    own = found.author is not None and found.author.login == ask.login
    title, body, state = ask.field("title", object), ask.field("body", str), ask.field("state", str)
    if not own and not ask.may("write" if title is not None or body is not None else "triage"):
        raise Refusal(403, "Must have admin rights to Repository.")
    ask.world.edit_issue(home.full_name, number, title=None if title is None else str(title), body=body, by=ask.login)
    if state == "closed":
        reason = ask.field("state_reason", str) or "completed"
        ask.world.close(home.full_name, number, by=ask.login, reason=reason)
    if state == "open":
        ask.world.reopen(home.full_name, number, by=ask.login)
    return Reply(200, Shapes(ask.base).issue(home, found))


# Labels on issues.


@route("GET", f"{ISSUE}/labels", app=EITHER, anonymous=True)
def labels_of(ask: Ask, number: int) -> Reply:
    home = home_of(ask)
    return paged(ask, issue_of(ask, number).labels, lambda label: Shapes(ask.base).label(home, label))


@route("POST", f"{ISSUE}/labels", level="triage", app=EITHER)
def add_labels(ask: Ask, number: int) -> Reply:
    issue_of(ask, number)
    given = ask.body if isinstance(ask.body, list) else ask.field("labels", list, [])
    names = [one if isinstance(one, str) else one["name"] for one in given]
    unknown = [name for name in names if name.lower() not in home_of(ask).labels]
    if unknown and not ask.may("write"):
        raise Refusal(404, "Not Found")
    ask.world.label(home_of(ask).full_name, number, *names, by=ask.login)
    return labels_of(ask, number)


@route("DELETE", f"{ISSUE}/labels/{{name}}", level="triage", app=EITHER)
def remove_label(ask: Ask, number: int, name: str) -> Reply:
    found = issue_of(ask, number)
    if name.lower() not in {label.name.lower() for label in found.labels}:
        raise Refusal(404, "Label does not exist")
    ask.world.unlabel(home_of(ask).full_name, number, name, by=ask.login)
    return labels_of(ask, number)


# Events, and permissions


@route("GET", f"{ISSUE}/events", app=EITHER, anonymous=True)
def events(ask: Ask, number: int) -> Reply:
    home = home_of(ask)
    return paged(ask, issue_of(ask, number).events, lambda event: Shapes(ask.base).event(home, event))


@route("GET", f"{ISSUE}/timeline", app=EITHER, anonymous=True)
def timeline(ask: Ask, number: int) -> Reply:
    return events(ask, number)


@route("PUT", f"{ISSUE}/lock", level="triage", app=EITHER)
def lock(ask: Ask, number: int) -> Reply:
    issue_of(ask, number)
    ask.world.lock_issue(home_of(ask).full_name, number, by=ask.login)
    return Reply(204)


@route("DELETE", f"{ISSUE}/lock", level="triage", app=EITHER)
def unlock(ask: Ask, number: int) -> Reply:
    issue_of(ask, number)
    ask.world.lock_issue(home_of(ask).full_name, number, by=ask.login, locked=False)
    return Reply(204)


# Reactions of every kind


def reactions_to(ask: Ask, thing: Lasting) -> Reply:
    wanted = ask.query.get("content", "")
    shown = [one for one in thing.reactions if wanted in {"", one.content}]
    return paged(ask, shown, Shapes(ask.base).reaction)


def react_to(ask: Ask, thing: Lasting) -> Reply:
    content = ask.needed("content", str)
    if content not in KINDS:
        raise invalid("Reaction", "content is not one of the known ones", name="content")
    reaction, new = ask.world.react(thing, content, by=ask.login)
    return Reply(201 if new else 200, Shapes(ask.base).reaction(reaction))


def take_back(ask: Ask, thing: Lasting, reaction: str) -> Reply:
    kept = [one for one in thing.reactions if one.id != int(reaction) or one.user.login != ask.login]
    if len(kept) == len(thing.reactions):
        raise Refusal(404, "Not Found")
    thing.reactions = kept
    return Reply(204)


@route("GET", f"{ISSUE}/reactions", app=EITHER, anonymous=True)
def reactions(ask: Ask, number: int) -> Reply:
    return reactions_to(ask, issue_of(ask, number))


@route("POST", f"{ISSUE}/reactions", app=EITHER)
def react(ask: Ask, number: int) -> Reply:
    return react_to(ask, issue_of(ask, number))


@route("DELETE", f"{ISSUE}/reactions/{{reaction_id}}", app=EITHER)
def unreact(ask: Ask, number: int, reaction_id: str) -> Reply:
    return take_back(ask, issue_of(ask, number), reaction_id)

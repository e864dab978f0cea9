"""REST API of comments on issues and pull requests, one by one and per repository."""

from tests.fakes.github.api_request import Ask, Refusal, Reply, paged, route
from tests.fakes.github.as_json import Shapes
from tests.fakes.github.model import Comment
from tests.fakes.github.rest_issues import (
    EITHER,
    ISSUE,
    ISSUES,
    home_of,
    in_order,
    issue_of,
    react_to,
    reactions_to,
    since,
    take_back,
)

COMMENT = f"{ISSUES}/comments/{{key}}"


def _comment(ask: Ask, number: int) -> Comment:
    found = home_of(ask).comments.get(number)
    if found is None:
        raise Refusal(404, "Not Found")
    return found


def _own(ask: Ask, found: Comment) -> Comment:
    if not (found.author and found.author.login == ask.login) and not ask.may("write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return found


@route("GET", f"{ISSUE}/comments", app=EITHER, anonymous=True)
def comments_of(ask: Ask, number: int) -> Reply:
    home = home_of(ask)
    issue_of(ask, number)
    found = [c for c in since(ask, ask.world.listed(home.comments.values())) if c.number == number]
    return paged(ask, sorted(found, key=lambda c: c.id), lambda one: Shapes(ask.base).comment(home, one))


@route("POST", f"{ISSUE}/comments", app=EITHER)
def comment(ask: Ask, number: int) -> Reply:
    home, issue = home_of(ask), issue_of(ask, number)
    if issue.locked and not ask.may("write"):
        raise Refusal(403, "Unable to create comment because issue is locked.")
    made = ask.world.comment(home.full_name, number, ask.needed("body", str), by=ask.login)
    shape = Shapes(ask.base).comment(home, made)
    return Reply(201, shape, {"Location": shape["url"]})


@route("GET", f"{ISSUES}/comments", app=EITHER, anonymous=True)
def all_comments(ask: Ask) -> Reply:
    home = home_of(ask)
    found = since(ask, ask.world.listed(home.comments.values()))
    descending = "sort" in ask.query and ask.query.get("direction") == "desc"
    ordered = in_order(ask, found, descending=descending)
    return paged(ask, ordered, lambda one: Shapes(ask.base).comment(home, one))


@route("GET", COMMENT, app=EITHER, anonymous=True)
def one_comment(ask: Ask, key: int) -> Reply:
    return Reply(200, Shapes(ask.base).comment(home_of(ask), _comment(ask, key)))


@route("PATCH", COMMENT, app=EITHER)
def edit_comment(ask: Ask, key: int) -> Reply:
    found = _own(ask, _comment(ask, key))
    ask.world.edit_comment(home_of(ask).full_name, key, ask.needed("body", str), by=ask.login)
    return Reply(200, Shapes(ask.base).comment(home_of(ask), found))


@route("DELETE", COMMENT, app=EITHER)
def delete_comment(ask: Ask, key: int) -> Reply:
    _own(ask, _comment(ask, key))
    ask.world.delete_comment(home_of(ask).full_name, key)
    return Reply(204)


@route("GET", f"{COMMENT}/reactions", app=EITHER, anonymous=True)
def reactions(ask: Ask, key: int) -> Reply:
    return reactions_to(ask, _comment(ask, key))


@route("POST", f"{COMMENT}/reactions", app=EITHER)
def react(ask: Ask, key: int) -> Reply:
    return react_to(ask, _comment(ask, key))


@route("DELETE", f"{COMMENT}/reactions/{{reaction_id}}", app=EITHER)
def unreact(ask: Ask, key: int, reaction_id: str) -> Reply:
    return take_back(ask, _comment(ask, key), reaction_id)

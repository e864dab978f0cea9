"""REST API of reviews and inline comments."""

from tests.fakes.github.api_request import Ask, Json, Refusal, Reply, invalid, paged, route
from tests.fakes.github.model import Inline, Review
from tests.fakes.github.pulls_as_json import PullShapes
from tests.fakes.github.rest_issues import home_of, in_order, react_to, reactions_to, since, take_back
from tests.fakes.github.rest_pulls import APP, PULL, PULLS, pull_of

REMARK = f"{PULLS}/comments/{{key}}"
_STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", None: "PENDING"}


def _visible(ask: Ask, review: Review) -> bool:
    """A pending review is visible to its author only."""
    return review.state != "PENDING" or (ask.token is not None and review.author is ask.token.user)


def _submitted(ask: Ask, inline: Inline) -> bool:
    review = home_of(ask).reviews.get(inline.review or 0)
    return review is None or review.state != "PENDING"


def _review(ask: Ask, number: int, review_id: str) -> Review:
    found = home_of(ask).reviews.get(int(review_id))
    if found is None or found.number != number or not _visible(ask, found):
        raise Refusal(404, "Not Found")
    return found


def _remark(ask: Ask, key: int) -> Inline:
    found = home_of(ask).inlines.get(key)
    if found is None or not _submitted(ask, found):
        raise Refusal(404, "Not Found")
    return found


def _shape(ask: Ask, inline: Inline) -> Json:
    return PullShapes(ask.base).inline(home_of(ask), inline)


@route("GET", f"{PULL}/reviews", app=APP, anonymous=True)
def reviews(ask: Ask, number: int) -> Reply:
    home = home_of(ask)
    pull_of(ask, number)
    listed = ask.world.listed(home.reviews.values())
    found = [review for review in listed if review.number == number and _visible(ask, review)]
    return paged(ask, found, lambda review: PullShapes(ask.base).review(home, review))


@route("POST", f"{PULL}/reviews", app=APP)
def review(ask: Ask, number: int) -> Reply:
    home = home_of(ask)
    pull_of(ask, number)
    event, body = ask.field("event", str) or None, ask.field("body", str) or ""
    comments = ask.field("comments", list, [])
    if event in {"COMMENT", "REQUEST_CHANGES"} and not body and not comments:
        raise invalid("PullRequestReview", "body is required", name="body")
    made = ask.world.review(
        home.full_name, number, by=ask.login, state=_STATES[event], body=body, commit=ask.field("commit_id", str) or "",
        remarks=[(one["path"], one["line"], one["body"]) for one in comments],
    )  # fmt: skip
    return Reply(200, PullShapes(ask.base).review(home, made))


@route("GET", f"{PULL}/reviews/{{review_id}}", app=APP, anonymous=True)
def one_review(ask: Ask, number: int, review_id: str) -> Reply:
    return Reply(200, PullShapes(ask.base).review(home_of(ask), _review(ask, number, review_id)))


@route("POST", f"{PULL}/reviews/{{review_id}}/events", app=APP)
def submit(ask: Ask, number: int, review_id: str) -> Reply:
    found = _review(ask, number, review_id)
    state = _STATES[ask.needed("event", str)]
    ask.world.submit(home_of(ask).full_name, found.id, state=state, body=ask.field("body", str) or "")
    return Reply(200, PullShapes(ask.base).review(home_of(ask), found))


@route("GET", f"{PULL}/reviews/{{review_id}}/comments", app=APP, anonymous=True)
def remarks_of_review(ask: Ask, number: int, review_id: str) -> Reply:
    found = _review(ask, number, review_id)
    listed = ask.world.listed(home_of(ask).inlines.values())
    return paged(ask, [one for one in listed if one.review == found.id], lambda one: _shape(ask, one))


@route("GET", f"{PULL}/comments", app=APP, anonymous=True)
def remarks(ask: Ask, number: int) -> Reply:
    pull_of(ask, number)
    found = [one for one in _all(ask) if one.number == number]
    return paged(ask, in_order(ask, found, descending=False), lambda one: _shape(ask, one))


@route("GET", f"{PULLS}/comments", app=APP, anonymous=True)
def all_remarks(ask: Ask) -> Reply:
    descending = "sort" in ask.query and ask.query.get("direction") == "desc"
    return paged(ask, in_order(ask, _all(ask), descending=descending), lambda one: _shape(ask, one))


def _all(ask: Ask) -> list[Inline]:
    listed = ask.world.listed(home_of(ask).inlines.values())
    return [one for one in since(ask, listed) if _submitted(ask, one)]


@route("POST", f"{PULL}/comments", app=APP)
def remark(ask: Ask, number: int) -> Reply:
    pull_of(ask, number)
    body, name = ask.needed("body", str), home_of(ask).full_name
    if answered := ask.field("in_reply_to", int):
        return Reply(201, _shape(ask, ask.world.reply(name, answered, body, by=ask.login)))
    path, line = ask.needed("path", str), ask.needed("line", int)
    return Reply(201, _shape(ask, ask.world.remark(name, number, path, line, body, by=ask.login)))


@route("POST", f"{PULL}/comments/{{key}}/replies", app=APP)
def reply(ask: Ask, number: int, key: int) -> Reply:
    if _remark(ask, key).number != number:
        raise Refusal(404, "Not Found")
    if pull_of(ask, number).locked and not ask.may("write"):
        raise Refusal(403, "Unable to create comment because issue is locked.")
    made = ask.world.reply(home_of(ask).full_name, key, ask.needed("body", str), by=ask.login)
    return Reply(201, _shape(ask, made))


@route("GET", REMARK, app=APP, anonymous=True)
def one_remark(ask: Ask, key: int) -> Reply:
    return Reply(200, _shape(ask, _remark(ask, key)))


@route("PATCH", REMARK, app=APP)
def edit_remark(ask: Ask, key: int) -> Reply:
    found = _own(ask, key)
    ask.world.edit_comment(home_of(ask).full_name, key, ask.needed("body", str), by=ask.login)
    return Reply(200, _shape(ask, found))


@route("DELETE", REMARK, app=APP)
def delete_remark(ask: Ask, key: int) -> Reply:
    _own(ask, key)
    ask.world.delete_comment(home_of(ask).full_name, key)
    return Reply(204)


def _own(ask: Ask, key: int) -> Inline:
    found = _remark(ask, key)
    if not (found.author and found.author.login == ask.login) and not ask.may("write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return found


@route("GET", f"{REMARK}/reactions", app=APP, anonymous=True)
def reactions(ask: Ask, key: int) -> Reply:
    return reactions_to(ask, _remark(ask, key))


@route("POST", f"{REMARK}/reactions", app=APP)
def react(ask: Ask, key: int) -> Reply:
    return react_to(ask, _remark(ask, key))


@route("DELETE", f"{REMARK}/reactions/{{reaction_id}}", app=APP)
def unreact(ask: Ask, key: int, reaction_id: str) -> Reply:
    return take_back(ask, _remark(ask, key), reaction_id)

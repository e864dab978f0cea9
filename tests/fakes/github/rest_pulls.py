"""REST API of pull requests."""

from tests.fakes.github import gits
from tests.fakes.github.api_request import Ask, Refusal, Reply, invalid, paged, route
from tests.fakes.github.model import Issue
from tests.fakes.github.pull_request_actions import NotMergeable
from tests.fakes.github.pulls_as_json import PullShapes
from tests.fakes.github.rest_issues import home_of, in_order

PULLS = "/repos/{owner}/{repo}/pulls"
PULL = f"{PULLS}/{{number}}"
APP = "pull_requests"


def pull_of(ask: Ask, number: int) -> Issue:
    found = home_of(ask).issues.get(number)
    if found is None or found.pull is None:
        raise Refusal(404, "Not Found")
    return found


def whole(ask: Ask, issue: Issue, status: int = 200) -> Reply:
    home = home_of(ask)
    conflicts = issue.state == "open" and ask.world.conflicts(home, issue)
    shape = PullShapes(ask.base).whole_pull(home, issue, ask.level(home), conflicts=conflicts)
    return Reply(status, shape, {"Location": shape["url"]} if status == 201 else {})


@route("GET", PULLS, app=APP, anonymous=True)
def pulls(ask: Ask) -> Reply:
    home, state, level = home_of(ask), ask.query.get("state", "open"), ask.level(home_of(ask))
    head, base = ask.query.get("head", ""), ask.query.get("base", "")
    found = [
        issue
        for issue in ask.world.listed(home.issues.values())
        if issue.pull
        and state in {"all", issue.state}
        and (":" not in head or f"{issue.pull.source(home).owner.login}:{issue.pull.head_ref}".lower() == head.lower())
        and base in {"", issue.pull.base_ref}
    ]
    ordered = in_order(ask, found, descending=ask.query.get("sort", "created") == "created")
    return paged(ask, ordered, lambda issue: PullShapes(ask.base).pull(home, issue, level))


@route("POST", PULLS, level="read", app=APP)
def open_pull(ask: Ask) -> Reply:
    home = home_of(ask)
    head, base = ask.needed("head", str), ask.needed("base", str)
    branch = head.removeprefix(f"{home.owner.login}:")
    if not ask.may("write"):
        raise Refusal(403, "You must have push access to the head repository")
    for name, where in (("head", branch), ("base", base)):
        if not gits.tip(home.path, where):
            raise invalid("PullRequest", "", code="invalid", name=name)
    made = ask.world.open_pull(
        home.full_name,
        ask.field("title", str) or "",
        ask.field("body", str) or "",
        head=branch,
        base=base,
        by=ask.login,
        draft=bool(ask.field("draft", bool, default=False)),
    )
    return whole(ask, made, 201)


@route("GET", PULL, app=APP, anonymous=True)
def pull(ask: Ask, number: int) -> Reply:
    return whole(ask, pull_of(ask, number))


@route("PATCH", PULL, app=APP)
def edit_pull(ask: Ask, number: int) -> Reply:
    home, found = home_of(ask), pull_of(ask, number)
    if not (found.author and found.author.login == ask.login) and not ask.may("write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    title, body, state = ask.field("title", str), ask.field("body", str), ask.field("state", str)
    ask.world.edit_issue(home.full_name, number, title=title, body=body, by=ask.login)
    if base := ask.field("base", str):
        ask.world.retarget(home.full_name, number, base, by=ask.login)
    if state == "closed":
        ask.world.close(home.full_name, number, by=ask.login)
    if state == "open":
        ask.world.reopen(home.full_name, number, by=ask.login)
    return whole(ask, found)


@route("GET", f"{PULL}/merge", app=APP, anonymous=True)
def is_merged(ask: Ask, number: int) -> Reply:
    found = pull_of(ask, number)
    if found.pull and found.pull.merged_at:
        return Reply(204)
    raise Refusal(404, "Not Found")


@route("PUT", f"{PULL}/merge", level="write", app="contents")
def merge(ask: Ask, number: int) -> Reply:
    home, found = home_of(ask), pull_of(ask, number)
    expected, how = ask.field("sha", str), ask.field("merge_method", str) or "merge"
    if expected and found.pull and expected != found.pull.head:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    try:
        sha = ask.world.merge(home.full_name, number, how, by=ask.login, readying=False)
    except NotMergeable as problem:
        raise Refusal(405, str(problem)) from problem
    return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@route("GET", f"{PULL}/files", app=APP, anonymous=True)
def files(ask: Ask, number: int) -> Reply:
    home, found = home_of(ask), pull_of(ask, number)
    assert found.pull
    rows = gits.files_between(home.path, found.pull.base, found.pull.head)
    return paged(ask, rows, lambda row: PullShapes(ask.base).file(home, found.pull.head, *row))

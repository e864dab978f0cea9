"""REST API of repositories, their labels, collaborators, branches and refs, and of the account."""

import fnmatch

from tests.fakes.github import gits
from tests.fakes.github.api_request import Ask, Refusal, Reply, invalid, paged, route
from tests.fakes.github.limits import HOURLY
from tests.fakes.github.pulls_as_json import PullShapes
from tests.fakes.github.rest_issues import home_of

REPO = "/repos/{owner}/{repo}"


@route("GET", "/user")
def user(ask: Ask) -> Reply:
    if ask.token is None:
        raise Refusal(401, "Requires authentication")
    if ask.token.installation:
        raise Refusal(403, "Resource not accessible by integration")
    return Reply(200, PullShapes(ask.base).account(ask.token.user))


@route("GET", "/users/{login}", anonymous=True)
def somebody(ask: Ask, login: str) -> Reply:
    found = ask.world.users.get(login.lower())
    if found is None:
        raise Refusal(404, "Not Found")
    return Reply(200, PullShapes(ask.base).account(found))


@route("GET", "/rate_limit", anonymous=True)
def rate_limit(ask: Ask) -> Reply:
    window = int(ask.world.now // 3600 + 1) * 3600
    used = ask.token.used if ask.token else {}
    resources = {
        name: {
            "limit": HOURLY,
            "used": used.get(name, 0),
            "remaining": HOURLY - used.get(name, 0),
            "reset": window,
        }
        for name in ("core", "search", "graphql")
    }
    return Reply(200, {"resources": resources, "rate": resources["core"]})


@route("GET", "/meta", anonymous=True)
def meta(ask: Ask) -> Reply:
    return Reply(200, {"verifiable_password_authentication": False})


@route("GET", REPO, anonymous=True)
def repository(ask: Ask) -> Reply:
    home = home_of(ask)
    return Reply(200, PullShapes(ask.base).repository(home, ask.level(home)))


# Labels.


@route("GET", f"{REPO}/labels", app="issues|pull_requests", anonymous=True)
def labels(ask: Ask) -> Reply:
    home = home_of(ask)
    return paged(ask, list(home.labels.values()), lambda label: PullShapes(ask.base).label(home, label))


@route("GET", f"{REPO}/labels/{{name}}", app="issues|pull_requests", anonymous=True)
def label(ask: Ask, name: str) -> Reply:
    found = home_of(ask).labels.get(name.lower())
    if found is None:
        raise Refusal(404, "Not Found")
    return Reply(200, PullShapes(ask.base).label(home_of(ask), found))


@route("POST", f"{REPO}/labels", level="write", app="issues|pull_requests")
def make_label(ask: Ask) -> Reply:
    home, name = home_of(ask), ask.needed("name", str)
    if name.lower() in home.labels:
        raise invalid("Label", "", code="already_exists", name="name")
    color = ask.field("color", str) or "ededed"
    made = ask.world.make_label(home.full_name, name, color=color, description=ask.field("description", str))
    return Reply(201, PullShapes(ask.base).label(home, made))


# People.


@route("GET", f"{REPO}/collaborators/{{login}}/permission", level="read")
def permission(ask: Ask, login: str) -> Reply:
    """Returns maintain and triage as `write` and `read`, like GitHub; `role_name` has the exact role."""
    if not ask.may("write"):
        raise Refusal(403, "Must have push access to view collaborator permission.")
    if login.endswith("[bot]"):
        raise Refusal(404, f"{login} is not a user")
    found = ask.world.users.get(login.lower())
    if found is None:
        raise Refusal(404, "Not Found")
    home = home_of(ask)
    level = home.level_of(found)
    permission = {"maintain": "write", "triage": "read"}.get(level, level)
    rights = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read"}
    shape = PullShapes(ask.base).user(found) or {}
    shape["permissions"] = {name: PullShapes.has(level, needed) for name, needed in rights.items()}
    shape["role_name"] = level
    return Reply(200, {"permission": permission, "role_name": level, "user": shape})


@route("GET", f"{REPO}/collaborators/{{login}}", level="read")
def is_collaborator(ask: Ask, login: str) -> Reply:
    if login.lower() in home_of(ask).levels:
        return Reply(204)
    raise Refusal(404, "Not Found")


# Branches and refs.


@route("GET", f"{REPO}/branches/{{branch:path}}", app="contents", anonymous=True)
def branch(ask: Ask, branch: str) -> Reply:
    home = home_of(ask)
    sha = gits.tip(home.path, branch)
    repo_url = PullShapes(ask.base).repo_url(home)
    if sha is None and branch in home.renamed_branches:
        raise Refusal(301, "Moved Permanently", Location=f"{repo_url}/branches/{home.renamed_branches[branch]}")
    if sha is None:
        raise Refusal(404, "Branch not found")
    url = f"{repo_url}/branches/{branch}"
    protected = any(fnmatch.fnmatchcase(branch, pattern) for pattern in home.protected)
    shape = {
        "name": branch, "commit": PullShapes(ask.base).commit(home, sha), "protected": protected,
        "_links": {"self": url, "html": url}, "protection_url": f"{url}/protection",
        "protection": {
            "enabled": protected,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        },
    }  # fmt: skip
    return Reply(200, shape)


@route("GET", f"{REPO}/rules/branches/{{branch:path}}", app="metadata", anonymous=True)
def rules(ask: Ask, branch: str) -> Reply:
    home = home_of(ask)
    source = {"ruleset_source_type": "Repository", "ruleset_source": home.full_name, "ruleset_id": 1}
    hit = any(fnmatch.fnmatchcase(branch, pattern) for pattern in home.protected)
    return paged(ask, [{"type": "update", **source}] if hit else [], lambda rule: rule)


@route("GET", f"{REPO}/commits/{{sha}}", app="contents", anonymous=True)
def commit(ask: Ask, sha: str) -> Reply:
    home = home_of(ask)
    if not gits.ok(home.path, "rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}"):
        raise Refusal(422, f"No commit found for SHA: {sha}")
    return Reply(200, PullShapes(ask.base).commit(home, gits.git(home.path, "rev-parse", sha)))


@route("GET", f"{REPO}/git/matching-refs/{{ref:path}}", app="contents", anonymous=True)
def matching_refs(ask: Ask, ref: str) -> Reply:
    home = home_of(ask)
    found = [(name, sha) for name, sha in ask.world.refs(home).items() if name.startswith(f"refs/{ref}")]
    return paged(ask, sorted(found), lambda pair: PullShapes(ask.base).ref(home, *pair))


@route("GET", f"{REPO}/git/ref/{{ref:path}}", app="contents", anonymous=True)
def one_ref(ask: Ask, ref: str) -> Reply:
    home = home_of(ask)
    sha = ask.world.refs(home).get(f"refs/{ref}")
    if sha is None:
        raise Refusal(404, "Not Found")
    return Reply(200, PullShapes(ask.base).ref(home, f"refs/{ref}", sha))


@route("POST", f"{REPO}/git/refs", level="write", app="contents")
def create_ref(ask: Ask) -> Reply:
    home, ref, sha = home_of(ask), ask.needed("ref", str), ask.needed("sha", str)
    if ref in ask.world.refs(home):
        raise Refusal(422, "Reference already exists")
    ask.world.force_push(home.full_name, ref.removeprefix("refs/heads/"), sha, by=ask.login)
    return Reply(201, PullShapes(ask.base).ref(home, ref, sha))


@route("DELETE", f"{REPO}/git/refs/{{ref:path}}", level="write", app="contents")
def delete_ref(ask: Ask, ref: str) -> Reply:
    home, name = home_of(ask), ref.removeprefix("heads/")
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in home.protected):
        raise Refusal(422, "Cannot delete this branch")
    if f"refs/{ref}" not in ask.world.refs(home):
        raise Refusal(422, "Reference does not exist")
    ask.world.delete_branch(home.full_name, name, by=ask.login)
    return Reply(204)

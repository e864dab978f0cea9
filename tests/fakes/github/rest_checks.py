"""REST API of check runs, statuses and job logs."""

from tests.fakes.github import gits
from tests.fakes.github.api_request import Ask, Refusal, Reply, paged, route
from tests.fakes.github.model import Check, Repository, Status
from tests.fakes.github.pulls_as_json import PullShapes
from tests.fakes.github.rest_issues import home_of
from tests.fakes.github.rest_repositories import REPO


def latest_checks(home: Repository, sha: str) -> list[Check]:
    """Returns the newest check of each name."""
    return list({check.name: check for check in home.checks.values() if check.sha == sha}.values())


def latest_statuses(home: Repository, sha: str) -> list[Status]:
    return list({status.context: status for status in home.statuses if status.sha == sha}.values())


def state_of(statuses: list[Status]) -> str:
    states = {status.state for status in statuses}
    return "failure" if states & {"failure", "error"} else "pending" if not states or "pending" in states else "success"


def _sha(ask: Ask, ref: str) -> str:
    home = home_of(ask)
    if not gits.ok(home.path, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"):
        raise Refusal(422, f"No commit found for SHA: {ref}")
    return gits.git(home.path, "rev-parse", ref)


def _check(ask: Ask, number: int) -> Check:
    found = home_of(ask).checks.get(number)
    if found is None:
        raise Refusal(404, "Not Found")
    return found


@route("GET", f"{REPO}/commits/{{ref:path}}/check-runs", app="checks", anonymous=True)
def check_runs(ask: Ask, ref: str) -> Reply:
    home, sha = home_of(ask), _sha(ask, ref)
    found = latest_checks(home, sha)
    if ask.query.get("filter") == "all":
        found = [check for check in home.checks.values() if check.sha == sha]
    status, name = ask.query.get("status", ""), ask.query.get("check_name", "")
    found = [check for check in found if status in {"", check.status} and name in {"", check.name}]
    return paged(ask, found, lambda check: PullShapes(ask.base).check(home, check), wrap="check_runs")


@route("GET", f"{REPO}/check-runs/{{key}}", app="checks", anonymous=True)
def check_run(ask: Ask, key: int) -> Reply:
    return Reply(200, PullShapes(ask.base).check(home_of(ask), _check(ask, key)))


@route("GET", f"{REPO}/check-runs/{{key}}/annotations", app="checks", anonymous=True)
def annotations(ask: Ask, key: int) -> Reply:
    home, shapes = home_of(ask), PullShapes(ask.base)
    return paged(ask, _check(ask, key).annotations, lambda one: shapes.annotation(home, *one))


@route("GET", f"{REPO}/commits/{{ref:path}}/status", app="statuses", anonymous=True)
def combined_status(ask: Ask, ref: str) -> Reply:
    home, sha, shapes = home_of(ask), _sha(ask, ref), PullShapes(ask.base)
    found = latest_statuses(home, sha)
    url = f"{shapes.repo_url(home)}/commits/{sha}"
    return Reply(200, {
        "state": state_of(found), "sha": sha, "total_count": len(found), "commit_url": url, "url": f"{url}/status",
        "statuses": [shapes.status(home, one) for one in found], "repository": shapes.small_repository(home),
    })  # fmt: skip


@route("GET", f"{REPO}/commits/{{ref:path}}/statuses", app="statuses", anonymous=True)
def statuses(ask: Ask, ref: str) -> Reply:
    home, sha, shapes = home_of(ask), _sha(ask, ref), PullShapes(ask.base)
    found = [one for one in reversed(home.statuses) if one.sha == sha]
    return paged(ask, found, lambda one: shapes.status(home, one) | {"creator": shapes.user(one.by)})


@route("GET", f"{REPO}/actions/runs", app="actions", anonymous=True)
def workflow_runs(ask: Ask) -> Reply:
    home, sha = home_of(ask), ask.query.get("head_sha", "")
    found = {check.suite: check for check in home.checks.values() if check.log is not None and sha in {"", check.sha}}
    shape = PullShapes(ask.base).workflow_run
    return paged(ask, list(found.values()), lambda check: shape(home, check), wrap="workflow_runs")


@route("GET", f"{REPO}/actions/runs/{{key}}/jobs", app="actions", anonymous=True)
def jobs(ask: Ask, key: int) -> Reply:
    home = home_of(ask)
    found = [check for check in home.checks.values() if check.log is not None and check.suite == key]
    newest = list({check.name: check for check in found}.values())
    return paged(ask, newest, lambda check: PullShapes(ask.base).job(home, check), wrap="jobs")


@route("GET", f"{REPO}/actions/jobs/{{key}}/logs", app="actions")
def logs(ask: Ask, key: int) -> Reply:
    """Redirects to the text, which anybody with its address may read."""
    check = _check(ask, key)
    if check.log is None or check.status != "completed":
        raise Refusal(404, "Not Found")
    return Reply(302, None, {"Location": f"{ask.site}/_logs/{home_of(ask).id}/{key}"}, text="")

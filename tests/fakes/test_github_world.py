"""The stand-in GitHub behaves like GitHub, as far as the real PyGithub and the real git can tell."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from github import Auth, Github, GithubException

from tests.fakes.github import ServedGitHub, gits
from tests.fakes.github.schemas import Checker, Exchange

SHOP = "acme/shop"


def client(github: ServedGitHub, login: str = "treehand-bot", *, auth: Auth.Auth | None = None) -> Github:
    auth = auth or Auth.Token(github.token_for(login))
    return Github(base_url=github.url, auth=auth, retry=None, seconds_between_requests=0, seconds_between_writes=0)


def raw(github: ServedGitHub, path: str, login: str = "treehand-bot", *, verb: str = "GET", **headers: str):
    """Returns status, headers and text of one request."""
    requester = client(github, login).requester
    return requester.requestJson(verb, path, headers=headers)


def refused(call) -> int:
    with pytest.raises(GithubException) as problem:
        call()
    return problem.value.status


def git(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_TERMINAL_PROMPT": "0"}
    who = ("-c", "user.name=Bot", "-c", "user.email=bot@example.com")
    return subprocess.run(["git", *who, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def remote(github: ServedGitHub, login: str) -> str:
    return f"{github.url.replace('//', f'//x-access-token:{github.token_for(login)}@')}/{SHOP}.git"


@pytest.fixture
def pull(github: ServedGitHub) -> Iterator[int]:
    github.world.push(SHOP, "treehand/shop-1", {"app.py": "answer = 42\nname = 'x'\nlast = 3\n"}, by="treehand-bot")
    yield github.world.open_pull(SHOP, "Fix", "Fixes #1", head="treehand/shop-1", by="treehand-bot", draft=True).number


@pytest.fixture(autouse=True)
def an_issue(github: ServedGitHub) -> None:
    github.world.open_issue(SHOP, "The answer is wrong", "Please.", by="ana", labels=["ai"])


def test_the_issue_list_contains_pull_requests_and_is_filtered_by_since_labels_and_state(github, pull):
    github.world.open_issue(SHOP, "Other", by="eve")
    repo = client(github).get_repo(SHOP)
    assert [(i.number, i.pull_request is not None) for i in repo.get_issues(sort="created", direction="asc")] == [
        (1, False), (2, True), (3, False),
    ]  # fmt: skip
    assert [i.number for i in repo.get_issues(labels=["AI"])] == [1]
    github.world.advance(60)
    github.world.comment(SHOP, 3, "hello", by="eve")
    github.world.close(SHOP, 1)
    latest = repo.get_issue(3).updated_at
    assert {i.number for i in repo.get_issues(state="all", since=latest)} == {1, 3}


def test_pages_are_linked_by_the_repositorys_number_and_an_unchanged_page_is_free(github):
    for number in range(2, 6):
        github.world.open_issue(SHOP, f"Issue {number}")
    status, headers, _ = raw(github, f"/repos/{SHOP}/issues?per_page=2&page=2")
    assert status == 200
    assert [rel.partition('rel="')[2][:-1] for rel in headers["link"].split(", ")] == ["prev", "first", "next", "last"]
    assert "/repositories/" in headers["link"]
    assert len(list(client(github).get_repo(SHOP).get_issues())) == 5

    requester = client(github).requester
    _, first, _ = requester.requestJson("GET", f"/repos/{SHOP}/issues")
    again, second, text = requester.requestJson(
        "GET", f"/repos/{SHOP}/issues", headers={"If-None-Match": first["etag"]}
    )
    assert first["etag"].startswith('W/"')
    assert (again, text) == (304, "")
    assert second["x-ratelimit-remaining"] == first["x-ratelimit-remaining"]
    assert (github.history[-1].conditional, github.history[-1].points) == (True, 0)
    github.world.comment(SHOP, 1, "news")
    assert requester.requestJson("GET", f"/repos/{SHOP}/issues", headers={"If-None-Match": first["etag"]})[0] == 200


def test_a_triager_may_label_but_not_push_and_others_may_only_comment(github, tmp_path):
    tom, eve = client(github, "tom").get_repo(SHOP), client(github, "eve").get_repo(SHOP)
    tom.get_issue(1).remove_from_labels("ai")
    tom.get_issue(1).add_to_labels("ai")
    assert [(e.event, e.actor.login) for e in tom.get_issue(1).get_events()][-1] == ("labeled", "tom")
    assert refused(lambda: eve.get_issue(1).add_to_labels("ai")) == 403
    assert refused(lambda: eve.get_issue(1).edit(title="Mine")) == 403
    eve.get_issue(1).create_comment("/ai stop")
    github.world.lock_issue(SHOP, 1)
    assert refused(lambda: eve.get_issue(1).create_comment("more")) == 403

    assert git(tmp_path, "clone", "--quiet", remote(github, "tom"), "clone").returncode == 0
    pushed = git(tmp_path / "clone", "push", "--quiet", "origin", "HEAD:refs/heads/mine")
    assert "denied to tom" in pushed.stderr or "403" in pushed.stderr
    github.world.make_private(SHOP)
    bad = f"{github.url.replace('//', '//x-access-token:wrong@')}/{SHOP}.git"
    assert "Authentication failed" in git(tmp_path, "ls-remote", bad).stderr


def test_permissions_are_returned_to_people_with_push_permission_and_others_have_read_or_none(github):
    repo = client(github).get_repo(SHOP)
    told = {who: repo.get_collaborator_permission(who) for who in ("acme", "ana", "tom", "eve")}
    assert told == {"acme": "admin", "ana": "write", "tom": "read", "eve": "read"}
    assert refused(lambda: repo.get_collaborator_permission("nobody-at-all")) == 404
    assert refused(lambda: client(github, "tom").get_repo(SHOP).get_collaborator_permission("ana")) == 403
    github.world.make_private(SHOP)
    assert repo.get_collaborator_permission("eve") == "none"
    assert refused(lambda: client(github, "eve").get_repo(SHOP)) == 404
    assert refused(lambda: client(github, auth=Auth.Token("wrong")).get_repo(SHOP)) == 401


def test_a_push_over_http_moves_the_pull_requests_head_and_a_protected_branch_stays(github, tmp_path, pull):
    git(tmp_path, "clone", "--quiet", remote(github, "treehand-bot"), "clone")
    clone = tmp_path / "clone"
    git(clone, "checkout", "--quiet", "treehand/shop-1")
    (clone / "app.py").write_text("answer = 43\n")
    git(clone, "commit", "--quiet", "--all", "--message=More")
    assert git(clone, "push", "--quiet").returncode == 0
    head = git(clone, "rev-parse", "HEAD").stdout.strip()
    found = client(github).get_repo(SHOP).get_pull(pull)
    assert (found.head.sha, found.draft, found.mergeable, found.changed_files) == (head, True, True, 1)
    assert [ref.ref for ref in client(github).get_repo(SHOP).get_git_matching_refs("heads/treehand/")] == [
        "refs/heads/treehand/shop-1"
    ]
    github.world.protect(SHOP, "main")
    assert "protected branch" in git(clone, "push", "origin", "HEAD:main").stderr.lower()


def test_invalid_pull_requests_are_refused_like_by_github(github, pull):
    repo = client(github).get_repo(SHOP)
    open_one = lambda head, base: lambda: repo.create_pull(base=base, head=head, title="T", draft=True)  # noqa: E731
    assert refused(open_one("treehand/shop-1", "main")) == 422
    assert refused(open_one("nowhere", "main")) == 422
    assert refused(open_one("treehand/shop-1", "nowhere")) == 422
    assert refused(open_one("main", "main")) == 422


def test_a_review_contains_its_remarks_and_a_pending_one_is_private(github, pull):
    remarks = [("app.py", 1, "why?"), ("app.py", 3, "and this?")]
    made = github.world.review(SHOP, pull, by="ana", state="CHANGES_REQUESTED", body="Nearly", remarks=remarks)
    waiting = github.world.review(SHOP, pull, by="tom", state="PENDING", remarks=[("app.py", 2, "secret")])
    found = client(github).get_repo(SHOP).get_pull(pull)
    assert [(r.id, r.state, r.user.login) for r in found.get_reviews()] == [(made.id, "CHANGES_REQUESTED", "ana")]
    shown = list(found.get_review_comments())
    assert [(c.path, c.line, c.raw_data["pull_request_review_id"]) for c in shown] == [
        ("app.py", 1, made.id),
        ("app.py", 3, made.id),
    ]
    assert shown[0].diff_hunk == "@@ -1 +1,3 @@\n-answer = 41\n+answer = 42"
    answer = found.create_review_comment_reply(shown[0].id, "Because.")
    assert answer.in_reply_to_id == shown[0].id
    github.world.submit(SHOP, waiting.id)
    assert len(list(client(github).get_repo(SHOP).get_pulls_comments())) == 4
    assert refused(lambda: found.create_review(body="fine", event="APPROVE")) == 422


@pytest.mark.usefixtures("pull")
def test_a_fork_may_have_a_branch_of_the_same_name(github):
    made = github.world.open_pull_from_fork(SHOP, "Mine", by="eve", head="treehand/shop-1", files={"app.py": "bad\n"})
    found = client(github).get_repo(SHOP).get_pulls(state="all", direction="asc")
    assert [(p.head.ref, p.head.repo.full_name) for p in found] == [
        ("treehand/shop-1", SHOP),
        ("treehand/shop-1", "eve/shop"),
    ]
    assert client(github).get_repo(SHOP).get_pull(made.number).changed_files == 1


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
def test_each_merge_method_closes_the_linked_issue_and_keeps_the_branch(github, pull, how):
    repo = client(github).get_repo(SHOP)
    assert refused(lambda: repo.get_pull(pull).merge()) == 405
    sha = github.world.merge(SHOP, pull, how, by="ana")
    found = repo.get_pull(pull)
    assert (found.merged, found.state, found.merge_commit_sha, found.merged_by.login) == (True, "closed", sha, "ana")
    assert github.world.tip(SHOP, "main") == sha
    assert len(repo.get_commit(sha).parents) == (2 if how == "merge" else 1)
    assert repo.get_issue(1).state == "closed"
    assert github.world.tip(SHOP, "treehand/shop-1") == found.head.sha
    repo.get_git_ref("heads/treehand/shop-1").delete()
    assert raw(github, f"/repos/{SHOP}/git/refs/heads/treehand/shop-1", verb="DELETE")[0] == 422


def test_moved_objects_redirect_deleted_ones_are_gone_and_archives_are_read_only(github):
    world, requester = github.world, client(github).requester
    world.add_repository("acme/store", **{"treehand-bot": "write"})
    moved = world.transfer_issue(SHOP, 1, "acme/store")
    gone = world.open_issue(SHOP, "Spam").number
    world.delete_issue(SHOP, gone)
    assert raw(github, f"/repos/{SHOP}/issues/{gone}")[0] == 410
    status, _, text = requester.requestJson("GET", f"/repos/{SHOP}/issues/1")
    assert (status, f'"url": "{github.url}/repos/acme/store/issues/{moved.number}"' in text) == (200, True)
    assert 301 in {call.status for call in github.history}

    kept = world.open_issue(SHOP, "Stay").number
    world.rename(SHOP, "acme/boutique")
    assert client(github).get_repo(SHOP).full_name == "acme/boutique"
    world.archive("acme/boutique")
    repo = client(github).get_repo("acme/boutique")
    assert refused(lambda: repo.get_issue(kept).create_comment("hello")) == 403


def test_checks_statuses_annotations_and_job_logs_can_be_read(github, pull):
    world, repo = github.world, client(github).get_repo(SHOP)
    head, before = repo.get_pull(pull).head.sha, repo.get_pull(pull).updated_at
    world.advance(5)
    check = world.add_check(SHOP, head, "tests", "failure", annotations=(("app.py", 1, "wrong"),), log="boom\n")
    world.add_status(SHOP, head, "legacy", "failure")
    commit = repo.get_commit(head)
    assert [(c.name, c.conclusion, c.output.annotations_count) for c in commit.get_check_runs()] == [
        ("tests", "failure", 1)
    ]
    assert [a.message for a in repo.get_check_run(check.id).get_annotations()] == ["wrong"]
    assert commit.get_combined_status().state == "failure"
    assert repo.get_pull(pull).updated_at == before
    requester = client(github).requester
    assert (
        requester.requestJson("GET", f"/repos/{SHOP}/actions/jobs/{check.id}/logs", follow_302_redirect=True)[2]
        == "boom\n"
    )


def test_an_app_gets_narrow_tokens_that_expire_after_an_hour(github):
    world = github.world
    app = world.create_app("treehand", contents="write", issues="read", metadata="read")
    installed = world.install_app(app, SHOP)
    as_app = client(github, auth=Auth.AppAuth(app.id, app.private_key)).requester
    assert as_app.requestJsonAndCheck("GET", "/app")[1]["slug"] == "treehand"
    path = f"/app/installations/{installed.id}/access_tokens"
    token = as_app.requestJsonAndCheck("POST", path, input={"repositories": ["shop"]})[1]["token"]
    repo = client(github, auth=Auth.Token(token)).get_repo(SHOP)
    assert repo.get_issue(1).title == "The answer is wrong"
    assert refused(lambda: repo.get_issue(1).create_comment("hello")) == 403
    world.advance(3601)
    assert refused(lambda: client(github, auth=Auth.Token(token)).get_repo(SHOP)) == 401
    assert refused(lambda: as_app.requestJsonAndCheck("GET", "/app")) == 401


def test_lists_lag_while_single_objects_are_current(github):
    github.world.lag = 10
    repo = client(github).get_repo(SHOP)
    comment = repo.get_issue(1).create_comment("one")
    assert list(repo.get_issue(1).get_comments()) == []
    assert repo.get_issue(1).get_comment(comment.id).body == "one"
    github.world.advance(11)
    comment.edit("two")
    assert [one.body for one in repo.get_issue(1).get_comments()] == ["one"]
    github.world.advance(11)
    assert [one.body for one in repo.get_issues_comments()] == ["two"]


def test_a_response_can_be_lost_after_the_effect_and_a_limit_applies_to_everybody(github):
    issue = client(github).get_repo(SHOP).get_issue(1)
    github.faults.drop_answers("POST /repos/*/issues/1/comments")
    with pytest.raises(Exception, match=r"Connection aborted|RemoteDisconnected|reset"):
        issue.create_comment("lost")
    assert [one.body for one in issue.get_comments()] == ["lost"]
    github.faults.fail_after_effect("POST /repos/*/issues/1/comments", 502)
    assert refused(lambda: issue.create_comment("again")) == 502
    assert [one.body for one in issue.get_comments()] == ["lost", "again"]
    github.faults.secondary_limit("GET *", retry_after="60")
    status, headers, text = raw(github, f"/repos/{SHOP}")
    assert (status, headers["retry-after"], "secondary rate limit" in text) == (403, "60", True)
    github.limits.limit(1, 30)
    assert [raw(github, f"/repos/{SHOP}")[0] for _ in range(2)] == [200, 403]
    github.world.advance(31)
    assert raw(github, f"/repos/{SHOP}")[0] == 200


@pytest.mark.usefixtures("pull")
def test_graphql_uses_githubs_own_schema_and_costs_a_point_a_query(github):
    world = github.world
    world.advance(60)
    world.edit_issue(SHOP, 1, title="Evil", body="Worse", by="eve")
    ask = """query($o: String!, $n: String!) { repository(owner: $o, name: $n) { issue(number: 1) {
        lastEditedAt editor { login }
        timelineItems(last: 10, itemTypes: [LABELED_EVENT, RENAMED_TITLE_EVENT]) { nodes { __typename
            ... on LabeledEvent { actor { login } label { name } } ... on RenamedTitleEvent { previousTitle } } } }
        pullRequest(number: 2) { mergeable headRefOid statusCheckRollup { state } } } }"""
    _, answer = client(github).requester.graphql_query(ask, {"o": "acme", "n": "shop"})
    issue = answer["data"]["repository"]["issue"]
    assert issue["editor"] == {"login": "eve"}
    assert issue["timelineItems"]["nodes"] == [
        {"__typename": "LabeledEvent", "actor": {"login": "ana"}, "label": {"name": "ai"}},
        {"__typename": "RenamedTitleEvent", "previousTitle": "The answer is wrong"},
    ]
    assert answer["data"]["repository"]["pullRequest"]["mergeable"] == "MERGEABLE"
    assert github.history[-1].points == 1


def test_a_request_that_github_does_not_describe_is_a_violation(github):
    requester = client(github).requester
    requester.requestJson("POST", f"/repos/{SHOP}/issues", input={"titel": "typo"})
    requester.requestJson("GET", f"/repos/{SHOP}/issues?state=weird")
    requester.requestJson("GET", f"/repos/{SHOP}/nonsense")
    assert len(github.violations) == 3
    github.violations.clear()


def test_a_wrong_answer_is_noticed_after_a_correct_one_at_another_address(github):
    checker = Checker()
    label = {"id": 1, "node_id": "x", "name": "bug", "color": "ffffff", "description": None, "default": False}

    def problems(**more) -> list[str]:
        got = json.dumps({**label, "url": "http://127.0.0.1:4001/x", **more}).encode()
        headers = {"content-type": "application/json"}
        return checker.problems(Exchange("GET", "/repos/acme/shop/labels/bug", {}, b"", 200, got, headers))

    assert problems() == problems() == problems(url="http://127.0.0.1:4002/x") == []
    assert "not of type 'integer'" in problems(id="1")[0]
    assert "not a 'uri'" in problems(url="127.0.0.1:4001 /x")[0]
    assert problems(id="1")


def test_branches_are_those_that_git_lists(github):
    path = github.world.repository(SHOP).path
    github.world.push(SHOP, "treehand/one", {'a "b"\\ü.txt': "é\n", "app.py": None}, by="bot[x]")
    assert gits.git(path, "ls-tree", "-r", "-z", "--name-only", "treehand/one") == 'a "b"\\ü.txt\0'
    listed = gits.git(path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
    assert gits.refs(path) == dict(line.split(" ") for line in listed.splitlines())
    gits.git(path, "pack-refs", "--all")
    before = gits.refs(path)
    assert before == dict(line.split(" ") for line in listed.splitlines())
    github.world.push(SHOP, "treehand/one", {"more.py": "1\n"})
    assert (
        gits.tip(path, "treehand/one")
        == gits.git(path, "rev-parse", "treehand/one")
        != before["refs/heads/treehand/one"]
    )
    assert gits.tip(path, "treehand") is None


def test_the_server_handles_two_hundred_requests_in_five_seconds(github):
    github._checker = None
    requester = client(github).requester
    begun = time.monotonic()
    for _ in range(200):
        requester.requestJsonAndCheck("GET", f"/repos/{SHOP}/issues")
    assert time.monotonic() - begun < 5

"""Pull requests: opened, updated, checked and closed."""

from urllib.parse import urlsplit

import pytest

from bot.domain.pull_request import CheckState, PullRequestState
from bot.domain.remote import CommitAuthor
from bot.engine.messages import checks_text
from bot.errors import NeedsHuman, Retryable
from bot.services.github.auth import PERMISSIONS, AppCredential
from bot.services.github.forge import GitHubForge
from bot.services.github.renamed_branches import read_renamed
from tests.fakes.github import gits
from tests.services.github.github_bot import BRANCH, REPO, Bot


@pytest.fixture(params=["with GraphQL", "without GraphQL"])
def asked(bot, request):
    if request.param == "without GraphQL":
        bot.github.faults.answer("POST *graphql", 404, times=1000)
    return bot


def tip(bot, branch="main"):
    return gits.tip(bot.world.repository(REPO).path, branch)


async def test_a_draft_whose_response_was_lost_is_adopted(bot):
    bot.world.push(REPO, BRANCH, {"new.py": "one\n"}, by="treehand-bot")
    bot.github.faults.drop_answers("POST *pulls")
    with pytest.raises(Retryable):
        await bot.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body="first")
    await bot.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body="second")
    pull, _ = await bot.pull()
    assert "second" in pull.body
    assert sum(bool(issue.pull) for issue in bot.world.repository(REPO).issues.values()) == 1


async def test_without_draft_support_a_normal_pull_request_is_opened(bot):
    bot.world.push(REPO, BRANCH, {"new.py": "one\n"}, by="treehand-bot")
    body = b'{"message": "Draft pull requests are not supported in this repository."}'
    bot.github.faults.add("POST *pulls", status=422, body=body)
    await bot.forge.ensure_draft(BRANCH, base="", title="Add a cart", body="")
    pull, _ = await bot.pull()
    assert (pull.draft, pull.base) == (False, "main")


async def test_a_default_branch_that_was_renamed_meanwhile_is_followed(bot):
    bot.world.push(REPO, BRANCH, {"new.py": "one\n"}, by="treehand-bot")
    await bot.pull()
    path = bot.world.repository(REPO).path
    gits.git(path, "branch", "-m", "main", "trunk")
    bot.world.set_default_branch(REPO, "trunk")
    await bot.forge.ensure_draft(BRANCH, base="", title="Add a cart", body="")
    pull, _ = await bot.pull()
    assert (pull.base, pull.draft) == ("trunk", True)


async def test_a_base_that_the_settings_name_is_followed_when_it_is_renamed(bot):
    bot.world.push(REPO, BRANCH, {"new.py": "one\n"}, by="treehand-bot")
    bot.world.rename_branch(REPO, "main", "trunk")
    await bot.pull()
    await bot.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body="")
    pull, _ = await bot.pull()
    assert (pull.base, await bot.forge.find_renamed("main")) == ("trunk", "trunk")
    finding = await bot.repository.renamed_branches.check("main")
    assert (finding.ok, "was renamed to trunk" in finding.detail) == (True, True)
    assert read_renamed(bot.repository.api.cache) == {"main": "trunk"}


async def test_a_default_branch_that_took_the_place_of_a_missing_one_is_its_new_name(bot):
    await bot.pull()
    path = bot.world.repository(REPO).path
    gits.git(path, "branch", "-m", "main", "trunk")  # the server does not redirect
    bot.world.set_default_branch(REPO, "trunk")
    bot.world.advance(4000)
    await bot.pull()  # the new default branch is known by now
    assert await bot.forge.find_renamed("main") == "trunk"


async def test_a_missing_branch_is_not_taken_for_a_renamed_one(bot):
    await bot.pull()
    assert await bot.forge.find_renamed("nowhere") == ""
    assert await bot.forge.find_renamed("main") == ""
    assert (await bot.repository.renamed_branches.check("nowhere")).ok is False


async def test_a_missing_base_is_reported(bot):
    bot.world.push(REPO, BRANCH, {"new.py": "one\n"}, by="treehand-bot")
    with pytest.raises(NeedsHuman, match="does not exist"):
        await bot.forge.ensure_draft(BRANCH, base="nowhere", title="Add a cart", body="")


async def test_a_branch_without_commits_is_reported(bot):
    bot.world.push(REPO, "treehand/same", {}, by="treehand-bot")
    gits.git(bot.world.repository(REPO).path, "update-ref", "refs/heads/treehand/same", tip(bot))
    with pytest.raises(NeedsHuman, match="Branch treehand/same has no commit"):
        await bot.forge.ensure_draft("treehand/same", base="main", title="Add a cart", body="")


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
async def test_every_merge_method_is_recognized(bot, how):
    number = await bot.offer()
    head = tip(bot, BRANCH)
    bot.world.merge(REPO, number, how, by="ana")
    pull, _ = await bot.pull()
    assert (pull.state, pull.head) == (PullRequestState.MERGED, head)
    await bot.forge.remove_branch(BRANCH)
    assert tip(bot, BRANCH) in {None, ""}
    assert (await bot.pull())[0].state is PullRequestState.MERGED


async def test_a_pull_request_that_was_closed_and_opened_again_is_open(bot):
    number = await bot.offer()
    bot.world.close(REPO, number)
    assert (await bot.pull())[0].state is PullRequestState.CLOSED
    bot.world.reopen(REPO, number)
    assert (await bot.pull())[0].state is PullRequestState.OPEN


async def test_a_branch_with_commits_that_are_in_no_pull_request_stays(bot):
    number = await bot.offer()
    bot.world.merge(REPO, number, by="ana")
    bot.world.push(REPO, BRANCH, {"more.py": "more\n"}, by="ana")
    await bot.forge.remove_branch(BRANCH)
    assert BRANCH in (await bot.forge.snapshot([])).branches


async def test_a_branch_removed_by_people_causes_no_error(bot):
    number = await bot.offer()
    bot.world.merge(REPO, number, by="ana")
    gits.git(bot.world.repository(REPO).path, "update-ref", "-d", f"refs/heads/{BRANCH}")
    await bot.forge.remove_branch(BRANCH)
    assert (await bot.forge.snapshot([])).branches == frozenset()


async def test_an_old_pull_request_is_found_after_the_cache_was_lost(github, tmp_path):
    first = Bot(github, tmp_path / "first")
    await first.offer()
    first.close()
    more = {"link": f'<{github.url}/repos/{REPO}/pulls?page=2>; rel="next"'}
    github.faults.add(f"GET /repos/{REPO}/pulls", times=2, status=200, body=b"[]", headers=more)
    second = Bot(github, tmp_path / "second")
    pull, _ = await second.pull()
    assert pull.branch == BRANCH
    second.close()


async def test_branches_without_a_pull_request_are_not_requested_one_by_one(bot):
    await bot.forge.snapshot([])
    bot.requests()
    await bot.forge.snapshot([f"treehand/acme-shop-{number}" for number in range(50)])
    assert len(bot.requests()) <= 6


async def test_a_conflict_with_the_base_is_reported(asked):
    await asked.offer(**{"app.py": "answer = 42\n"})
    assert not (await asked.pull())[0].conflicts
    asked.world.push(REPO, "main", {"app.py": "answer = 43\n"}, by="ana")
    asked.world.advance(10)
    assert (await asked.pull())[0].conflicts


async def test_a_long_body_is_cut_and_the_text_of_people_stays(bot):
    number = await bot.offer()
    body = bot.world.pull(REPO, number).body
    bot.world.edit_issue(REPO, number, body=f"{body}\n\nMind the tax rules.", by="ana")
    for text in ("long " * 20_000, "short"):
        await bot.forge.ensure_draft(BRANCH, base="main", title="", body=text)
        assert bot.world.pull(REPO, number).body.endswith("Mind the tax rules.")
    assert len(bot.world.pull(REPO, number).body) < 200


# Checks


async def test_checks_are_green_when_all_have_passed(asked):
    await asked.offer()
    assert (await asked.pull())[0].checks.state is CheckState.NONE
    first = asked.world.add_check(REPO, tip(asked, BRANCH), "tests", "success")
    second = asked.world.add_check(REPO, tip(asked, BRANCH), "lint")
    assert (await asked.pull())[0].checks.state is CheckState.PENDING
    asked.world.end_check(REPO, second.id, "skipped")
    checks = (await asked.pull())[0].checks
    assert (checks.state, checks.passed, checks.commit) == (CheckState.GREEN, 2, tip(asked, BRANCH))
    assert first.id


async def test_a_failed_check_shows_its_summary_place_and_log(asked):
    await asked.offer()
    log = "".join(f"line {number}\n" for number in range(1000))
    annotations = (("new.py", 2, "not like this"),)
    sha = tip(asked, BRANCH)
    asked.world.add_check(
        REPO, sha, "tests", "failure", title="1 failed", summary="test_cart", annotations=annotations, log=log
    )
    asked.world.add_status(REPO, sha, "deploy", "error", description="no room")
    checks = (await asked.pull())[0].checks
    assert (checks.state, checks.commit) == (CheckState.RED, sha)
    tests, deploy = checks.failed
    assert (tests.name, tests.summary, tests.annotations) == (
        "tests",
        "1 failed\ntest_cart",
        ("new.py:2: not like this",),
    )
    assert tests.log.splitlines()[-1] == "line 999"
    assert len(tests.log.splitlines()) == 50
    assert (deploy.name, deploy.summary, deploy.log) == ("deploy", "no room", "")
    assert checks.regressions == checks.failed


async def test_a_check_that_also_fails_on_the_base_is_marked(asked):
    await asked.offer()
    asked.world.add_check(REPO, tip(asked), "lint", "failure")
    for name in ("lint", "tests"):
        asked.world.add_check(REPO, tip(asked, BRANCH), name, "failure")
    checks = (await asked.pull())[0].checks
    assert [(check.name, check.on_base) for check in checks.failed] == [("lint", True), ("tests", False)]
    assert [check.name for check in checks.regressions] == ["tests"]


async def test_checks_are_pending_until_all_have_ended(asked):
    await asked.offer()
    asked.world.add_check(REPO, tip(asked, BRANCH), "tests", "failure")
    slow = asked.world.add_check(REPO, tip(asked, BRANCH), "slow tests")
    assert (await asked.pull())[0].checks.state is CheckState.PENDING
    asked.world.end_check(REPO, slow.id, "failure")
    checks = (await asked.pull())[0].checks
    assert [check.name for check in checks.failed] == ["tests", "slow tests"]


async def test_checks_of_an_older_commit_are_ignored(asked):
    await asked.offer()
    asked.world.add_check(REPO, tip(asked, BRANCH), "tests", "failure")
    assert (await asked.pull())[0].checks.state is CheckState.RED
    asked.world.push(REPO, BRANCH, {"new.py": "better\n"}, by="treehand-bot")
    checks = (await asked.pull())[0].checks
    assert (checks.state, checks.commit) == (CheckState.NONE, tip(asked, BRANCH))


async def test_without_permission_to_read_checks_there_are_none(bot):
    await bot.offer()
    bot.world.add_check(REPO, tip(bot, BRANCH), "tests", "failure")
    bot.github.faults.answer("GET *check-runs", 403, times=10)
    bot.github.faults.answer("GET *status", 403, times=10)
    assert (await bot.pull())[0].checks.state is CheckState.NONE


async def test_details_of_a_failed_check_are_read_once(bot):
    await bot.offer()
    bot.world.add_check(REPO, tip(bot, BRANCH), "tests", "failure", log="oh\n")
    await bot.pull()
    bot.requests()
    await bot.pull()
    assert not [path for _, path in bot.requests() if "check" in path or "logs" in path]


# The remote


def header_in(remote):
    return next(
        (value for key, value in remote.env.items() if key.startswith("GIT_CONFIG_VALUE") and "Basic" in value), ""
    )


async def test_the_token_is_sent_only_to_githubs_own_host(bot):
    assert "Authorization: Basic" in header_in(await bot.forge.remote())
    for remote in ("https://example.com/acme/shop.git", "git@github.com:acme/shop.git", "/srv/shop.git"):
        elsewhere = GitHubForge(bot.repository, api_url=bot.github.url, remote=remote)
        assert ((await elsewhere.remote()).url, (await elsewhere.remote()).env) == (remote, {})


@pytest.mark.parametrize(
    ("api", "remote", "trusted"),
    [
        ("https://api.github.com", "https://github.com/acme/shop.git", True),
        ("https://git.example.com/api/v3", "https://git.example.com/acme/shop.git", True),
        ("https://git.example.com/api/v3", "https://github.com/acme/shop.git", False),
        ("https://api.github.com", "https://github.com.example.com/acme/shop.git", False),
        ("https://api.github.com", "http://127.0.0.1/acme/shop.git", False),
        ("https://api.github.com", "http://github.com/acme/shop.git", False),
    ],
)
async def test_hosts_of_github_are_recognized(bot, api, remote, trusted):
    there = await GitHubForge(bot.repository, api_url=api, remote=remote).remote()
    assert bool(header_in(there)) is trusted


async def test_commits_are_linked_to_the_account_of_the_token(bot):
    account = bot.world.user("treehand-bot")
    remote = await bot.forge.remote()
    assert remote.author == CommitAuthor(
        "treehand-bot", f"{account.id}+treehand-bot@users.noreply.{urlsplit(remote.url).hostname}"
    )


async def test_commits_of_an_app_are_linked_to_its_account_and_not_to_the_number_of_the_app(github, tmp_path):
    app = github.world.create_app("treehand", **PERMISSIONS)
    installed = github.world.install_app(app, REPO)
    bot = Bot(github, tmp_path, credential=AppCredential(app.id, app.private_key, installed.id))
    author = (await bot.forge.remote()).author
    bot.close()
    assert author.name == "treehand[bot]"
    assert author.email.startswith(f"{app.bot.id}+treehand[bot]@users.noreply.")
    assert app.bot.id != app.id


# Is it ready?


LABELS = ("ai", "ai:working")


async def found(bot):
    return {finding.name: (finding.ok, finding.detail) for finding in await bot.repository.setup_check.inspect(LABELS)}


async def test_a_working_repository_passes_the_setup_check(bot):
    await bot.repository.setup_check.create_labels(LABELS)
    findings = await found(bot)
    assert {name for name, (ok, _) in findings.items() if not ok} == set()
    assert findings["account"][1].startswith("treehand-bot")
    assert findings["labels"][1] == "all 2 exist"


async def test_missing_permissions_and_branch_rules_are_reported(github, tmp_path):
    github.world.protect(REPO, "treehand/*")
    github.world.set_permission(REPO, "treehand-bot", "read")
    bot = Bot(github, tmp_path, token=github.world.fine_grained_token("treehand-bot", REPO, issues="read"))
    findings = await found(bot)
    assert not findings["repository"][0]
    assert not findings["permissions"][0]
    assert not findings["rules"][0]
    assert "ai:working" in findings["labels"][1]
    bot.close()


async def test_a_server_without_statuses_or_commits_passes_the_setup_check(bot):
    bot.github.faults.answer("GET */status", 404)
    bot.github.faults.answer("GET */check-runs", 422)
    findings = await found(bot)
    assert {name for name, (ok, _) in findings.items() if not ok} == set()
    assert "to fix failed checks" in findings["commit statuses"][1]


async def test_a_fine_grained_token_without_checks_passes_the_setup_check(github, tmp_path):
    github.world.repository(REPO).private = True
    granted = dict.fromkeys(("issues", "contents", "pull_requests"), "write") | {"statuses": "read", "actions": "read"}
    bot = Bot(github, tmp_path, token=github.world.fine_grained_token("treehand-bot", REPO, **granted))
    findings = await found(bot)
    assert {name for name, (ok, _) in findings.items() if not ok} == set()
    assert "GitHub hides checks in private repositories from fine-grained tokens" in findings["checks"][1]
    bot.close()


async def test_check_names_checks_of_actions_that_the_token_does_not_show(github, tmp_path):
    github.world.repository(REPO).private = True
    granted = dict.fromkeys(("issues", "contents", "pull_requests"), "write") | {"statuses": "read"}
    bot = Bot(github, tmp_path, token=github.world.fine_grained_token("treehand-bot", REPO, **granted))
    findings = await bot.repository.setup_check.inspect([])
    assert [detail for name, ok, detail in findings if not ok] == [
        "checks of GitHub Actions cannot be seen with this token: give it the permission Actions: read"
    ]
    bot.close()


@pytest.mark.parametrize(
    ("actions", "state", "words"),
    [
        ("read", CheckState.RED, "1 failed, 1 passed"),
        ("", CheckState.NONE, "1 passed on"),
    ],
)
async def test_a_red_check_that_the_token_does_not_show_is_never_green(github, tmp_path, actions, state, words):
    world = github.world
    world.repository(REPO).private = True
    granted = dict.fromkeys(("issues", "contents", "pull_requests"), "write") | {"statuses": "read"}
    granted |= {"actions": actions} if actions else {}
    bot = Bot(github, tmp_path, token=world.fine_grained_token("treehand-bot", REPO, **granted))
    await bot.offer()
    head = (await bot.pull())[0].head
    world.add_status(REPO, head, "lint", "success")
    world.add_check(REPO, head, "tests", conclusion="failure", log="it broke")
    pull, _ = await bot.pull()
    shown = checks_text.of_pull_request(pull)
    assert (pull.checks.state, words in shown, "\u2705" in shown) == (state, True, False)
    assert "cannot be seen with this token" in shown
    bot.close()


async def test_a_full_disk_is_reported_with_one_full_stop(bot):
    bot.db.execute("PRAGMA max_page_count = 1")  # SQLite's own way to be full: it keeps what it has, and takes no more
    said = (await found(bot))["repository"][1]
    assert said.endswith("database or disk is full.")


async def test_an_inaccessible_repository_is_the_only_finding_beside_the_account(bot):
    bot.github.faults.answer(f"GET /repos/{REPO}*", 404, times=100)
    findings = await found(bot)
    assert set(findings) == {"account", "repository"}
    assert "Check its name" in findings["repository"][1]

"""The requests of a poll do not grow with the number of runs."""

import asyncio

import pytest

from bot.domain.branch_name import branch_for
from bot.domain.policy import Policy
from bot.domain.reaction import Reaction
from bot.domain.run import Run
from bot.engine.observe import take_snapshots
from bot.errors import Retryable
from bot.ports import Ports, Project
from bot.services.github.auth import AppCredential
from tests.services.github.github_bot import REPO, Bot

BUSY = b'{"data": null, "errors": [{"message": "Something went wrong while executing your query."}]}'
PERMISSIONS = {
    "contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "statuses": "read",
    "actions": "read", "metadata": "read",
}  # fmt: skip


async def poll_of_the_engine(bot, runs):
    """Polls as the daemon does: the forge after the tracker."""
    shop = Project("shop", bot.tracker, bot.forge, workspaces=None, policy=Policy(), hand_over=None)
    views, failures = await take_snapshots(Ports({"shop": shop}, executor=None, store=None), runs, fresh={"shop"})
    assert not failures
    return views["shop"]


async def idle_tick(bot, runs):
    bot.requests()
    await poll_of_the_engine(bot, runs)
    calls = list(bot.github.history)
    return [call for call in calls if call.path != "/graphql"], [call for call in calls if call.path == "/graphql"]


@pytest.mark.parametrize("runs", [1, 12])
async def test_an_idle_tick_costs_six_requests_whatever_the_number_of_runs(bot, runs):
    known = []
    for _ in range(runs):
        number = bot.world.open_issue(REPO, "Add a cart", by="ana", labels=["ai"]).number
        known.append(Run(f"{REPO}#{number}", "shop"))
        bot.world.comment(REPO, number, "use OAuth", by="ana")
    for position, run in enumerate(known):
        bot.world.push(REPO, branch_for(run), {f"new-{position}.py": "one\n"}, by="treehand-bot")
        bot.world.open_pull(REPO, "Add a cart", head=branch_for(run), by="treehand-bot")
    await idle_tick(bot, known)
    await idle_tick(bot, known)

    rest, graphql = await idle_tick(bot, known)

    assert [call.status for call in rest] == [304] * 5
    assert len(graphql) == 1
    assert sum(call.points for call in graphql) == 1


async def test_each_list_is_read_once_in_a_poll_also_if_an_issue_is_blocked_by_another(bot):
    blocking = bot.world.open_issue(REPO, "Add prices", by="ana")
    bot.world.open_issue(REPO, "Add a cart", f"Blocked by: #{blocking.number}", by="ana", labels=["ai"])
    await poll_of_the_engine(bot, [])
    bot.requests()
    view = await poll_of_the_engine(bot, [])
    assert f"{REPO}#{blocking.number}" in view.tracker.issues
    asked = [path for _, path in bot.requests() if path != "/graphql"]
    assert len(asked) == len(set(asked)) == 6
    await poll_of_the_engine(bot, [])
    assert len(bot.requests()) >= 6  # the next poll asks again


async def test_tracker_and_forge_of_a_project_share_the_comment_list(bot):
    await asyncio.gather(bot.tracker.snapshot([]), bot.forge.snapshot([]))
    assert len(bot.github.calls("GET", "/issues/comments")) == 1


async def test_a_failed_comment_list_fails_tracker_and_forge(bot):
    bot.github.faults.answer("GET */issues/comments", 502, times=1)
    failures = await asyncio.gather(bot.tracker.snapshot([]), bot.forge.snapshot([]), return_exceptions=True)
    assert [type(failure) for failure in failures] == [Retryable, Retryable]
    assert len(bot.github.calls("GET", "/issues/comments")) == 1
    await asyncio.gather(bot.tracker.snapshot([]), bot.forge.snapshot([]))


async def test_an_unexpected_response_is_retryable_and_breaks_nothing(bot):
    bot.github.faults.add("GET */issues", status=200, body=b'[{"surprise": true}]')
    with pytest.raises(Retryable, match="unexpected form"):
        await bot.tracker.snapshot([])
    await bot.tracker.snapshot([])


async def test_a_server_with_only_the_basic_endpoints_is_enough(bot):
    plain = ("/issues/comments", "/pulls/comments", "/graphql", "/reactions", "/events", "/check-runs", "/status")
    number = bot.world.open_issue(REPO, "Add a cart", by="ana", labels=["ai"]).number
    bot.world.comment(REPO, number, "use OAuth", by="ana")
    bot.github.faults.answer(lambda _, path: path.endswith(plain) or "matching-refs" in path, 404, times=1000)
    view = await bot.tracker.snapshot([])
    ((said,),) = view.comments.values()
    assert said.author.trusted
    assert not view.issues[f"{REPO}#{number}"].requester.trusted
    await bot.tracker.ensure_reaction(f"{REPO}#{number}", said.id, Reaction.SEEN)
    pull_number = await bot.offer()
    bot.world.review(REPO, pull_number, by="ana", body="Not yet.", remarks=[("new.py", 1, "why?")])
    pull, (review,) = await bot.pull()
    assert (pull.number, review.text, len(review.remarks)) == (pull_number, "Not yet.", 1)
    bot.world.merge(REPO, pull_number, by="ana")
    await bot.forge.remove_branch(pull.branch)
    assert (await bot.forge.snapshot([pull.branch])).branches == frozenset()


@pytest.mark.parametrize("broken", [{"status": 502}, {"status": 200, "body": BUSY}])
async def test_pull_requests_are_read_one_by_one_if_queries_fail(bot, broken):
    await bot.offer()
    bot.world.review(REPO, 1, by="ana", body="Not yet.")
    bot.github.faults.add("POST /graphql", times=2, **broken)
    pull, _ = await bot.pull()
    assert pull.number == 1
    _, (review,) = await bot.pull()  # who wrote its words is asked again
    assert review.text == "Not yet."


async def test_an_app_recognizes_its_own_comments(github, tmp_path):
    app = github.world.create_app("treehand", **PERMISSIONS)
    installed = github.world.install_app(app, REPO)
    bot = Bot(github, tmp_path, credential=AppCredential(app.id, app.private_key, installed.id))
    number = github.world.open_issue(REPO, "Add a cart", by="ana", labels=["ai"]).number
    key = f"{REPO}#{number}"
    await bot.tracker.snapshot([key])
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.tracker.ensure_labels(key, add=["ai:working"])
    await bot.offer()
    view = await bot.tracker.snapshot([key])
    assert (view.comments[key], view.issues[key].requester.trusted) == ((), True)
    assert {finding.name for finding in await bot.repository.setup_check.inspect(["ai"]) if not finding.ok} == set()
    bot.close()


async def test_an_app_without_a_visible_account_recognizes_its_comments_by_markers(github, tmp_path):
    app = github.world.create_app("treehand", **PERMISSIONS)
    installed = github.world.install_app(app, REPO)
    github.faults.answer("GET /users/*", 404, times=100)
    bot = Bot(github, tmp_path, credential=AppCredential(app.id, app.private_key, installed.id))
    key = f"{REPO}#{github.world.open_issue(REPO, 'Add a cart', by='ana', labels=['ai']).number}"
    await bot.tracker.snapshot([key])
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert (await bot.tracker.snapshot([key])).comments[key] == ()
    assert {finding.name for finding in await bot.repository.setup_check.inspect(["ai"]) if not finding.ok} == set()
    bot.close()


async def test_after_a_restart_pull_request_comments_are_read_again_in_small_batches(bot, tmp_path):
    branches = [f"treehand/acme-shop-{number}" for number in range(1, 14)]
    numbers = [await bot.offer(branch) for branch in branches]
    bot.world.advance(-300)
    said = [bot.world.comment_on_pull(REPO, number, "Looks good.", by="ana") for number in numbers]
    bot.world.advance(300)
    await bot.forge.snapshot(branches)
    bot.close()
    for one in said:
        bot.world.delete_comment(REPO, one.id)

    again, read = Bot(bot.github, tmp_path), []
    for _ in range(3):
        again.requests()
        heard = (await again.forge.snapshot(branches)).comments
        read.append(sum(path.endswith("/comments") and path.count("/") > 5 for _, path in again.requests()))
        left = sum(len(comments) for comments in heard.values())
        assert left == max(0, len(branches) - 10 * len(read))
    again.close()
    assert read == [20, 6, 0]

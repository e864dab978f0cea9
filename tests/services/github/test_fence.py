"""A daemon without a valid lease writes nothing, even if it notices late."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.errors import Elsewhere
from bot.services.github.auth import AppCredential, TokenCredential
from bot.services.github.client import GitHubClient
from bot.services.github.mutations import Mutation
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from bot.services.github.write_queue import WriteRank
from tests.services.github.github_bot import REPO, SECRET
from tests.services.github.scripted_server import Says, served
from tests.services.github.test_auth import installation, key

__all__ = ["installation", "key"]

MUTATION = Mutation("addReaction", {"subjectId": "I_1", "content": "EYES"}, "reaction { content }")
QUERY = "query { viewer { login } }"


@dataclass
class Right:
    """A fence per repository that records its checks."""

    ended: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def check(self, repository: str) -> None:
        self.asked.append(repository)
        if repository in self.ended:
            raise Elsewhere


@pytest.fixture
def right():
    return Right()


@pytest.fixture
def on(db, clock, right):
    @asynccontextmanager
    async def on(server, credential=None):
        credential = credential or TokenCredential("ghp_" + "x" * 20)
        async with GitHubClient(
            server.url, credential, db, clock=clock, sleep=clock.sleep, fence=right.check
        ) as github:
            yield github

    return on


@pytest.mark.parametrize("verb", ["POST", "PATCH", "PUT", "DELETE"])
async def test_no_write_reaches_the_server_after_the_lease_has_ended(on, right, verb):
    with served(lambda _: Says(data={"data": {"viewer": 1}})) as server:
        async with on(server) as github:
            await github.write(verb, "/repos/acme/shop/issues/1", {"a": "b"}, repository="acme/shop")
            right.ended = {"acme/shop"}
            with pytest.raises(Elsewhere):
                await github.write(verb, "/repos/acme/shop/issues/1", {"a": "b"}, repository="acme/shop")
            with pytest.raises(Elsewhere):
                await github.mutate([MUTATION], repository="acme/shop", rank=WriteRank.SIGN)
            await github.write(verb, "/repos/acme/till/issues/1", {"a": "b"}, repository="acme/till")

    assert server.paths == [f"{verb} /repos/acme/shop/issues/1", f"{verb} /repos/acme/till/issues/1"]


async def test_reading_needs_no_lease(on, right):
    right.ended = {"acme/shop"}
    with served(lambda _: Says(data={"data": {"viewer": 1}})) as server:
        async with on(server) as github:
            await github.get("/repos/acme/shop", repository="acme/shop")
            await github.graphql(QUERY, {}, repository="acme/shop")

    assert (len(server.asked), right.asked) == (2, [])


async def test_creating_a_token_needs_no_lease(on, right, installation, key):
    right.ended = {REPO}
    with served(installation) as server:
        async with on(server, AppCredential(42, key)) as github:
            assert await github.token_for(REPO, for_push=True)
            with pytest.raises(Elsewhere):
                await github.write("POST", f"/repos/{REPO}/issues", repository=REPO)
    assert right.asked == [REPO]
    assert [path for path in server.paths if path.endswith("/issues")] == []


async def test_a_lease_that_ends_while_a_write_waits_stops_the_write(on, right, clock):
    """Writes are a second apart: the second one waits, and the lease ends meanwhile."""
    with served(lambda _: Says(data={})) as server:
        async with on(server) as github:
            sleep = clock.sleep

            async def ends(seconds: float) -> None:
                right.ended = {"acme/shop"}
                await sleep(seconds)

            github._http._limiter._sleep = ends
            writes = (github.write("POST", f"/repos/acme/shop/issues/{n}", repository="acme/shop") for n in (1, 2))
            done = await asyncio.gather(*writes, return_exceptions=True)

    assert [type(one) for one in done][1] is Elsewhere
    assert server.paths == ["POST /repos/acme/shop/issues/1"]


async def test_a_redirected_write_is_checked_at_each_hop(on, right):
    def script(asked):
        right.ended = {"acme/shop"}
        return Says(307, headers={"Location": "/repositories/5/issues"})

    with served(script) as server:
        async with on(server) as github:
            with pytest.raises(Elsewhere):
                await github.write("POST", "/repos/acme/shop/issues", repository="acme/shop")

    assert server.paths == ["POST /repos/acme/shop/issues"]


async def test_a_write_held_back_without_the_lease_is_sent_once_the_lease_is_back(github, db, clock, right):
    """The comment was certainly not posted, so it is posted without delay."""
    world = github.world
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    world.open_issue(REPO, "A cart", by="ana")
    credential = TokenCredential(github.token_for("treehand-bot"))
    async with GitHubClient(github.url, credential, db, clock=clock, sleep=clock.sleep, fence=right.check) as service:
        tracker = GitHubTracker(GitHubRepository(service, REPO, db, rules=RepositoryRules("ai"), secret=SECRET))
        key = f"{REPO}#1"
        right.ended = {REPO}
        for write in (
            tracker.ensure_comment(key, slug="progress", text="one"),
            tracker.ensure_labels(key, add=["ai: working"]),
        ):
            with pytest.raises(Elsewhere):
                await write
        assert {call.method for call in github.history} <= {"GET"}
        right.ended = set()
        await tracker.ensure_comment(key, slug="progress", text="one")
    assert [one.body.splitlines()[0] for one in world.repository(REPO).comments.values()] == ["one"]

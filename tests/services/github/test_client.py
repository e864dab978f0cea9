"""GitHub client: conditional requests, paging, redirects, rate limits, and an error for each refusal."""

import asyncio
import itertools
import logging
import socket
import time
from contextlib import closing
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.errors import NeedsHuman, RateLimited, Retryable
from bot.services.github import transport
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.errors import Archived, Forbidden, Locked, NoGraphQL, NotFound, Refused
from bot.services.github.http_cache import CachedPage, PageCache
from bot.services.http.availability import read_availability
from bot.services.http.service_reply import UnknownOutcome
from tests.services.github.scripted_server import Asked, Says, in_turn, served

TOKEN = "ghp_" + "s3cretS3CRET" * 3


@pytest.fixture
def on(db, clock):
    """Creates a client of a server."""
    sessions = []

    def on(server, token: str = TOKEN) -> GitHubClient:
        sessions.append(GitHubClient(server.url, TokenCredential(token), db, clock=clock, sleep=clock.sleep))
        return sessions[-1]

    yield on
    for session in sessions:
        asyncio.run(session.aclose())


def with_etag(asked: Asked) -> Says:
    if asked.headers.get("if-none-match") == 'W/"one"':
        return Says(304, headers={"ETag": 'W/"one"'})
    return Says(data=[1, 2], headers={"ETag": 'W/"one"'})


async def test_an_unchanged_response_is_not_fetched_again(on):
    with served(with_etag) as server:
        github = on(server)
        first = await github.get("/repos/acme/shop/issues", params={"state": "open", "labels": "a b"})
        again = await github.get("/repos/acme/shop/issues", params={"labels": "a b", "state": "open"})

    assert server.paths == ["GET /repos/acme/shop/issues?labels=a+b&state=open"] * 2
    assert (first.data, first.changed) == ([1, 2], True)
    assert (again.data, again.changed, again.status) == ([1, 2], False, 200)
    assert server.asked[0].headers["authorization"] == f"token {TOKEN}"


async def test_a_cached_page_survives_a_restart_and_belongs_to_its_token(on, db, tmp_path, clock):
    with served(with_etag) as server:
        await on(server).get("/user")
        with closing(open_cache(tmp_path / "github.db")) as other:
            async with GitHubClient(server.url, TokenCredential(TOKEN), other, clock=clock) as restarted:
                assert not (await restarted.get("/user")).changed
        assert (await on(server, "ghp_another").get("/user")).changed

    assert ["if-none-match" in asked.headers for asked in server.asked] == [False, True, False]


async def test_a_server_without_etags_gets_requests_with_a_date(on):
    date = formatdate(0, usegmt=True)
    with served(in_turn(Says(data={"a": 1}, headers={"Last-Modified": date}), Says(304))) as server:
        github = on(server)
        await github.get("/x")
        assert (await github.get("/x")).data == {"a": 1}

    assert server.asked[1].headers["if-modified-since"] == date


async def test_the_same_content_with_another_etag_counts_as_unchanged(on):
    said = [Says(data=[7], headers={"ETag": '"a"'}), Says(data=[7], headers={"ETag": '"b"'}), Says(304)]
    with served(in_turn(*said)) as server:
        github = on(server)
        assert (await github.get("/x")).changed
        assert not (await github.get("/x")).changed
        await github.get("/x")

    assert server.asked[2].headers["if-none-match"] == '"b"'


async def test_an_unexpected_304_is_requested_again_without_the_cache(on):
    with served(in_turn(Says(304), Says(data=[3]))) as server:
        assert (await on(server).get("/x")).data == [3]

    assert server.asked[1].headers["cache-control"] == "no-cache"


async def test_a_full_disk_makes_a_request_retryable_until_it_has_space(on, db):
    with served(with_etag) as server:
        github = on(server)
        db.execute("PRAGMA query_only = ON")
        with pytest.raises(Retryable, match="cannot be used right now"):
            await github.get("/x")
        db.execute("PRAGMA query_only = OFF")
        assert (await github.get("/x")).data == [1, 2]


def test_pages_that_were_not_requested_for_a_day_are_removed(db, clock):
    pages = PageCache(db)
    pages.keep("old", CachedPage('"e"', "", "[]"), now=clock.now)
    pages.keep("new", CachedPage('"e"', "", "[]"), now=clock.now + 90_000)
    assert pages.find("old", now=clock.now + 90_000) is None
    assert pages.find("new", now=clock.now + 90_000)


@pytest.mark.parametrize("prefix", ["", "/api/v3"])
async def test_pages_are_followed_by_the_links_of_the_server(on, prefix):
    def script(asked: Asked) -> Says:
        number = int(parse_qs(urlsplit(asked.path).query).get("page", ["1"])[0])
        host = asked.headers["host"]
        link = (
            f'<http://{host}{prefix}/repositories/7/issues?per_page=2&page={number + 1}>; rel="next", <x>; rel="last"'
        )
        headers = {"ETag": f'"{number}"', **({"Link": link} if number < 3 else {})}
        if asked.headers.get("if-none-match") == f'"{number}"':
            return Says(304)
        return Says(data=[number], headers=headers)

    with served(script, prefix) as server:
        github = on(server)
        for changed in (True, False):
            found = [page async for page in github.pages("/repos/acme/shop/issues", params={"per_page": "2"})]
            assert [page.data for page in found] == [[1], [2], [3]]
            assert [page.changed for page in found] == [changed] * 3

    assert server.paths[1] == f"GET {prefix}/repositories/7/issues?page=2&per_page=2"


@pytest.mark.parametrize("header", ["Link", "Location"])
async def test_a_link_to_another_host_is_not_followed(on, header):
    elsewhere = "http://github.example.org/repos/a/b"
    said = {
        "Link": Says(data=[], headers={"Link": f'<{elsewhere}>; rel="next"'}),
        "Location": Says(301, headers={"Location": elsewhere}),
    }
    with served(in_turn(said[header])) as server, pytest.raises(NeedsHuman, match=r"github\.api_url"):
        await on(server).get("/repos/acme/shop")

    assert len(server.asked) == 1


async def test_a_renamed_repository_responds_and_names_its_new_address(on):
    def script(asked: Asked) -> Says:
        if asked.path.startswith("/repos/"):
            return Says(
                301, data={"message": "Moved Permanently"}, headers={"Location": "/repositories/7/issues?page=3"}
            )
        return Says(data=["here"])

    with served(script) as server:
        answer = await on(server).get("/repos/acme/old/issues", params={"page": "3"})

    assert (answer.data, answer.moved) == (["here"], "/repositories/7/issues?page=3")
    assert server.paths[1] == "GET /repositories/7/issues?page=3"


async def test_a_write_to_a_renamed_repository_stays_the_same_write(on, clock):
    def script(asked: Asked) -> Says:
        return Says(307, headers={"Location": "/repositories/7"}) if "repos/" in asked.path else Says(201, {"id": 1})

    with served(script) as server:
        await on(server).write("POST", "/repos/acme/old", {"a": 1}, repository="acme/old")

    assert [(asked.verb, asked.body) for asked in server.asked] == [("POST", {"a": 1})] * 2
    assert clock.slept  # the second one is a write of its own


async def test_a_redirect_loop_is_refused_and_a_202_response_is_returned(on):
    with served(lambda asked: Says(301, headers={"Location": asked.path})) as server, pytest.raises(NeedsHuman):
        await on(server).get("/x")
    with served(in_turn(Says(202, {}))) as server:
        assert (await on(server).get("/x")).status == 202


@pytest.mark.parametrize("value", ["", "soon", "inf", "nan"])
async def test_an_invalid_rate_limit_header_is_ignored(on, clock, value):
    headers = {f"X-RateLimit-{name}": value for name in ("Limit", "Remaining", "Reset")}
    with served(in_turn(Says(data={"id": 1}, headers=headers))) as server:
        assert [(await on(server).get(path)).data for path in ("/x", "/y")] == [{"id": 1}] * 2
    assert not clock.slept


ARCHIVED = {"message": "Repository was archived so is read-only."}
UNABLE = {"message": "Resource not accessible by personal access token"}
LOCKED = {"message": "Unable to create comment because issue is locked."}
TAKEN = {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for acme:x."}]}


@pytest.mark.parametrize(
    ("status", "said", "error", "words"),
    [
        (403, ARCHIVED, Archived, "archived"),
        (403, UNABLE, Forbidden, "needs the permission issues=write"),
        (403, LOCKED, Locked, "locked"),
        (404, {"message": "Not Found"}, NotFound, "Not Found"),
        (410, {"message": "This issue was deleted"}, NotFound, "deleted"),
        (451, {"message": "Repository access blocked"}, NotFound, "blocked"),
        (422, TAKEN, Refused, "already exists for acme:x"),
        (409, {"message": "Git Repository is empty."}, Refused, "empty"),
        (500, {"message": "Server Error"}, UnknownOutcome, "may have succeeded"),
        (502, None, UnknownOutcome, "may have succeeded"),
    ],
)
async def test_each_refusal_of_a_write_raises_its_own_error(on, status, said, error, words):
    headers = {"X-Accepted-GitHub-Permissions": "issues=write"} if status == 403 else {}
    with served(in_turn(Says(status, said, headers))) as server, pytest.raises(error, match=words) as caught:
        await on(server).write("POST", "/repos/acme/shop/issues/1/comments", {"body": "x"}, repository="acme/shop")

    assert type(caught.value) is error
    assert getattr(caught.value, "status", status) == status


@pytest.mark.parametrize(
    "says",
    [
        Says(500),
        Says(200, raw=b'{"half": ', headers={"ETag": '"x"'}),
        Says(200, raw=b"[1, 2", cut=True),
        Says(503, raw=b"<html>unicorn</html>"),
    ],
)
async def test_an_invalid_response_is_retryable_and_a_write_has_an_unknown_outcome(on, says):
    with served(in_turn(says)) as server:
        github = on(server)
        with pytest.raises(Retryable) as caught:
            await github.get("/x")
        assert type(caught.value) is Retryable
        with pytest.raises(UnknownOutcome):
            await github.write("POST", "/x", {}, repository="")
        with pytest.raises(Retryable):
            await github.get("/x")

    assert "if-none-match" not in server.asked[-1].headers


async def test_a_hanging_server_is_not_waited_for_endlessly(db, monkeypatch):
    monkeypatch.setattr(transport, "_READ_SECONDS", 0.2)
    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        async with GitHubClient(url, TokenCredential(TOKEN), db) as github:
            with pytest.raises(UnknownOutcome, match="in time"):
                await github.write("POST", "/x", {}, repository="")


async def test_simultaneous_writes_are_sent_one_after_the_other(on, clock):
    at, under_way, most = [], [], []

    def script(asked: Asked) -> Says:
        at.append(clock.now)
        under_way.append(asked)
        most.append(len(under_way))
        time.sleep(0.02)  # long enough for another to come in
        under_way.pop()
        return Says(201, {})

    with served(script) as server:
        github = on(server)
        await asyncio.gather(*(github.write("POST", f"/x/{n}", {}, repository="") for n in range(6)))

    assert most == [1] * 6
    assert all(later - sooner >= 1 for sooner, later in itertools.pairwise(at))


async def test_a_write_that_was_never_sent_is_known_not_to_be_done(db, clock):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        async with GitHubClient(url, TokenCredential(TOKEN), db, clock=clock, sleep=clock.sleep) as github:
            with pytest.raises(Retryable, match="cannot be reached") as caught:
                await github.write("POST", "/x", {}, repository="")
    assert not isinstance(caught.value, UnknownOutcome)


async def test_an_archived_repository_is_logged_once_until_the_next_success(on, db, caplog):
    caplog.set_level(logging.INFO)
    left = [Says(403, ARCHIVED), Says(403, ARCHIVED), Says(data=[]), Says(201, {})]
    with served(lambda _: left.pop(0)) as server:
        github = on(server)
        for _ in range(2):
            with pytest.raises(Archived):
                await github.write("POST", "/repos/acme/shop/labels", {}, repository="acme/shop")
        await github.get("/repos/acme/shop/labels", repository="acme/shop")
        ok, detail = read_availability(db)["acme/shop"]
        assert not ok
        assert "archived" in detail
        await github.write("POST", "/repos/acme/shop/labels", {}, repository="acme/shop")

    assert read_availability(db)["acme/shop"] == (True, "")
    assert len([record for record in caplog.records if record.name.startswith("bot.")]) == 2


async def test_a_deleted_issue_is_no_fault_of_its_repository_but_a_missing_list_is(on, db):
    with served(lambda _: Says(410, {"message": "This issue was deleted"})) as server:
        github = on(server)
        with pytest.raises(NotFound):
            await github.get("/repos/acme/shop/issues/12", repository="acme/shop")
        assert "acme/shop" not in read_availability(db)
        with pytest.raises(NotFound):
            await github.get("/repos/acme/shop/issues?labels=ai", repository="acme/shop")
        assert not read_availability(db)["acme/shop"][0]


async def test_a_refused_token_is_retried_at_growing_intervals(on, db, clock, caplog):
    accepted = []
    with served(lambda _: Says(data={}) if accepted else Says(401, {"message": "Bad credentials"})) as server:
        github = on(server)
        for _ in range(600):  # ten minutes of a hot loop
            with pytest.raises(Retryable, match="rejects the token"):
                await github.get("/user")
            clock.now += 1
        assert len(server.asked) == 4  # at 0, 1, 3 and 7 minutes
        assert not read_availability(db)[""][0]
        with pytest.raises(Retryable):
            await github.token_for("acme/shop", for_push=True)
        accepted.append(True)
        clock.now += 900
        assert await github.token_for("acme/shop") == TOKEN  # which tries nothing
        await github.get("/user")
        await github.get("/user")

    assert read_availability(db)[""] == (True, "")
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
    assert TOKEN not in caplog.text


async def test_simultaneous_requests_with_a_refused_token_count_as_one(on, clock):
    with served(in_turn(Says(401, {"message": "Bad credentials"}))) as server:
        github = on(server)
        await asyncio.gather(*(github.get(f"/x/{n}") for n in range(6)), return_exceptions=True)
        asked = len(server.asked)
        clock.now += 61
        await asyncio.gather(*(github.get(f"/x/{n}") for n in range(6)), return_exceptions=True)

    assert len(server.asked) == asked + 1


async def test_errors_and_log_lines_contain_no_token(on, caplog):
    caplog.set_level(logging.DEBUG)
    said = Says(422, {"message": f"no {TOKEN} here, nor ghs_abcdefghijklmnop"})
    with served(in_turn(said)) as server, pytest.raises(Refused) as caught:
        await on(server).write("POST", "/x", {}, repository="")

    assert "[secret]" in str(caught.value)
    assert "abcdefghijklmnop" not in str(caught.value)
    assert TOKEN not in str(caught.value) + caplog.text
    assert TOKEN not in repr(TokenCredential(TOKEN))


async def test_times_of_the_server_are_converted_to_our_clock(on, clock):
    with served(in_turn(Says(data={}, headers={"Date": formatdate(clock.now + 600, usegmt=True)}))) as server:
        github = on(server)
        await github.get("/x")
        assert github.to_local_time("1970-01-01T00:20:00Z") == pytest.approx(600)
    assert github.now() == clock.now
    with pytest.raises(Retryable):
        github.to_local_time("yesterday")


async def test_the_poll_interval_of_the_server_is_respected(on, clock):
    with served(in_turn(Says(data=[1], headers={"ETag": '"a"', "X-Poll-Interval": "60"}))) as server:
        github = on(server)
        for _ in range(3):
            assert (await github.get("/events")).data == [1]
        clock.now += 61
        await github.get("/events")

    assert len(server.asked) == 2


async def test_a_query_returns_its_data_even_if_a_part_is_missing(on):
    gone = Says(data={"data": {"a": None, "b": 1}, "errors": [{"type": "NOT_FOUND", "message": "no a"}]})
    with served(in_turn(gone), "/api/v3") as server:
        assert await on(server).graphql("query { a b }", {"n": 1}) == {"a": None, "b": 1}

    assert server.paths == ["POST /api/graphql"]
    assert server.asked[0].body == {"query": "query { a b }", "variables": {"n": 1}}


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (Says(404, {"message": "Not Found"}), NoGraphQL),
        (Says(data={"errors": [{"message": "Field 'x' doesn't exist"}]}), NoGraphQL),
        (Says(data={"data": {"a": None}, "errors": [{"type": "FORBIDDEN", "message": "no"}]}), NoGraphQL),
        (Says(data=[]), NoGraphQL),
        (Says(data={"errors": [{"message": "Something went wrong while executing your query."}]}), Retryable),
        (Says(502), Retryable),
        (Says(data={"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}), RateLimited),
    ],
)
async def test_a_failed_query_tells_whether_another_way_may_work(on, says, error):
    with served(in_turn(says)) as server, pytest.raises(error) as caught:
        await on(server).graphql("query { a }", {})
    assert type(caught.value) is error


async def test_a_log_is_fetched_from_its_storage_without_our_token(on):
    def script(asked: Asked) -> Says:
        if asked.path.startswith("/repos"):
            return Says(302, headers={"Location": f"http://{asked.headers['host']}/blob?sig=1"})
        return Says(raw=b"a\n" * 5000 + b"the end")

    with served(script) as server:
        assert (
            await on(server).tail("/repos/acme/shop/actions/jobs/1/logs", repository="acme/shop", most=9)
            == "a\nthe end"
        )

    assert "authorization" not in server.asked[1].headers


async def test_our_account_is_requested_once(on):
    said = Says(data={"login": "treehand-bot", "id": 5}, headers={"X-OAuth-Scopes": "repo, workflow"})
    with served(in_turn(said)) as server:
        github = on(server)
        assert await github.account() == await github.account()

    me = await github.account()
    assert (me.login, me.id, me.kind, me.scopes) == ("treehand-bot", 5, "classic token", ("repo", "workflow"))
    assert len(server.asked) == 1


async def test_the_token_of_a_workflow_knows_its_account(on):
    def script(asked: Asked) -> Says:
        if asked.path == "/user":
            return Says(403, {"message": "Resource not accessible by integration"})
        return Says(data={"data": {"viewer": {"login": "github-actions[bot]", "databaseId": 41898282}}})

    with served(script) as server:
        me = await on(server, "ghs_abcdefghijkl").account()
    assert (me.login, me.id, me.kind) == ("github-actions[bot]", 41898282, "installation token")

"""Malformed responses and a damaged cache become Retryable and never reach the loop."""

import json
import sqlite3
from contextlib import suppress

import pytest

from bot.errors import NeedsHuman, Retryable
from bot.ports import Poll
from bot.services.github.transport import parse_json
from bot.services.http.availability import read_availability
from bot.services.http.service_reply import NoAnswer, ServiceReply
from tests.services.github.github_bot import BRANCH, REPO, Bot
from tests.services.github.test_issues import labelled


async def test_a_locked_or_full_cache_is_retryable(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.comment(REPO, number, "more", by="ana")
    bot.db.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(bot.db.execute("PRAGMA database_list").fetchone()["file"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Retryable):
        await bot.said(number)
    with pytest.raises(Retryable):
        await bot.pull()
    other.close()
    assert [comment.text for comment in await bot.said(number)] == ["more"]


async def test_an_unreadable_cache_is_retryable_even_between_two_polls(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.db.execute("ALTER TABLE records RENAME TO elsewhere")
    for look in (bot.tracker.snapshot([f"{REPO}#{number}"], poll=Poll(fresh=False)), bot.forge.snapshot([BRANCH])):
        with pytest.raises(Retryable):
            await look


async def test_a_fault_recorded_by_another_process_ends_with_our_next_success(bot, tmp_path):
    number = labelled(bot.world)
    await bot.issue(number)
    stray = Bot(bot.github, tmp_path, token="ghp_wrong")
    with pytest.raises(Retryable):
        await stray.issue(number)
    stray.close()
    assert not read_availability(bot.db)[""][0]
    await bot.issue(number)
    assert read_availability(bot.db)[""][0]


ODD = [
    None,
    5,
    "odd",
    [],
    {},
    [None],
    [5],
    {"message": "odd"},
    [{"id": {}, "number": {}, "sha": 5}],
    {"data": {"nodes": None}},
]
LATE = [{"id": 7, "number": 1, "updated_at": "odd", "created_at": {}, "user": [], "issue_url": 5, "state": {}}]
PLACES = [
    "GET /user", "GET /repos/acme/shop", "GET */issues", "GET */issues/1", "GET */events", "GET */permission",
    "GET */pulls", "GET */pulls/2", "GET */comments", "GET */reviews", "GET */check-runs", "GET */status",
    "GET */heads/treehand/", "POST /graphql",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
async def test_an_invalid_response_is_retryable_at_every_endpoint(bot, place):
    number = labelled(bot.world)
    pull = await bot.offer()
    bot.world.comment(REPO, number, "more", by="ana")
    bot.world.review(REPO, pull, by="ana", body="Nearly.", remarks=[("new.py", 2, "why two?")])
    bot.world.add_check(REPO, bot.world.tip(REPO, BRANCH), "tests", "failure")
    if place != "POST /graphql":
        bot.github.faults.answer("POST *graphql", 404, times=1000)
    for odd in [*ODD, LATE]:
        fault = bot.github.faults.add(place, status=200, body=json.dumps(odd).encode(), times=1000)
        bot.world.advance(4000)
        for look in (bot.tracker.snapshot([f"{REPO}#{number}"]), bot.forge.snapshot([BRANCH])):
            with suppress(Retryable, NeedsHuman):
                await look
        fault.times = 0


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 100_000])
def test_an_answer_that_is_nested_too_deep_counts_as_none(text):
    with pytest.raises(NoAnswer):
        parse_json(ServiceReply(200, {}, text))

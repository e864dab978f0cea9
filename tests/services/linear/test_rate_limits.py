"""Rate limits, refused keys and malformed responses: no request before its time, and no crash."""

import json
import logging
from contextlib import suppress
from email.utils import formatdate
from itertools import pairwise

import pytest

from bot.domain.issue import IssueStage
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, RateLimited, Retryable
from bot.services.http.availability import read_availability
from tests.fakes.linear.faults import ALWAYS
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import LinearBot, bot, labelled

__all__ = ["bot", "linear"]

LIMITED = json.dumps(
    {"errors": [{"message": "Rate limit exceeded", "extensions": {"code": "RATELIMITED", "type": "ratelimited"}}]}
).encode()


def moment(seconds):
    return formatdate(seconds, usegmt=True)


def milliseconds(seconds):
    return str(int(seconds * 1000))


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        (lambda now: {"Retry-After": "7"}, 7),
        (lambda now: {"Retry-After": moment(now + 90)}, 90),
        (lambda now: {"Retry-After": "0"}, 1),
        (lambda now: {"Retry-After": "-5"}, 1),
        (lambda now: {"Retry-After": moment(now - 90)}, 1),
        (lambda now: {"Retry-After": "1000000"}, 3600),
        (lambda now: {"Retry-After": "soon"}, 60),
        (lambda now: {"Retry-After": "nan"}, 60),
        (lambda now: {}, 60),
        (lambda now: {"X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": milliseconds(now + 50)}, 50),
        (lambda now: {"X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": milliseconds(now - 9)}, 1),
        (lambda now: {"X-RateLimit-Requests-Reset": "odd"}, 60),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [200, 400, 429])
async def test_no_request_is_sent_before_the_stated_time(bot, headers, wait, status):
    await bot.tracker.snapshot([])
    bot.linear.history.clear()
    bot.linear.faults.add(status=status, headers=headers(bot.world.now), body=LIMITED)
    with pytest.raises(RateLimited):
        await bot.tracker.snapshot([])
    bot.linear.history.clear()
    began = bot.world.now
    while not bot.linear.history:
        with suppress(RateLimited):
            await bot.tracker.snapshot([])
        bot.world.advance(1)
    assert wait - 2 <= bot.linear.history[0].at - began <= wait + 1200  # used up, it refills slowly


async def waited(bot, headers):
    """Seconds until the next request after a refusal with these headers."""
    await bot.tracker.snapshot([])
    bot.linear.faults.add(status=400, headers=headers, body=LIMITED)
    with pytest.raises(RateLimited):
        await bot.tracker.snapshot([])
    bot.linear.history.clear()
    began = bot.world.now
    while not bot.linear.history:
        with suppress(RateLimited):
            await bot.tracker.snapshot([])
        bot.world.advance(1)
    return bot.linear.history[0].at - began


async def test_a_used_up_budget_is_waited_for_until_there_is_room_and_not_until_it_is_full(bot):
    full = milliseconds(bot.world.now + 3600)
    seconds = await waited(bot, {"X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": full})
    assert 100 <= seconds <= 900


async def test_the_limit_of_one_operation_is_waited_for_as_its_header_says(bot):
    reset = milliseconds(bot.world.now + 600)
    headers = {"X-RateLimit-Endpoint-Requests-Remaining": "0", "X-RateLimit-Endpoint-Requests-Reset": reset}
    assert 598 <= await waited(bot, headers) <= 700


async def test_a_stated_delay_holds_after_a_restart(bot):
    await bot.tracker.snapshot([])
    bot.linear.faults.too_many(retry_after="100")
    with pytest.raises(RateLimited):
        await bot.tracker.snapshot([])
    bot.asked()
    other = bot.life()
    with pytest.raises(RateLimited):
        await other.tracker.snapshot([])
    assert bot.asked() == []


async def test_delays_grow_if_no_time_is_stated(bot):
    await bot.tracker.snapshot([])
    bot.linear.faults.too_many(times=ALWAYS)
    bot.linear.history.clear()
    for _ in range(4 * 60):
        with suppress(RateLimited):
            await bot.tracker.snapshot([])
        bot.world.advance(30)
    times = [call.at for call in bot.linear.history]
    gaps = [round(later - earlier) for earlier, later in pairwise(times)]
    assert gaps == [60, 120, 240, 480, 960, 1920]


async def test_hundreds_of_limits_cause_no_early_request(bot):
    allowed, early, waits = [0.0], [], [3, 11, 0, 40, 90, 1, 7]

    def limited(call):
        if call.at < allowed[0]:
            early.append(call)
        return False

    bot.linear.faults.add(limited, times=ALWAYS)
    key = labelled(bot.world)
    for number in range(300):
        wait = waits[number % len(waits)]
        if number % 3 == 0:
            fault = bot.linear.faults.too_many(retry_after=str(wait))
        asked = len(bot.linear.history)
        with suppress(RateLimited):
            await bot.issue(key, key)
        if number % 3 == 0 and fault.times == 0 and len(bot.linear.history) > asked:
            allowed[0] = bot.linear.history[-1].at + wait
        bot.world.advance(1.5)
    assert not early


@pytest.mark.parametrize("skew", [-86400, 86400])
async def test_a_jumping_clock_delays_requests_for_at_most_a_minute(bot, skew):
    await bot.tracker.snapshot([])
    bot.linear.faults.too_many(retry_after="10")
    with pytest.raises(RateLimited):
        await bot.tracker.snapshot([])
    bot.skew = skew
    bot.world.advance(10)
    with suppress(RateLimited):
        await bot.tracker.snapshot([])
    bot.world.advance(61)
    await bot.tracker.snapshot([])


async def test_a_rate_limit_refills_after_the_clock_was_set_back(bot):
    bot.linear.limits.requests = 100
    with pytest.raises(RateLimited):
        for _ in range(200):
            await bot.tracker.snapshot([])
    bot.skew = -86400
    bot.world.advance(600)
    await bot.tracker.snapshot([])


# The key


@pytest.mark.parametrize("status", [200, 400, 401])
async def test_a_refused_key_is_retried_at_growing_intervals(bot, status):
    await bot.tracker.snapshot([])
    refused = bot.linear.faults.unauthenticated(status=status, times=ALWAYS)
    bot.linear.history.clear()
    for _ in range(3600 // 20):
        with suppress(Retryable):
            await bot.tracker.snapshot([])
        bot.world.advance(20)
    times = [call.at for call in bot.linear.history]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 60
    assert gaps == sorted(gaps)
    assert len(times) <= 9
    assert not read_availability(bot.db)[""][0]
    refused.times = 0
    bot.world.advance(900)
    await bot.tracker.snapshot([])
    assert read_availability(bot.db)[""][0]


async def test_a_revoked_key_is_used_for_one_write_only(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.revoke(bot.token)
    for _ in range(5):
        with pytest.raises(Retryable):
            await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert len(bot.linear.calls("CreateComment")) == 1
    assert bot.world.comments(key) == []


async def test_errors_and_logs_do_not_contain_the_key(bot, caplog):
    caplog.set_level(logging.DEBUG)
    key = labelled(bot.world)
    await bot.issue(key)
    words, problems = f"Who is {bot.token}?", []
    for status in (200, 400, 401, 403, 500):
        body = json.dumps({"errors": [{"message": words, "extensions": {"userPresentableMessage": words}}]}).encode()
        bot.linear.faults.add("UpdateIssue", status=status, body=body)
        with pytest.raises((Retryable, NeedsHuman)) as caught:
            await bot.tracker.ensure_labels(key, add=["ai:working"])
        problems.append(str(caught.value))
        bot.world.advance(1000)
    text = f"{problems} {caplog.text}"
    assert bot.token not in text
    assert "lin_api_" not in text


async def test_a_missing_team_is_reported_with_the_existing_ones(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, team="NOPE")
    with pytest.raises(NeedsHuman, match=r"no team NOPE.*ENG"):
        await bot.tracker.snapshot([])
    assert not read_availability(bot.db)["NOPE"][0]
    linear.world.add_team("NOPE", members=["treehand-bot"])
    await bot.tracker.snapshot([])
    assert read_availability(bot.db)["NOPE"][0]
    await bot.close()


# The fence


class Gone(Exception):
    """Another daemon has the lease."""


DEEDS = {
    "CreateComment": lambda bot, key: bot.tracker.ensure_comment(key, slug="1/progress", text="Working."),
    "CreateAttachment": lambda bot, key: bot.tracker.ensure_link(key, url="https://x", title="x"),
    "CreateLabel": lambda bot, key: bot.tracker.ensure_labels(key, add=["ai:working"]),
    "UpdateIssue": lambda bot, key: bot.tracker.ensure_stage(key, IssueStage.STARTED),
    "CreateReaction": lambda bot, key: bot.tracker.ensure_reaction(key, bot.world.all_comments[0].id, Reaction.SEEN),
}


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_bot_without_its_lease_writes_nothing(bot, deed):
    key = labelled(bot.world)
    bot.world.comment(key, "go", by="ana")

    def fence():
        raise Gone

    stale = bot.life("stale", fence=fence)
    await stale.issue(key)
    with pytest.raises(Gone):
        await DEEDS[deed](stale, key)
    assert not [call for call in bot.linear.history if call.effects]


async def test_the_lease_is_checked_after_the_rate_limiter_has_waited(bot):
    asked = []
    key = labelled(bot.world)
    late = bot.life("late", fence=lambda: asked.append(bot.world.now))
    await late.issue(key)
    bot.linear.faults.too_many("IsChanged", retry_after="3")
    with pytest.raises(RateLimited):
        await late.tracker.snapshot([])
    told = bot.world.now
    await late.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert asked[0] >= told + 3


# Malformed responses


ODD = [
    None, 5, "odd", [], {}, [None], {"data": None}, {"data": []}, {"data": {}}, {"data": {"issues": None}},
    {"data": {"issues": {"nodes": None, "pageInfo": None}}}, {"data": {"issues": {"nodes": [None]}}},
    {"data": {"issues": {"nodes": [{"id": 5, "updatedAt": {}}], "pageInfo": {"hasNextPage": 1, "endCursor": []}}}},
    {"data": {"comments": {"nodes": [{"id": [], "body": 5}], "pageInfo": 5}}},
    {"data": {"teams": {"nodes": [{}]}, "viewer": 5}}, {"data": {"issue": None}}, {"errors": "odd"}, {"errors": [5]},
    {"data": {"issue": {"state": 5, "team": []}}}, {"data": {"issueUpdate": None}}, {"data": {"commentCreate": 5}},
    {"data": {"commentCreate": {"success": "yes"}}}, {"data": {"commentCreate": {"success": True, "comment": None}}},
    {"data": {"issueLabelCreate": {"success": True, "issueLabel": None}}}, {"data": {"issueLabels": {"nodes": [5]}}},
    {"errors": [{"message": None, "extensions": {"type": [], "code": {}}}]},
]  # fmt: skip
PLACES = ["IsChanged", "IssueIds", "Issues", "Comments", "Viewer", "Team", "FindIssue", "Labels", "IssueState", "Notes",
          "Orphaned", "CreateComment", "UpdateIssue", "CreateAttachment", "CreateReaction", "CreateLabel"]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
async def test_a_malformed_response_is_retryable_at_every_operation(bot, place):
    key = labelled(bot.world)
    said = bot.world.comment(key, "go", by="ana")
    await bot.issue(key, key)
    for number, odd in enumerate(ODD):
        fault = bot.linear.faults.add(place, status=200, body=json.dumps(odd).encode(), times=ALWAYS)
        bot.world.advance(4000)
        bot.world.edit(key, title=f"Cart {number}", by="ana")
        await everything(bot, key, said, number)
        fault.times = 0
    bot.world.advance(4000)
    issue = await bot.issue(key, key)
    assert issue.title == f"Cart {len(ODD) - 1}"


async def everything(bot, key, said, number):
    tracker, other = bot.tracker, f"ENG-{number + 90}"
    for deed in (
        lambda: tracker.snapshot([key, other]),
        lambda: tracker.ensure_comment(key, slug=f"{number}/progress", text="Working.", note="x"),
        lambda: tracker.ensure_labels(key, add=[f"ai:{number}"]),
        lambda: tracker.ensure_reaction(key, said, Reaction.DONE),
        lambda: tracker.ensure_stage(key, IssueStage.STARTED),
        lambda: tracker.ensure_link(key, url="https://x", title="x"),
        lambda: tracker.find_orphaned(["ai:review"]),
        lambda: tracker.read_run_notes(key),
    ):
        with suppress(Retryable, NeedsHuman):
            await deed()


LATE = [
    ("Issues", {"updatedAt": 5}), ("Issues", {"createdAt": "odd"}), ("Issues", {"identifier": 5}),
    ("Issues", {"title": None}), ("Issues", {"priority": "odd"}), ("Issues", {"labels": {"nodes": [{"id": 5}]}}),
    ("Issues", {"creator": {"id": 5}}), ("Issues", {"id": {}}), ("Issues", {"description": 5}),
    ("Comments", {"createdAt": "odd"}), ("Comments", {"body": 5}), ("Comments", {"updatedAt": 5}),
    ("Comments", {"id": []}),
]  # fmt: skip


@pytest.mark.parametrize(("place", "odd"), LATE)
async def test_an_invalid_record_is_never_cached(bot, place, odd):
    key = labelled(bot.world)
    bot.world.comment(key, "go", by="ana")
    root = "issues" if place == "Issues" else "comments"
    bot.linear.faults.add(place, amended=lambda answer: answer.body["data"][root]["nodes"][0].update(odd), times=2)
    for _ in range(2):
        with pytest.raises(Retryable):
            await bot.issue(key, key)
    bot.world.advance(30)
    assert (await bot.issue(key, key)).title == "Add a cart"
    assert [one.text for one in await bot.said(key)] == ["go"]

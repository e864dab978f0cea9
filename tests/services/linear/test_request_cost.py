"""The requests and the complexity of a poll do not grow with the number of runs."""

import asyncio

import pytest

from bot.domain.reaction import Reaction
from bot.errors import RateLimited
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import bot, labelled

__all__ = ["bot", "linear"]

POINTS_AN_HOUR = 500


async def followed(bot, runs):
    keys = [labelled(bot.world) for _ in range(runs)]
    for key in keys[:10]:
        bot.world.comment(key, "use OAuth", by="ana")
    for _ in range(3):
        await bot.tracker.snapshot(keys)
        bot.world.advance(150)
    bot.linear.history.clear()
    return keys


async def idle_looks(bot, keys, times):
    bot.linear.history.clear()
    for _ in range(times):
        assert len((await bot.tracker.snapshot(keys)).issues) == len(keys)
        bot.world.advance(30)
    return list(bot.linear.history)


@pytest.mark.parametrize("runs", [1, 10, 100])
async def test_an_idle_poll_is_one_small_request_for_any_number_of_runs(bot, runs):
    keys = await followed(bot, runs)
    looks = await idle_looks(bot, keys, 10)
    assert [call.operation for call in looks] == ["IsChanged"] * 10
    assert sum(call.complexity for call in looks) / 10 * 120 < POINTS_AN_HOUR


@pytest.mark.parametrize("runs", [1, 100])
async def test_half_a_day_of_idle_polls_with_a_full_check_costs_little(bot, runs):
    keys = await followed(bot, runs)
    (idle,) = {call.complexity for call in await idle_looks(bot, keys, 1)}
    bot.world.advance(12 * 3600)
    rare = sum(call.complexity for call in await idle_looks(bot, keys, 1))
    rare += sum(call.complexity for call in bot.linear.history if call.operation in {"Viewer", "Team"})
    assert 120 * idle + rare / 12 < POINTS_AN_HOUR


async def test_an_idle_poll_is_as_small_after_a_restart(bot):
    keys, other = await followed(bot, 20), bot.life()
    for _ in range(2):
        await other.tracker.snapshot(keys)
        bot.world.advance(150)
    assert [call.operation for call in await idle_looks(other, keys, 3)] == ["IsChanged"] * 3


async def test_one_comment_on_one_of_a_hundred_issues_costs_three_requests(bot):
    keys = await followed(bot, 100)
    bot.world.comment(keys[0], "use OAuth", by="ana")
    await bot.tracker.snapshot(keys)
    points, asked = bot.points()
    assert asked == ["IsChanged", "IssueIds", "Comments"]
    assert points < 1000


async def test_after_a_change_the_next_polls_are_as_small_as_idle_ones(bot):
    """Lists show a change late, so two minutes are asked about again; what was read is not read again."""
    keys = await followed(bot, 20)
    bot.world.comment(keys[0], "use OAuth", by="ana")
    bot.world.edit(keys[1], title="Two carts", by="ana")
    await bot.tracker.snapshot(keys)
    change, _ = bot.points()
    bot.world.advance(10)
    for _ in range(3):
        await bot.tracker.snapshot(keys)
        bot.world.advance(30)
    points, asked = bot.points()
    assert asked == ["IsChanged"] * 3
    assert points < 15
    assert change < 500

    bot.world.comment(keys[0], "and no cookies", by="ana")  # a change of what was seen is seen
    bot.world.edit(keys[1], title="Three carts", by="ana")
    view = await bot.tracker.snapshot(keys)
    assert [comment.text for comment in view.comments[keys[0]]] == ["use OAuth", "use OAuth", "and no cookies"]
    assert view.issues[keys[1]].title == "Three carts"


async def test_an_unchanged_issue_is_not_read_again(bot):
    keys = await followed(bot, 20)
    bot.world.edit(keys[3], title="Two carts", by="ana")
    await bot.tracker.snapshot(keys)
    assert [call.variables["count"] for call in bot.linear.calls("Issues")] == [1]
    await bot.tracker.snapshot(keys)
    assert len(bot.linear.calls("Issues")) == 1


async def test_no_document_exceeds_half_of_linears_complexity_limit(bot):
    keys = [labelled(bot.world) for _ in range(60)]
    said = bot.world.comment(keys[0], "use OAuth", by="ana")
    await bot.tracker.snapshot(keys)
    await bot.tracker.ensure_comment(keys[0], slug="1/progress", text="Working.", note="first")
    await bot.tracker.ensure_labels(keys[0], add=["ai:working"])
    await bot.tracker.ensure_reaction(keys[0], said, Reaction.SEEN)
    await bot.tracker.find_orphaned(["ai:working"])
    await bot.tracker.read_run_notes(keys[0])
    assert max(call.complexity for call in bot.linear.history) < bot.linear.limits.single / 2


async def answered(bot, key):
    """Writes like a new run, and waits as long as the rate limiter asks."""
    tracker = bot.tracker
    for deed in (
        lambda: tracker.ensure_comment(key, slug="1/progress", text="Queued.", note="run 1"),
        lambda: tracker.ensure_labels(key, add=["ai:queued"]),
        lambda: tracker.ensure_comment(key, slug="1/progress", text="Working.", note="run 1, turn 1"),
        lambda: tracker.ensure_labels(key, add=["ai:working"], remove=["ai:queued"]),
    ):
        await patiently(bot, deed)


async def patiently(bot, deed):
    while True:
        try:
            return await deed()
        except RateLimited as wait:
            bot.world.advance(wait.retry_after)


async def test_a_burst_of_200_issues_stays_inside_linears_limits(bot):
    limits, world = bot.linear.limits, bot.world
    limits.requests = 1500
    least = {"requests": limits.requests, "complexity": limits.complexity}
    keys = [labelled(world) for _ in range(200)]
    view = await patiently(bot, lambda: bot.tracker.snapshot([]))
    assert len(view.issues) == 200
    for at in range(0, 200, 25):
        await asyncio.gather(*(answered(bot, key) for key in keys[at : at + 25]))
        world.advance(5)
        await patiently(bot, lambda: bot.tracker.snapshot(keys))
        least = {kind: min(left, limits.left(bot.token, kind)) for kind, left in least.items()}
    assert not [call for call in bot.linear.history if "RATELIMITED" in call.errors]
    assert sum(call.complexity for call in bot.linear.history) <= 250_000
    assert bot.linear.calls("Labels")[4:] == []
    assert least["requests"] >= 1500 * 0.1 - 5
    assert least["complexity"] >= 250_000 * 0.1 - 5000
    assert all(world.labels(key) == {"ai", "ai:working"} for key in keys)
    assert [len(world.comments(key)) for key in keys] == [1] * 200


async def test_a_tenth_of_each_rate_limit_is_left_to_others(bot):
    bot.linear.limits.requests = 100
    key = labelled(bot.world)
    await bot.issue(key)
    with pytest.raises(RateLimited):
        for number in range(200):
            await bot.tracker.ensure_comment(key, slug="1/progress", text=f"Working {number}.")
    assert 9 <= bot.linear.limits.left(bot.token, "requests") <= 12
    assert not [call for call in bot.linear.history if call.errors]

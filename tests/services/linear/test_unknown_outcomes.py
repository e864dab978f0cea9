"""A write with an unknown outcome is done in the end, and once, for every way that it can fail (F3, F4)."""

from contextlib import suppress

import httpx
import pytest

from bot.domain.issue import IssueStage
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, Retryable
from bot.services.linear.errors import Forbidden, Refused
from tests.fakes.linear.faults import ALWAYS
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import bot, labelled

__all__ = ["bot", "linear"]

KEY, LINK = "ENG-1", "https://github.com/acme/shop/pull/7"
_SETTLED = 70.0


async def _say(bot):
    await bot.tracker.ensure_comment(KEY, slug="1/progress", text="Working.")


async def _rewrite(bot):
    await bot.tracker.ensure_comment(KEY, slug="1/before", text="Now this.")


async def _note(bot):
    await bot.tracker.ensure_comment(KEY, slug="1/before", text="Before.", note="remembered")


async def _label(bot):
    await bot.tracker.ensure_labels(KEY, add=["ai:working"], remove=["ai:queued"])


async def _react(bot):
    for comment in await bot.said(KEY):
        await bot.tracker.ensure_reaction(KEY, comment.id, Reaction.SEEN)


async def _move(bot):
    issue = await bot.issue(KEY, KEY)
    if IssueStage.STARTED in issue.state.movable and issue.state.stage is not IssueStage.STARTED:
        await bot.tracker.ensure_stage(KEY, IssueStage.STARTED)


async def _link(bot):
    await bot.tracker.ensure_link(KEY, url=LINK, title="Add a cart")


DEEDS = {
    "say": ("CreateComment", _say), "rewrite": ("UpdateComment", _rewrite),
    "note": ("CreateAttachment", _note), "label": ("UpdateIssue", _label),
    "make a label": ("CreateLabel", _label), "react": ("CreateReaction", _react), "move": ("UpdateIssue", _move),
    "link": ("CreateAttachment", _link),
}  # fmt: skip
FAULTS = {
    "the answer was dropped": {"done": True, "cut": True},
    "an error after the effect": {"done": True, "status": 500},
    "the answer broke off": {"half": True},
    "an error before the effect": {"status": 502},
    "cut before the effect": {"cut": True},
    "not found on the way": {"status": 404, "body": b"<html>not here</html>"},
    "too many": {"status": 429},
    "no more": {"status": 400, "body": b'{"errors":[{"message":"x","extensions":{"code":"RATELIMITED"}}]}'},
    "locked": {"body": b'{"errors":[{"message":"x","extensions":{"type":"lock timeout"}}]}', "status": 400},
    "redirected": {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}},
    "nothing": {"status": 200, "body": b"null"},
    "an empty payload": {"status": 200, "body": b'{"data": {}}'},
    "an odd payload": {"status": 200, "body": b'{"data": {"commentCreate": [5]}}'},
}
PLAIN = {"the answer was dropped", "an error after the effect", "an error before the effect"}
ODDS = [("at once", 0.0, True), ("lists lag", 20.0, True), ("ids are not honoured", 20.0, False)]


CASES = [
    pytest.param(fault, *odd[1:], id=f"{fault}, {odd[0]}")
    for odd in ODDS
    for fault in FAULTS
    if odd is ODDS[0] or fault in PLAIN
]


@pytest.mark.parametrize(("fault", "lag", "honours"), CASES)
@pytest.mark.parametrize("deed", DEEDS)
async def test_a_write_is_done_once_for_every_fault_of_its_response(bot, deed, fault, lag, honours):
    operation, do = DEEDS[deed]
    await _prepared(bot)
    bot.world.lag, bot.world.honours_ids = lag, honours
    before = _counts(bot.world)
    bot.linear.faults.add(operation, **FAULTS[fault])
    for _ in range(4):
        with suppress(Retryable):
            await do(bot)
        bot.world.advance(_SETTLED)
    await do(bot)
    made = {what: now - before[what] for what, now in _counts(bot.world).items() if now != before[what]}
    assert made == {"say": {"comments": 1}, "note": {"attachments": 1}, "link": {"attachments": 1}, "react":
                    {"reactions": 1}, "label": {"labels": 1}, "make a label": {"labels": 1}}.get(deed, {})  # fmt: skip
    _assert_done(bot.world, deed)


async def _prepared(bot):
    """Makes an issue with a label, a comment of ours and one of another person."""
    labelled(bot.world, "ai:queued")
    await bot.issue(KEY)
    await bot.tracker.ensure_comment(KEY, slug="1/before", text="Before.")
    bot.world.comment(KEY, "hello", by="ana")
    bot.world.advance(_SETTLED)
    await bot.issue(KEY, KEY)


def _counts(world):
    return {
        "comments": len(world.comments(KEY)),
        "attachments": len(world.attachments(KEY)),
        "reactions": len(world.all_reactions),
        "labels": len(world.all_labels),
    }


def _assert_done(world, deed):
    done = {
        "rewrite": any("Now this." in one.body for one in world.comments(KEY)),
        "label": world.labels(KEY) == {"ai", "ai:working"},
        "move": world.state(KEY) == "In Progress",
    }
    assert done.get(deed, True)


async def test_a_comment_with_an_unknown_outcome_is_repeated_only_after_it_had_time_to_appear(bot):
    bot.world.honours_ids = False
    key = labelled(bot.world)
    await bot.issue(key)
    bot.linear.faults.drop_before("CreateComment")
    began = bot.world.now
    for _ in range(5):
        with pytest.raises(Retryable):
            await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
        bot.world.advance(11)
    assert [call.at - began < 1 for call in bot.linear.calls("CreateComment")] == [True]
    bot.world.advance(11)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert len(bot.world.comments(key)) == 1


async def test_a_comment_that_was_certainly_not_posted_is_posted_at_once(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.linear.faults.too_many("CreateComment", retry_after="5")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.advance(6)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert len(bot.world.comments(key)) == 1


async def test_a_hanging_server_is_not_waited_for_endlessly(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.client._transport._http.timeout = httpx.Timeout(0.2)
    bot.linear.faults.hang(0.5, "CreateComment")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.advance(_SETTLED)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert len(bot.world.comments(key)) == 1


async def test_a_restart_after_an_unknown_outcome_repeats_no_comment(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.linear.faults.drop("CreateComment")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.advance(_SETTLED)
    await bot.life().tracker.ensure_comment(key, slug="1/progress", text="Done.")
    (ours,) = bot.world.comments(key)
    assert ours.body.startswith("Done.")


async def test_a_write_with_a_partial_response_counts_as_done(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.linear.faults.partial("commentCreate.comment.user", "CreateComment")
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    (ours,) = bot.world.comments(key)
    assert ours.body.startswith("Done.")


async def test_a_partial_response_to_a_read_is_not_used(bot):
    key = labelled(bot.world)
    bot.linear.faults.partial("issues.nodes.0.creator", "Issues", times=3)
    for _ in range(3):
        with pytest.raises(Retryable):
            await bot.issue(key)
    assert (await bot.issue(key)).requester.trusted


# Refusals


@pytest.mark.parametrize("kind", ["user error", "invalid input", "usage limit exceeded"])
async def test_a_refused_write_needs_a_person_and_is_not_repeated(bot, kind):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.linear.faults.user_error("No such thing.", "CreateComment", kind=kind, times=ALWAYS)
    bot.linear.faults.user_error("No such thing.", "UpdateIssue", kind=kind, times=ALWAYS)
    bot.asked()
    with pytest.raises(NeedsHuman, match="No such thing"):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert bot.asked().count("CreateComment") <= 2
    with pytest.raises(NeedsHuman, match="No such thing"):
        await bot.tracker.ensure_labels(key, add=["ai:working"])


async def test_a_key_that_may_only_read_sees_everything_and_is_told_what_it_may_not(bot):
    key = labelled(bot.world)
    reader = bot.life("reader", authorization=bot.linear.token_for("treehand-bot", scopes=("read",)))
    assert await reader.issue(key)
    for deed in (
        reader.tracker.ensure_comment(key, slug="1/progress", text="Working."),
        reader.tracker.ensure_labels(key, add=["ai:working"]),
        reader.tracker.ensure_stage(key, IssueStage.STARTED),
        reader.tracker.ensure_link(key, url=LINK, title="Add a cart"),
    ):
        with pytest.raises(Forbidden, match="has no permission"):
            await deed


async def test_a_label_that_people_deleted_is_created_again(bot):
    key, other = labelled(bot.world), labelled(bot.world)
    await bot.issue(key)
    await bot.tracker.ensure_labels(key, add=["ai:working"])
    bot.world.all_labels = [one for one in bot.world.all_labels if one.name != "ai:working"]
    bot.world.find(key).labels = [one for one in bot.world.find(key).labels if one.name != "ai:working"]
    for _ in range(2):
        with suppress(Refused):
            await bot.tracker.ensure_labels(other, add=["ai:working"])
    with suppress(Refused):
        await bot.tracker.ensure_labels(key, add=["ai:review"], remove=["ai:working"])
    await bot.issue(key, key)
    await bot.tracker.ensure_labels(key, add=["ai:review"], remove=["ai:working"])
    assert (bot.world.labels(other), bot.world.labels(key)) == ({"ai", "ai:working"}, {"ai", "ai:review"})


async def test_a_phase_label_in_a_group_replaces_the_other(bot):
    for name in ("queued", "working"):
        bot.world.add_label(name, team="ENG", group="bot")
    bot.world.add_label("ai", team="ENG")
    key = labelled(bot.world, "queued")
    assert "bot:queued" in (await bot.issue(key)).labels
    await bot.tracker.ensure_labels(key, add=["bot:working"], remove=["bot:queued"])
    assert bot.world.labels(key) == {"ai", "working"}
    assert await bot.tracker.find_orphaned(["bot:working"]) == []
    bot.world.unlabel(key, "ai", by="ana")
    assert await bot.tracker.find_orphaned(["bot:working"]) == [key]

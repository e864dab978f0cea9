"""Cache: records of finished work are removed, current ones stay, and records of an older format are read again."""

from bot.domain.reaction import Reaction
from bot.ports import Poll
from bot.services.github.cache import Cache
from bot.services.github.offline import OfflineView
from tests.services.github.github_bot import BRANCH, REPO
from tests.services.github.test_issues import labelled

DAY = 86400


def kept(bot):
    return {(row["kind"], row["number"]) for row in bot.db.execute("SELECT kind, number FROM records")}


async def look(bot, *active):
    await bot.tracker.snapshot([f"{REPO}#{number}" for number in active])
    return await bot.forge.snapshot([BRANCH] if active else [])


async def test_comments_on_unwatched_issues_are_removed_from_the_cache(bot):
    number, other = labelled(bot.world), bot.world.open_issue(REPO, "Talk", by="ana").number
    await look(bot, number)
    bot.world.comment(REPO, number, "mine", by="ana")
    bot.world.comment(REPO, other, "not mine", by="ana")
    await look(bot, number)
    assert ("comment", other) in kept(bot)
    bot.world.advance(8 * DAY)
    await look(bot, number)
    assert ("comment", other) not in kept(bot)
    assert [comment.text for comment in await bot.said(number)] == ["mine"]


async def test_a_pull_request_that_ended_long_ago_is_removed_from_the_cache(bot):
    number = labelled(bot.world)
    pull = await bot.offer()
    bot.world.comment_on_pull(REPO, pull, "more", by="ana")
    _, (said,) = await bot.pull()
    await bot.forge.ensure_reaction(BRANCH, said.id, Reaction.SEEN)
    bot.world.merge(REPO, pull, "squash", by="ana")
    await look(bot, number)
    bot.world.advance(2 * DAY)
    await look(bot)
    assert ("pull", pull) in kept(bot)
    bot.world.advance(8 * DAY)
    await look(bot)
    assert {of for _, of in kept(bot)} <= {number}
    assert bot.db.execute("SELECT * FROM reactions").fetchall() == []


async def test_old_comments_on_an_open_pull_request_stay_in_the_cache(bot):
    number = labelled(bot.world)
    pull = await bot.offer()
    bot.world.comment_on_pull(REPO, pull, "more", by="ana")
    bot.world.review(REPO, pull, by="ana", body="Nearly.", remarks=[("new.py", 2, "why two?")])
    _, before = await bot.pull()
    bot.world.advance(8 * DAY)
    await look(bot, number)
    assert (await bot.pull())[1] == before
    bot.world.advance(8 * DAY)
    await look(bot)
    assert (await bot.pull())[1] == before


async def test_records_of_an_older_format_are_read_again(bot):
    number = labelled(bot.world)
    await look(bot, number)
    bot.db.execute("UPDATE records SET data = '{\"number\": 1}'")
    bot.db.execute("UPDATE cursors SET value = '0' WHERE name = 'shape'")
    assert OfflineView(Cache(bot.db, REPO)).titles() == {}
    view = await bot.tracker.snapshot([], poll=Poll(fresh=False))
    assert set(view.issues) == {f"{REPO}#{number}"}

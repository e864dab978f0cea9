"""Cache: records of finished work are removed, current ones stay, records in an old shape are read again."""

from bot.domain.reaction import Reaction
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


async def test_what_is_said_where_nobody_follows_is_not_kept_for_ever(bot):
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


async def test_a_pull_request_that_has_been_over_for_long_is_forgotten(bot):
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


async def test_an_open_pull_request_stays_known_and_what_was_said_there_is_heard_however_old(bot):
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


async def test_records_in_the_words_of_an_older_version_are_read_anew(bot):
    number = labelled(bot.world)
    await look(bot, number)
    bot.db.execute("UPDATE records SET data = '{\"number\": 1}'")
    bot.db.execute("UPDATE cursors SET value = '0' WHERE name = 'shape'")
    assert OfflineView(Cache(bot.db, REPO)).titles() == {}
    view = await bot.tracker.snapshot([], fresh=False)
    assert set(view.issues) == {f"{REPO}#{number}"}

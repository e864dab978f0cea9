"""What may be wrong with GitHub's answers or with our own memory is put off: it never gets as far as the loop."""

import sqlite3

import pytest

from bot.errors import Retryable
from tests.clients.grounds import BRANCH, REPO
from tests.clients.test_github_issues import labelled


async def test_a_memory_that_is_locked_or_full_is_tried_again_later(bot):
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


async def test_a_memory_that_cannot_be_read_is_tried_again_later_even_between_two_polls(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.db.execute("ALTER TABLE records RENAME TO elsewhere")
    for look in (bot.tracker.look([f"{REPO}#{number}"], fresh=False), bot.forge.look([BRANCH], fresh=True)):
        with pytest.raises(Retryable):
            await look


ODD = [None, 5, "odd", [], {}, [None], [5], {"message": "odd"}, [{"id": {}, "number": {}}], [{"updated_at": "odd"}]]


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_an_odd_answer_is_put_off_wherever_it_comes(bot, odd):
    import json

    number = labelled(bot.world)
    pull = await bot.offer()
    bot.world.comment(REPO, number, "more", by="ana")
    bot.world.review(REPO, pull, by="ana", body="Nearly.", remarks=[("new.py", 2, "why two?")])
    bot.world.check(REPO, BRANCH)
    for path in ("/repos/*", "/graphql", "/user"):
        pass

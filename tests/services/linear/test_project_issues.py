"""Issues of a project: each change is returned once, at the next poll."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from bot.domain.run import Run, RunTurns
from bot.engine.run_note import note_for as as_note
from bot.errors import Retryable
from bot.ports import Poll
from bot.services.linear.errors import NotFound
from bot.services.linear.team_routing import TeamRoute
from tests.fakes.linear.faults import ALWAYS
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import SHOP, LinearBot, bot, labelled

__all__ = ["bot", "linear"]

HALF_A_DAY = 12 * 3600
BLOG = TeamRoute("blog", "acme/blog")


async def settled(bot, *keys):
    """Waits until a poll finds nothing new."""
    await bot.tracker.snapshot(keys)
    bot.world.advance(300)
    await bot.tracker.snapshot(keys)
    bot.world.advance(30)
    bot.asked()


# Changes


async def test_adding_and_removing_a_label_is_seen_at_the_next_poll(bot):
    key = bot.world.open_issue("ENG", "Add a cart", by="ana").identifier
    await settled(bot)
    bot.world.label(key, "ai", by="ana")
    assert await bot.issue(key)
    bot.world.unlabel(key, "ai", by="ana")
    assert await bot.issue(key) is None


async def test_an_edit_is_seen_at_the_next_poll(bot):
    key = labelled(bot.world)
    await settled(bot, key)
    bot.world.edit(key, title="Add two carts", by="ana")
    bot.world.prioritise(key, 1, by="ana")
    issue = await bot.issue(key, key)
    assert (issue.title, issue.priority) == ("Add two carts", 1)


async def test_comments_replies_and_their_edits_are_seen_at_the_next_poll(bot):
    key = labelled(bot.world)
    await settled(bot, key)
    first = bot.world.comment(key, "use OAuth", by="ana")
    assert [one.text for one in await bot.said(key)] == ["use OAuth"]
    await settled(bot, key)
    bot.world.comment(key, "which?", by="bob", parent=first)
    assert [(one.text, one.thread) for one in await bot.said(key)] == [("use OAuth", ""), ("which?", first)]
    await settled(bot, key)
    bot.world.edit_comment(first, "use OAuth 2")
    assert [one.text for one in await bot.said(key)] == ["use OAuth 2", "which?"]


async def test_a_deleted_comment_is_gone_after_the_full_check(bot):
    key = labelled(bot.world)
    said = bot.world.comment(key, "use OAuth", by="ana")
    await settled(bot, key)
    bot.world.delete_comment(said)
    bot.world.advance(HALF_A_DAY)
    assert await bot.said(key) == ()


@pytest.mark.parametrize("deed", ["archive", "trash"])
async def test_an_archived_or_trashed_issue_is_closed_until_it_is_restored(bot, deed):
    key = labelled(bot.world)
    await settled(bot, key)
    getattr(bot.world, deed)(key, by="ana")
    assert not (await bot.issue(key, key)).open
    assert await bot.issue(key) is None
    bot.world.unarchive(key, by="ana")
    bot.world.find(key).trashed = None
    assert (await bot.issue(key)).open


async def test_an_issue_that_is_closed_or_a_duplicate_is_not_open(bot):
    done, same = labelled(bot.world), labelled(bot.world)
    await settled(bot, done, same)
    bot.world.move(done, "Done", by="ana")
    bot.world.mark_duplicate(same, done, by="ana")
    view = await bot.tracker.snapshot([done, same])
    assert [view.issues[key].open for key in (done, same)] == [False, False]
    assert (await bot.tracker.snapshot([])).issues == {}


async def test_a_deleted_issue_is_gone_after_the_full_check(bot):
    key = labelled(bot.world)
    await settled(bot, key)
    bot.world.delete(key)
    bot.world.advance(HALF_A_DAY)
    assert (await bot.tracker.snapshot([key])).issues == {}
    assert (await bot.tracker.snapshot([key])).issues == {}


async def test_an_issue_found_deleted_by_a_write_is_gone_at_the_next_poll(bot):
    key = labelled(bot.world)
    await settled(bot, key)
    bot.world.delete(key)
    with pytest.raises(NotFound):
        await bot.tracker.ensure_labels(key, add=["ai:working"])
    assert (await bot.tracker.snapshot([key])).issues == {}


async def test_an_issue_that_was_moved_to_another_team_shows_its_phase_by_labels_of_that_team(bot):
    bot.world.add_team("WEB", members=["ana", "treehand-bot"])
    for team in ("ENG", "WEB"):
        bot.world.add_label("ai", team=team)
    key = labelled(bot.world)
    await settled(bot, key)
    await bot.tracker.ensure_labels(key, add=["ai:working"])
    moved = bot.world.move_team(key, "WEB", by="ana")
    bot.world.label(moved, "ai", by="ana")
    assert await bot.issue(key, key)
    await bot.tracker.ensure_labels(key, add=["ai:review"], remove=["ai:working"])
    assert bot.world.labels(moved) == {"ai", "ai:review"}
    assert {one.team.key for one in bot.world.all_labels if one.name == "ai:review"} == {"WEB"}


async def test_a_completed_blocking_issue_is_seen_at_the_next_poll(bot):
    key, first = labelled(bot.world), bot.world.open_issue("ENG", "Design it", by="ana").identifier
    bot.world.relate(first, "blocks", key, by="ana")
    await settled(bot, key)
    assert (await bot.issue(key, key)).blocked_by == (first,)
    bot.world.move(first, "Done", by="ana")
    assert (await bot.issue(key, key)).blocked_by == ()
    assert list((await bot.tracker.snapshot([key])).issues) == [key]


async def test_issues_of_other_and_private_teams_are_not_returned(bot):
    bot.world.add_team("WEB", members=["ana"])
    bot.world.add_team("SEC", private=True, members=["ana"])
    for team in ("WEB", "SEC"):
        bot.world.open_issue(team, "Not ours", by="ana", labels=["ai"])
    assert (await bot.tracker.snapshot(["SEC-1"])).issues == {}


async def test_the_key_of_a_guest_sees_the_guests_teams(linear, tmp_path):
    linear.world.team("ENG").members.append(linear.world.user("gus"))
    key = labelled(linear.world)
    bot = LinearBot(linear, tmp_path, who="gus")
    assert await bot.issue(key)
    await bot.close()


# Moved to another team


async def moved(bot):
    bot.world.add_team("WEB", members=["ana", "treehand-bot"])
    key = labelled(bot.world)
    await settled(bot, key)
    return key, bot.world.move_team(key, "WEB", by="ana").identifier


async def test_an_issue_keeps_its_key_for_the_run_when_it_moves_to_another_team(bot):
    key, _ = await moved(bot)
    assert list((await bot.tracker.snapshot([key])).issues) == [key]
    assert list((await bot.life("anew").tracker.snapshot([key])).issues) == [key]


async def test_a_moved_issue_starts_nothing_in_the_other_team_before_its_run_is_over(bot):
    key, new = await moved(bot)
    other = bot.life(team="WEB", routes=(BLOG,))
    for _ in range(3):
        assert list((await bot.tracker.snapshot([key])).issues) == [key]
        assert (await other.tracker.snapshot([])).issues == {}
        bot.world.advance(30)
    assert (await bot.tracker.snapshot([])).issues == {}
    bot.world.prioritise(new, 1, by="ana")
    for _ in range(2):
        assert (await bot.tracker.snapshot([])).issues == {}
        bot.world.advance(30)
        seen = await other.tracker.snapshot([])
    assert list(seen.issues) == [new]


async def test_a_write_under_the_new_key_does_not_rename_the_issue_of_a_run(bot):
    key, new = await moved(bot)
    await bot.tracker.snapshot([key])
    await bot.tracker.comment_as(new, "Ana", "go on")
    assert list((await bot.tracker.snapshot([key], poll=Poll(fresh=False))).issues) == [key]


# A team with a new key


@pytest.fixture
async def renamed(bot):
    """The key of an issue of a run, whose team was renamed since."""
    key = labelled(bot.world)
    await bot.issue(key, key)
    bot.world.team("ENG").key = "CORE"
    return key


async def test_a_team_that_was_renamed_is_found_by_its_id(bot, renamed, caplog):
    bot.world.advance(7 * 3600)
    assert (await bot.issue(renamed, renamed)).open
    later = bot.life()
    assert (await later.issue(renamed, renamed)).open
    await later.tracker.ensure_comment(renamed, slug="1/progress", text="Working.")
    assert len(bot.world.comments("CORE-1")) == 1
    assert "change `team` in the settings" in caplog.text


async def test_with_the_new_key_of_a_team_in_the_settings_a_run_keeps_its_issue(bot, renamed):
    later = bot.life(team="CORE")
    assert (await later.issue(renamed, renamed)).open
    bot.world.edit("CORE-1", title="Two carts", by="ana")
    bot.world.advance(130)
    assert (await later.issue(renamed, renamed)).title == "Two carts"
    assert list((await later.tracker.snapshot([])).issues) == ["CORE-1"]


async def test_a_run_keeps_its_issue_when_its_team_was_renamed_and_the_cache_is_lost(bot, renamed):
    note = as_note(Run(renamed, "shop", turns=RunTurns(number=1)))
    await bot.tracker.ensure_comment(renamed, slug="1/progress", text="Working.", note=note)
    other = bot.world.open_issue("CORE", "Add prices", "Please.", by="ana", labels=["ai"]).identifier
    later = bot.life("lost", team="CORE")
    view = await later.tracker.snapshot([renamed])
    assert (view.issues[renamed].open, sorted(view.issues)) == (True, sorted([renamed, other]))
    await later.tracker.ensure_comment(renamed, slug="1/progress", text="In review.", note=note)
    assert [comment.body.startswith("In review.") for comment in bot.world.comments("CORE-1", by="treehand-bot")] == [
        True
    ]


async def test_an_issue_with_the_same_number_is_not_taken_for_one_of_a_renamed_team(bot, renamed):
    note = as_note(Run("ENG-7", "shop", turns=RunTurns(number=1)))
    await bot.tracker.ensure_comment(renamed, slug="1/progress", text="Working.", note=note)
    later = bot.life("lost", team="CORE")
    assert list((await later.tracker.snapshot(["OLD-1"])).issues) == ["CORE-1"]


# Projects of a team


async def test_two_projects_of_a_team_share_one_poll(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, routes=(SHOP, BLOG))
    shop, blog = labelled(linear.world, "repo:shop"), labelled(linear.world, "repo:blog")
    await settled(bot, shop)
    views = await asyncio.gather(*(tracker.snapshot([]) for tracker in bot.trackers.values()))
    assert bot.asked() == ["IsChanged"]
    assert [list(view.issues) for view in views] == [[shop], [blog]]
    await bot.close()


async def test_an_issue_that_matches_no_project_is_reported_with_the_choices(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, routes=(SHOP, BLOG))
    key = labelled(linear.world)
    views = [await tracker.snapshot([]) for tracker in bot.trackers.values()]
    assert [dict(view.unplaced) for view in views] == [{key: ("repo:shop", "repo:blog")}, {}]
    linear.world.label(key, "repo:blog", by="bob")
    assert [list((await tracker.snapshot([])).issues) for tracker in bot.trackers.values()] == [[], [key]]
    await bot.close()


async def test_a_failed_shared_poll_fails_all_projects_that_share_it(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, routes=(SHOP, BLOG))
    linear.faults.status(500, "IssueIds")
    looks = [tracker.snapshot([]) for tracker in bot.trackers.values()]
    failures = await asyncio.gather(*looks, return_exceptions=True)
    assert [type(failure) for failure in failures] == [Retryable, Retryable]
    await bot.close()


# Pages


async def test_no_issue_is_missed_or_repeated_across_pages_during_changes(bot):
    world = bot.world
    keys = [labelled(world) for _ in range(250)]
    came = []

    def meddle():
        came.append(labelled(world))
        world.move(keys.pop(), "Done", by="ana")

    bot.linear.faults.interfere(meddle, "IssueIds", times=4)
    await bot.tracker.snapshot([])
    view = await bot.tracker.snapshot([])
    assert sorted(view.issues) == sorted(keys + came)


async def test_no_comment_is_missed_across_pages_during_changes(bot):
    key = labelled(bot.world)
    said = [bot.world.comment(key, f"{number}", by="ana") for number in range(120)]
    bot.linear.faults.interfere(lambda: said.append(bot.world.comment(key, "more", by="bob")), "Comments", times=3)
    await bot.said(key)
    assert [one.id for one in await bot.said(key)] == said


# Delayed lists, different clocks, failed polls


@pytest.mark.parametrize("lag", [0.3, 3, 10])
async def test_delayed_lists_lose_no_change(bot, lag):
    world = bot.world
    await settled(bot)
    world.lag = lag
    keys, said = [], []
    for _ in range(12):
        keys.append(labelled(world))
        said.append(world.comment(keys[0], "more", by="ana"))
        world.edit(keys[0], title=f"Cart {len(keys)}", by="ana")
        await bot.tracker.snapshot(keys[:1])
        world.advance(1.7)
    world.advance(30)
    view = await bot.tracker.snapshot(keys[:1])
    assert set(view.issues) == set(keys)
    assert view.issues[keys[0]].title == "Cart 12"
    assert [one.id for one in view.comments[keys[0]]] == said


async def test_a_change_that_appears_after_a_later_one_is_seen(bot):
    late = labelled(bot.world)
    await settled(bot, late)
    held = bot.world.find(late)
    before = held.frozen()
    bot.world.edit(late, title="Late", by="ana")
    held.settled, held.changed_at, bot.world.lag = before, bot.world.now + 60, 0.001
    soon = labelled(bot.world)
    bot.world.advance(30)
    view = await bot.tracker.snapshot([late])
    assert (view.issues[late].title, soon in view.issues) == ("Add a cart", True)
    bot.world.advance(40)
    assert (await bot.issue(late, late)).title == "Late"


@pytest.mark.parametrize("skew", [-86400, -600, 600, 86400])
async def test_different_and_jumping_clocks_lose_no_change(bot, skew):
    key = labelled(bot.world)
    await settled(bot, key)
    bot.skew = skew
    for title in ("One", "Two", "Three"):
        bot.world.advance(200)
        bot.world.edit(key, title=title, by="ana")
        bot.world.comment(key, title, by="ana")
        assert (await bot.issue(key, key)).title == title
        bot.skew = -bot.skew
    assert [one.text for one in await bot.said(key)] == ["One", "Two", "Three"]


@pytest.mark.parametrize("minutes", [1, 20, 600])
async def test_changes_during_an_outage_are_seen_afterwards(bot, minutes):
    followed = labelled(bot.world)
    await settled(bot, followed)
    bot.world.advance(40)
    key = labelled(bot.world)
    bot.world.comment(followed, "use OAuth", by="ana")
    broken = bot.linear.faults.status(502, times=ALWAYS)
    for _ in range(3):
        bot.world.advance(minutes * 20)
        with pytest.raises(Retryable):
            await bot.tracker.snapshot([followed])
    broken.times = 0
    view = await bot.tracker.snapshot([followed])
    assert key in view.issues
    assert [one.text for one in view.comments[followed]] == ["use OAuth"]


async def test_changes_during_a_pause_of_polling_are_seen_afterwards(bot):
    labelled(bot.world)
    await settled(bot)
    bot.world.advance(10)
    key = labelled(bot.world)
    bot.world.advance(3 * 3600)
    assert await bot.issue(key)


FAILURES = {
    "500": {"status": 500},
    "cut": {"cut": True},
    "half": {"half": True},
    "no more": {"status": 400, "body": b'{"errors":[{"message":"x","extensions":{"code":"RATELIMITED"}}]}'},
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("place", ["IsChanged", "IssueIds", "Issues", "Comments"])
async def test_a_failed_poll_loses_no_change(bot, place, failure):
    followed, old = labelled(bot.world), bot.world.open_issue("ENG", "Add a cart", by="ana").identifier
    bot.world.comment(old, "said long before", by="ana")
    await settled(bot, followed)
    bot.world.advance(1000)
    bot.world.label(old, "ai", by="ana")
    bot.world.comment(followed, "use OAuth", by="ana")
    bot.world.edit(followed, title="Two carts", by="ana")
    bot.linear.faults.add(place, **FAILURES[failure])
    with pytest.raises(Retryable):
        await bot.tracker.snapshot([followed])
    bot.world.advance(600)
    view = await bot.tracker.snapshot([followed])
    assert view.issues[followed].title == "Two carts"
    assert [one.text for one in view.comments[followed]] == ["use OAuth"]
    assert [one.text for one in view.comments[old]] == ["said long before"]


async def test_a_failed_first_poll_is_repeated_completely(bot):
    keys = [labelled(bot.world) for _ in range(40)]
    bot.world.comment(keys[0], "use OAuth", by="ana")
    for place in ("Team", "IssueIds", "Issues", "Comments"):
        bot.linear.faults.status(500, place)
        with pytest.raises(Retryable):
            await bot.tracker.snapshot([])
    view = await bot.tracker.snapshot([])
    assert set(view.issues) == set(keys)
    assert [one.text for one in view.comments[keys[0]]] == ["use OAuth"]


# The cache


async def test_between_two_polls_no_request_is_sent(bot):
    key = labelled(bot.world)
    await bot.tracker.snapshot([])
    bot.asked()
    assert list((await bot.tracker.snapshot([key], poll=Poll(fresh=False))).issues) == [key]
    assert bot.asked() == []


async def test_a_process_without_cached_data_polls_at_once(bot):
    key = labelled(bot.world)
    assert list((await bot.tracker.snapshot([], poll=Poll(fresh=False))).issues) == [key]


async def test_changes_during_a_restart_are_seen(bot):
    key = labelled(bot.world)
    await settled(bot, key)
    bot.world.edit(key, title="Two carts", by="ana")
    assert (await bot.life().issue(key, key)).title == "Two carts"


async def test_a_cache_of_another_version_is_read_again(bot):
    key = labelled(bot.world)
    await bot.tracker.snapshot([])
    with closing(sqlite3.connect(bot.folder / "linear.db", isolation_level=None)) as db:
        db.execute("UPDATE cursors SET value = '0' WHERE name = 'shape'")
        db.execute("UPDATE issues SET data = '{}'")
    assert list((await bot.life().tracker.snapshot([])).issues) == [key]


async def test_an_unknown_key_costs_no_request_and_is_not_returned(bot):
    await settled(bot)
    assert (await bot.tracker.snapshot(["acme/shop#1", "shop#2", "ENG-x"])).issues == {}
    assert bot.asked() == ["IsChanged"]


async def test_a_list_as_of_before_our_label_does_not_undo_it_in_the_cache(bot):
    """Somebody else's change is newer than what we knew, and older than ours."""
    key = labelled(bot.world, "ai:working")
    bot.world.lag = 20
    bot.world.advance(60)
    await settled(bot, key)
    bot.world.edit(key, title="Add a big cart", by="ana")
    bot.world.advance(30)
    await bot.tracker.ensure_labels(key, add=["ai:review"], remove=["ai:working"])
    assert (await bot.issue(key, key)).labels == {"ai", "ai:review"}
    bot.world.advance(60)
    shown = await bot.issue(key, key)
    assert (shown.labels, shown.title) == ({"ai", "ai:review"}, "Add a big cart")

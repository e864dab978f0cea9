"""Workflow states: issues are moved for our stages, and never against a person."""

from contextlib import nullcontext, suppress

import pytest

from bot.domain.issue import IssueStage
from bot.errors import Retryable
from bot.services.linear.errors import Refused
from bot.services.linear.workflow_states import WantedMoves
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import LinearBot, bot, labelled

__all__ = ["bot", "linear"]

ALL = {IssueStage.STARTED, IssueStage.REVIEW, IssueStage.COMPLETED}


async def issue_state(bot, key):
    return (await bot.issue(key, key)).state


async def moved(bot, key, *stages):
    """Moves like the engine: only if the state allows it."""
    for stage in stages:
        seen = await issue_state(bot, key)
        if stage in seen.movable and seen.stage is not stage:
            await bot.tracker.ensure_stage(key, stage)
    return bot.world.state(key)


async def test_states_are_found_by_type_and_the_review_state_by_name(bot):
    key = labelled(bot.world)
    seen = await issue_state(bot, key)
    assert (seen.stage, seen.movable) == (IssueStage.ORIGINAL, ALL)
    states = [await moved(bot, key, stage) for stage in (IssueStage.STARTED, IssueStage.REVIEW, IssueStage.COMPLETED)]
    assert states == ["In Progress", "In Review", "Done"]


async def test_a_review_state_is_not_used_as_the_started_state_even_if_it_comes_first(linear, tmp_path):
    states = {"Todo": "unstarted", "Code review": "started", "Doing": "started", "Done": "completed"}
    linear.world.add_team("WEB", states=states, members=["ana", "treehand-bot"])
    for review in (True, False):
        key = linear.world.open_issue("WEB", "Add a cart", by="ana", labels=["ai"]).identifier
        bot = LinearBot(linear, tmp_path / str(review), team="WEB", moves=WantedMoves(review=review))
        assert await moved(bot, key, IssueStage.STARTED, IssueStage.REVIEW) == ("Code review" if review else "Doing")
        await bot.close()


async def test_states_are_chosen_by_the_names_in_the_settings(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, moves=WantedMoves("todo", "In Progress", "CANCELED"))
    key = labelled(linear.world)
    states = [await moved(bot, key, stage) for stage in (IssueStage.STARTED, IssueStage.REVIEW, IssueStage.COMPLETED)]
    assert states == ["Todo", "In Progress", "Canceled"]
    await bot.close()


async def test_a_disabled_or_unknown_state_causes_no_move(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, moves=WantedMoves(started=False, review="Nowhere", completed=False, back=False))
    key = labelled(linear.world)
    await moved(bot, key, *IssueStage)
    assert ((await issue_state(bot, key)).movable, linear.world.state(key)) == (frozenset(), "Backlog")
    await bot.close()


async def test_a_team_without_such_states_gets_no_moves(linear, tmp_path):
    linear.world.add_team("WEB", states={"Open": "unstarted", "Shut": "canceled"}, members=["treehand-bot"])
    key = linear.world.open_issue("WEB", "Add a cart", by="ana", labels=["ai"]).identifier
    bot = LinearBot(linear, tmp_path, team="WEB")
    assert await moved(bot, key, *IssueStage) == "Open"
    await bot.close()


# Completed, and back


async def test_completing_is_left_to_linear_if_a_merge_does_it(linear, tmp_path):
    linear.world.automate("ENG", "merge", "Done")
    bot = LinearBot(linear, tmp_path)
    key = labelled(linear.world)
    assert IssueStage.COMPLETED not in (await issue_state(bot, key)).movable
    linear.world.move(key, "Done", by=None, integration="github")
    assert (await issue_state(bot, key)).stage is IssueStage.COMPLETED
    await bot.close()


@pytest.mark.parametrize("what", ["nothing happens on a merge", "another event", "no integration"])
async def test_we_complete_an_issue_if_no_automation_does(linear, tmp_path, what):
    linear.world.automate(
        "ENG", "review" if what == "another event" else "merge", None if "nothing" in what else "Done"
    )
    if what == "no integration":
        linear.world.integrations.clear()
    bot = LinearBot(linear, tmp_path)
    key = labelled(linear.world)
    assert await moved(bot, key, IssueStage.COMPLETED) == "Done"
    await bot.close()


async def test_a_visible_automation_counts_if_integrations_cannot_be_read(linear, tmp_path):
    linear.world.automate("ENG", "merge", "Done")
    linear.faults.forbid("Integrations")
    bot = LinearBot(linear, tmp_path)
    assert IssueStage.COMPLETED not in (await issue_state(bot, labelled(linear.world))).movable
    await bot.close()


@pytest.mark.parametrize("state", ["Todo", "Triage", "In Progress"])
async def test_an_issue_returns_to_its_state_before_our_first_move(bot, state):
    key = labelled(bot.world, state=state)
    assert IssueStage.ORIGINAL not in (await issue_state(bot, key)).movable
    await moved(bot, key, IssueStage.REVIEW)
    await bot.tracker.ensure_stage(key, IssueStage.ORIGINAL)
    assert bot.world.state(key) == state


async def test_an_issue_returns_to_its_original_state_without_a_cache(bot):
    key = labelled(bot.world, state="Todo")
    await moved(bot, key, IssueStage.STARTED, IssueStage.REVIEW)
    other = bot.life("anew")
    assert await moved(other, key, IssueStage.ORIGINAL) == "Todo"


# Moves by people


@pytest.mark.parametrize("state", ["Todo", "In Progress", "In Review"])
async def test_an_issue_moved_by_a_person_first_is_not_moved(bot, state):
    key = labelled(bot.world)
    bot.world.move(key, state, by="gus")
    assert (await issue_state(bot, key)).movable == frozenset()
    assert await moved(bot, key, *IssueStage) == state


@pytest.mark.parametrize("state", ["Todo", "In Review", "Canceled"])
async def test_an_issue_moved_by_a_person_after_us_is_not_moved_again(bot, state):
    key = labelled(bot.world)
    await moved(bot, key, IssueStage.STARTED)
    bot.world.move(key, state, by="ana")
    assert await moved(bot, key, *IssueStage) == state
    assert (await issue_state(bot.life("anew"), key)).movable == frozenset()


async def test_an_issue_moved_away_and_back_by_a_person_is_not_moved(bot):
    key = labelled(bot.world)
    await moved(bot, key, IssueStage.STARTED)
    bot.world.move(key, "Todo", by="ana")
    bot.world.move(key, "In Progress", by="ana")
    assert await moved(bot, key, IssueStage.REVIEW) == "In Progress"


async def test_a_move_by_a_person_before_the_request_does_not_prevent_ours(bot):
    key = bot.world.open_issue("ENG", "Add a cart", by="ana").identifier
    bot.world.move(key, "Todo", by="ana")
    bot.world.label(key, "ai", by="ana")
    assert await moved(bot, key, IssueStage.STARTED) == "In Progress"


async def test_a_move_grouped_with_the_request_does_not_prevent_ours(bot):
    bot.world.groups_history = 300
    key = bot.world.open_issue("ENG", "Add a cart", by="gus").identifier
    bot.world.label(key, "ai", by="ana")
    bot.world.move(key, "Todo", by="ana")
    assert (await issue_state(bot, key)).movable == ALL
    bot.world.prioritise(key, 1, by="ana")
    assert (await issue_state(bot, key)).movable == ALL
    bot.world.move(key, "In Review", by="ana")
    assert (await issue_state(bot, key)).movable == frozenset()


async def test_a_move_by_a_person_between_our_read_and_write_wins(bot):
    key = labelled(bot.world)
    await issue_state(bot, key)
    bot.linear.faults.interfere(lambda: bot.world.move(key, "Todo", by="ana"), "IssueState")
    await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    assert bot.world.state(key) == "Todo"
    assert await moved(bot, key, *IssueStage) == "Todo"


async def test_a_move_by_a_person_during_our_write_prevents_further_moves(bot):
    key = labelled(bot.world)
    await issue_state(bot, key)
    bot.linear.faults.interfere(lambda: bot.world.move(key, "Todo", by="ana"), "UpdateIssue")
    await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    assert (await issue_state(bot, key)).movable == frozenset()


async def test_an_issue_moved_by_an_integration_may_be_moved(bot):
    key = labelled(bot.world)
    bot.world.move(key, "Todo", by=None, integration="github")
    assert await moved(bot, key, IssueStage.STARTED) == "In Progress"
    bot.world.move(key, "Todo", by=None, integration="github")
    assert await moved(bot, key, IssueStage.REVIEW) == "In Review"


async def test_an_unexplained_move_counts_as_a_persons(bot):
    key = labelled(bot.world)
    await moved(bot, key, IssueStage.STARTED)
    bot.world.move(key, "Todo", by=None)
    bot.world.changes.pop()
    assert await moved(bot, key, IssueStage.REVIEW) == "Todo"


@pytest.mark.parametrize("first", [True, False])
async def test_a_move_by_the_person_whose_key_we_use_counts_as_a_persons(linear, tmp_path, first):
    bot = LinearBot(linear, tmp_path, who="ana")
    key = labelled(linear.world)
    if not first:
        await moved(bot, key, IssueStage.STARTED)
    linear.world.move(key, "Todo", by="ana")
    assert await moved(bot, key, *IssueStage) == "Todo"
    await bot.close()


# Faults


@pytest.mark.parametrize("how", [{"status": 500}, {"cut": True}, {"done": True, "cut": True}, {"half": True}])
async def test_a_failed_or_uncertain_move_is_repeated(bot, how):
    key = labelled(bot.world)
    await issue_state(bot, key)
    bot.linear.faults.add("UpdateIssue", **how)
    with suppress(Retryable):
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    bot.world.advance(30)
    assert await moved(bot, key, IssueStage.STARTED) == "In Progress"
    assert await moved(bot, key, IssueStage.REVIEW) == "In Review"
    assert await moved(bot, key, IssueStage.ORIGINAL) == "Backlog"


async def test_a_failed_move_is_not_repeated_after_a_person_moved_the_issue(bot):
    key = labelled(bot.world)
    await issue_state(bot, key)
    bot.linear.faults.status(500, "UpdateIssue")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    bot.world.move(key, "Todo", by="ana")
    assert await moved(bot, key, *IssueStage) == "Todo"


async def test_moves_continue_without_a_cache(bot):
    key = labelled(bot.world)
    await moved(bot, key, IssueStage.STARTED)
    assert await moved(bot.life("anew"), key, IssueStage.REVIEW) == "In Review"


async def test_a_second_request_starts_from_the_current_state(bot):
    key = labelled(bot.world)
    await moved(bot, key, IssueStage.STARTED)
    bot.world.move(key, "Todo", by="ana")
    bot.world.unlabel(key, "ai", by="ana")
    await bot.issue(key)
    bot.world.label(key, "ai", by="ana")
    await bot.issue(key)
    assert await moved(bot, key, IssueStage.STARTED, IssueStage.ORIGINAL) == "Todo"


async def test_a_refused_move_is_told(bot):
    key = labelled(bot.world)
    await issue_state(bot, key)
    bot.linear.faults.user_error("The workflow forbids it.", "UpdateIssue")
    with pytest.raises(Refused, match="forbids"):
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)


async def test_a_deleted_state_is_looked_up_again(bot):
    key = labelled(bot.world)
    await issue_state(bot, key)
    world = bot.world
    gone = world.state_named(world.team("ENG"), "In Progress")
    gone.id, old = "00000000-0000-4000-8000-000000000000", gone.id
    with pytest.raises(Refused):
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    assert world.state(key) == "Backlog"
    assert await moved(bot, key, IssueStage.STARTED) == "In Progress"
    assert old != gone.id


@pytest.mark.parametrize("what", ["archived", "trashed", "in another team", "gone"])
async def test_an_archived_moved_or_deleted_issue_is_not_moved(bot, what):
    bot.world.add_team("WEB", members=["ana", "treehand-bot"])
    key = labelled(bot.world)
    await issue_state(bot, key)
    match what:
        case "archived":
            bot.world.archive(key, by="ana")
        case "trashed":
            bot.world.trash(key, by="ana")
        case "in another team":
            bot.world.move_team(key, "WEB", by="ana")
        case "gone":
            bot.world.delete(key)
    bot.asked()
    with pytest.raises(Refused) if what == "gone" else nullcontext():
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)
    if what != "gone":
        assert (await issue_state(bot, key)).movable == frozenset()
        bot.asked()
        await bot.tracker.ensure_stage(key, IssueStage.STARTED)
        assert "UpdateIssue" not in bot.asked()
        assert bot.world.state(key) == "Backlog"


async def test_the_pull_request_is_linked_once_and_returned(bot):
    key, url = labelled(bot.world), "https://github.com/acme/shop/pull/7"
    assert (await bot.issue(key, key)).links == frozenset()
    for one in (bot, bot.life("anew")):
        await one.issue(key, key)
        await one.tracker.ensure_link(key, url=url, title="Add a cart")
        assert url in (await one.issue(key, key)).links
    assert [one.url for one in bot.world.attachments(key)] == [url]

"""Authorization: the requester of an issue, and the title and body that may be used."""

import pytest

from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import LinearBot, bot, labelled

__all__ = ["bot", "linear"]


def opened(world, by="ana", **more):
    return world.open_issue("ENG", "Add a cart", "Please.", by=by, **more).identifier


async def asker(bot, key, *active):
    by = (await bot.issue(key, *active)).requester
    return by.name, by.trusted


# The requester


async def test_a_label_by_a_member_is_trusted_for_an_issue_of_any_author(bot):
    key = opened(bot.world, by="gus")
    bot.world.label(key, "ai", by="bob")
    assert await asker(bot, key) == ("bob", True)


@pytest.mark.parametrize("who", ["gus", "zap", "eve"])
async def test_a_label_by_a_guest_an_application_or_a_former_member_is_untrusted(bot, who):
    bot.world.add_user("zap", "zap@acme.example", app=True)
    bot.world.add_user("eve", "eve@acme.example", active=False)
    key = opened(bot.world)
    bot.world.label(key, "ai", by=who)
    assert await asker(bot, key) == (who, False)


async def test_a_label_by_an_integration_is_untrusted(bot):
    key = opened(bot.world)
    bot.world.label(key, "ai", by=None, integration="slack")
    assert await asker(bot, key) == ("somebody", False)


@pytest.mark.parametrize("named", ["gus@elsewhere.example", "GUS@elsewhere.example", "id"])
async def test_people_in_the_settings_are_trusted_by_address_or_id(linear, tmp_path, named):
    named = linear.world.user("gus").id if named == "id" else named
    bot = LinearBot(linear, tmp_path, trusted=(named,))
    key = opened(linear.world)
    linear.world.label(key, "ai", by="gus")
    assert await asker(bot, key) == ("gus", True)
    await bot.close()


async def test_an_application_is_trusted_by_its_id_only(linear, tmp_path):
    zap = linear.world.add_user("zap", "zap@acme.example", app=True)
    key = opened(linear.world)
    linear.world.label(key, "ai", by="zap")
    for folder, named, trusted in (("one", "zap@acme.example", False), ("two", zap.id, True)):
        bot = LinearBot(linear, tmp_path / folder, trusted=(named,))
        assert await asker(bot, key) == ("zap", trusted)
        await bot.close()


async def test_people_added_to_the_settings_are_trusted_for_earlier_labels_too(bot):
    key = opened(bot.world)
    bot.world.label(key, "ai", by="gus")
    assert await asker(bot, key) == ("gus", False)
    assert await asker(bot.life(trusted=("gus@elsewhere.example",)), key) == ("gus", True)


@pytest.mark.parametrize(("by", "trusted"), [("ana", True), ("gus", False)])
async def test_a_label_set_at_creation_was_applied_by_the_author(bot, by, trusted):
    assert await asker(bot, labelled(bot.world, by=by)) == (by, trusted)


async def test_a_label_set_by_an_integration_at_creation_is_untrusted(bot):
    assert await asker(bot, labelled(bot.world, by=None, integration="slack")) == ("somebody", False)


async def test_applying_the_label_again_is_another_request(bot):
    key = labelled(bot.world)
    first = await bot.issue(key)
    bot.world.unlabel(key, "ai", by="bob")
    bot.world.label(key, "ai", by="bob")
    second = await bot.issue(key)
    assert second.requester.name == "bob"
    assert second.request != first.request


async def test_another_request_does_not_change_the_one_of_an_active_run(bot):
    key = labelled(bot.world)
    first = await bot.issue(key, key)
    bot.world.unlabel(key, "ai", by="gus")
    bot.world.label(key, "ai", by="gus")
    during = await bot.issue(key, key)
    assert (during.request, during.requester) == (first.request, first.requester)
    assert await asker(bot, key) == ("gus", False)


async def test_a_request_stays_the_same_despite_other_changes_to_the_issue(bot):
    bot.world.groups_history = 60
    key = opened(bot.world)
    bot.world.label(key, "ai", by="ana")
    first = await bot.issue(key, key)
    bot.world.prioritise(key, 1, by="ana")
    bot.world.comment(key, "soon", by="ana")
    assert (await bot.issue(key, key)).request == first.request


async def test_a_label_in_a_group_is_a_request_too(bot):
    bot.world.add_label("ai", team="ENG", group="bots")
    key = opened(bot.world)
    bot.world.label(key, "ai", by="ana")
    issue = await bot.issue(key)
    assert issue.requester.trusted
    assert {"ai", "bots:ai"} <= issue.labels


async def test_of_two_labels_of_the_same_name_the_last_applied_counts(bot):
    key = labelled(bot.world)
    bot.world.add_label("AI", team="ENG")
    bot.world.label(key, "AI", by="gus")
    assert await asker(bot, key) == ("gus", False)


async def test_the_last_person_who_applied_the_label_is_the_requester(bot):
    key = opened(bot.world)
    for who in ("ana", "gus"):
        bot.world.label(key, "ai", by=who)
        assert await asker(bot, key) == (who, who == "ana")
        bot.world.unlabel(key, "ai", by="bob")


async def test_the_requester_is_found_behind_many_other_changes(bot):
    key = opened(bot.world)
    bot.world.label(key, "ai", by="gus")
    for number in range(120):
        bot.world.prioritise(key, number % 4 + 1, by="gus")
    assert await asker(bot, key) == ("gus", False)


async def test_a_requester_that_cannot_be_found_is_untrusted(bot, monkeypatch):
    monkeypatch.setattr("bot.services.linear.team_sync._MAX_HISTORY_PAGES", 2)
    key = opened(bot.world)
    bot.world.label(key, "ai", by="gus")
    for number in range(120):
        bot.world.prioritise(key, number % 4 + 1, by="gus")
    assert await asker(bot, key) == ("somebody", False)


async def test_a_grouped_history_entry_does_not_hide_the_requester(bot):
    bot.world.groups_history = 300
    key = opened(bot.world, by="gus")
    bot.world.edit(key, description="Please, please.", by="ana")
    bot.world.label(key, "ai", by="ana")
    bot.world.move(key, "Todo", by="ana")
    issue = await bot.issue(key)
    assert (issue.requester.name, issue.requester.trusted, issue.edit) == ("ana", True, None)


# The text


async def test_an_edit_by_a_member_is_used(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, title="Two carts", description="Two.", by="bob")
    issue = await bot.issue(key, key)
    assert (issue.title, issue.body, issue.edit) == ("Two carts", "Two.", None)


@pytest.mark.parametrize("by", ["gus", None])
async def test_an_untrusted_edit_after_the_request_is_not_used(bot, by):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, title="Delete it all", description="All.", by=by)
    issue = await bot.issue(key, key)
    assert (issue.title, issue.body) == ("Add a cart", "Please.")
    assert (issue.edit.title, issue.edit.body, issue.edit.original_known) == ("Delete it all", "All.", True)
    assert not issue.edit.by.trusted
    assert (await bot.issue(key, key)).edit == issue.edit


async def test_after_an_early_untrusted_edit_the_original_description_is_unknown(bot):
    key = labelled(bot.world)
    bot.world.edit(key, title="Delete it all", description="All.", by="gus")
    issue = await bot.issue(key)
    assert (issue.title, issue.body, issue.edit.original_known) == ("Add a cart", "", False)
    bot.world.edit(key, description="Please, again.", by="ana")
    assert (await bot.issue(key, key)).body == "Please, again."


async def test_a_members_edit_after_an_untrusted_edit_approves_the_text(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All.", by="gus")
    assert (await bot.issue(key, key)).edit
    bot.world.edit(key, description="All, but not the carts.", by="ana")
    issue = await bot.issue(key, key)
    assert (issue.body, issue.edit) == ("All, but not the carts.", None)


async def test_an_untrusted_edit_after_a_members_edit_is_not_used(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All, but not the carts.", by="ana")
    bot.world.edit(key, description="All.", by="gus")
    issue = await bot.issue(key, key)
    assert (issue.body, issue.edit.body) == ("Please.", "All.")


async def test_a_members_new_title_does_not_approve_an_untrusted_description(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All.", by="gus")
    bot.world.edit(key, title="Carts", by="ana")
    issue = await bot.issue(key, key)
    assert (issue.body, issue.edit.body) == ("Please.", "All.")


async def test_a_reverted_untrusted_edit_is_no_edit(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All.", by="gus")
    assert (await bot.issue(key, key)).edit
    bot.world.edit(key, description="Please.", by="gus")
    assert (await bot.issue(key, key)).edit is None


async def test_edits_before_the_request_are_part_of_it(bot):
    key = opened(bot.world)
    bot.world.edit(key, title="Two carts", description="Two.", by="gus")
    bot.world.label(key, "ai", by="ana")
    issue = await bot.issue(key)
    assert (issue.title, issue.body, issue.edit) == ("Two carts", "Two.", None)


async def test_a_new_request_approves_the_present_text(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All.", by="gus")
    bot.world.unlabel(key, "ai", by="ana")
    bot.world.label(key, "ai", by="ana")
    issue = await bot.issue(key)
    assert (issue.body, issue.edit) == ("All.", None)


async def test_the_text_of_a_request_stays_pinned_after_a_restart(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.edit(key, description="All.", by="gus")
    assert (await bot.life().issue(key, key)).body == "Please."


async def test_a_delayed_history_of_a_members_edit_leaves_no_edit(bot):
    key = labelled(bot.world)
    await bot.issue(key, key)
    bot.world.edit(key, description="Two.", by="ana")
    told, bot.world.changes = bot.world.changes, []
    assert (await bot.issue(key, key)).edit
    bot.world.changes = told
    bot.world.advance(30)
    issue = await bot.issue(key, key)
    assert (issue.body, issue.edit) == ("Two.", None)
    bot.world.advance(300)
    await bot.issue(key, key)
    bot.asked()
    await bot.issue(key, key)
    assert bot.asked() == ["IsChanged"]


async def test_an_unexplained_change_is_not_used_and_not_requested_endlessly(bot):
    key = labelled(bot.world)
    await bot.issue(key, key)
    bot.world.edit(key, description="All.", by="gus")
    bot.world.changes = []
    for _ in range(25):
        assert (await bot.issue(key, key)).body == "Please."
        bot.world.advance(30)
    bot.asked()
    assert (await bot.issue(key, key)).edit.by.name == "somebody"
    assert bot.asked() == ["IsChanged"]


@pytest.mark.attack("T2", "A guest rewrites a member's issue in Linear before there is any history of it")
async def test_an_edited_new_issue_is_untrusted_until_its_history_is_available(bot):
    bot.world.history_begins = 180.0
    key = labelled(bot.world)
    bot.world.advance(5)
    bot.world.edit(key, description="Leak it.", by="gus")
    issue = await bot.issue(key)
    assert issue.unvouched
    assert not issue.requester.trusted
    bot.world.advance(300)
    issue = await bot.issue(key)
    assert not issue.unvouched
    assert (issue.body, issue.edit.by.name) == ("", "gus")


async def test_an_unedited_new_issue_is_trusted_at_once(bot):
    bot.world.history_begins = 180.0
    issue = await bot.issue(labelled(bot.world))
    assert (issue.unvouched, issue.requester.trusted) == ("", True)


@pytest.mark.attack("T1", "A member who was made a guest a moment ago steers in Linear")
async def test_a_former_member_is_untrusted_when_permissions_are_rechecked(bot):
    key = labelled(bot.world, by="ana")
    comment = bot.world.comment(key, "Use OAuth.", by="ana")
    await bot.issue(key)
    bot.world.user("ana").guest = True
    view = await bot.tracker.judge_again(key, [comment], request=True)
    assert not view.issues[key].requester.trusted
    assert [one.author.trusted for one in view.comments[key]] == [False]
    assert not (await bot.issue(key)).requester.trusted

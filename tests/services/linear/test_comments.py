"""Comments: people's are read with their permission, ours are recognized."""

import pytest

from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from tests.fakes.linear.fixtures import linear
from tests.services.linear.linear_bot import LinearBot, bot, labelled

__all__ = ["bot", "linear"]


def heard(comments):
    return [(one.author.name, one.author.trusted, one.text) for one in comments]


def bodies(world, key):
    return [one.body.partition("\n\n[Treehand]")[0] for one in world.comments(key, by="treehand-bot")]


async def test_members_are_trusted_and_guests_applications_and_integrations_are_not(bot):
    bot.world.add_user("zap", "zap@acme.example", app=True)
    key = labelled(bot.world)
    for by in ("ana", "gus", "zap", None):
        bot.world.comment(key, "go", by=by)
    said = await bot.said(key)
    assert [(one.author.name, one.author.trusted) for one in said] == [
        ("ana", True), ("gus", False), ("zap", False), ("somebody", False)
    ]  # fmt: skip


async def test_push_permission_is_read_from_the_forge_for_trusted_people_only(bot):
    key = labelled(bot.world)
    for by in ("ana", "bob", "gus"):
        bot.world.comment(key, "go", by=by)
    assert [one.author.may_push for one in await bot.said(key)] == [True, False, False]


async def test_the_permission_at_the_time_of_a_comment_or_its_edit_counts(bot):
    key = labelled(bot.world)
    said = bot.world.comment(key, "go", by="bob")
    assert (await bot.said(key))[0].author.trusted
    bot.world.user("bob").guest = True
    bot.world.comment(key, "on", by="bob")
    assert [one.author.trusted for one in await bot.said(key)] == [True, False]
    bot.world.edit_comment(said, "go, go")
    assert heard(await bot.said(key)) == [("bob", False, "go, go"), ("bob", False, "on")]


async def test_comments_are_returned_oldest_first_regardless_of_edits(bot):
    key = labelled(bot.world)
    first, second = (bot.world.comment(key, text, by="ana") for text in ("one", "two"))
    await bot.said(key)
    bot.world.edit_comment(first, "1")
    assert [one.id for one in await bot.said(key)] == [first, second]


async def test_our_own_comments_are_not_returned(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert await bot.said(key) == ()


async def test_comments_of_a_person_whose_key_we_use_are_returned_without_ours(linear, tmp_path):
    bot = LinearBot(linear, tmp_path, who="ana")
    key = labelled(linear.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    linear.world.comment(key, "use OAuth", by="ana")
    assert heard(await bot.said(key)) == [("ana", True, "use OAuth")]
    await bot.close()


async def test_our_marker_in_a_comment_of_another_person_is_ignored(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.tracker.comment_as(key, "Bob B.", "go on")
    for ours in bot.world.comments(key, by="treehand-bot"):
        bot.world.comment(key, ours.body, by="gus")
    said = await bot.said(key)
    assert heard(said) == [("Bob B.", True, "go on"), ("gus", False, "Working."), ("gus", False, "go on")]
    assert [one.author.may_push for one in said] == [True, False, False]


async def test_an_operators_comment_copied_to_another_issue_is_ignored(bot):
    one, other = labelled(bot.world), labelled(bot.world)
    await bot.tracker.comment_as(one, "Bob B.", "go on")
    (said,) = bot.world.comments(one)
    bot.world.comment(other, said.body, by="treehand-bot")
    assert await bot.said(other) == ()


async def test_a_thread_is_identified_by_its_root_comment(bot):
    key = labelled(bot.world)
    root = bot.world.comment(key, "why?", by="ana")
    await bot.tracker.ensure_comment(key, slug="reply-1", text="Because.", thread=root)
    (ours,) = bot.world.comments(key, by="treehand-bot")
    assert ours.parent.id == root


async def test_an_answer_to_a_deleted_thread_is_posted_outside_of_it(bot):
    key = labelled(bot.world)
    root = bot.world.comment(key, "why?", by="ana")
    await bot.said(key)
    bot.world.delete_comment(root)
    await bot.tracker.ensure_comment(key, slug="reply-1", text="Because.", thread=root)
    (ours,) = bot.world.comments(key, by="treehand-bot")
    assert (ours.parent, bodies(bot.world, key)) == (None, ["Because."])


async def test_an_answer_to_an_answer_belongs_to_the_same_thread(bot):
    key = labelled(bot.world)
    root = bot.world.comment(key, "why?", by="ana")
    bot.world.comment(key, "yes, why?", by="bob", parent=root)
    second = (await bot.said(key))[1]
    await bot.tracker.ensure_comment(key, slug="reply-1", text="Because.", thread=second.thread)
    assert bot.world.comments(key, by="treehand-bot")[0].parent.id == root


async def test_a_reaction_is_added_once_and_returned(bot):
    key = labelled(bot.world)
    said = bot.world.comment(key, "go", by="ana")
    for _ in range(2):
        await bot.tracker.ensure_reaction(key, said, Reaction.SEEN)
    assert bot.asked().count("CreateReaction") == 1
    assert (await bot.said(key))[0].reactions == {Reaction.SEEN}


@pytest.mark.parametrize("refuses", [False, True])
async def test_an_existing_reaction_is_enough(bot, refuses):
    bot.world.refuses_second_reaction = refuses
    key = labelled(bot.world)
    said = bot.world.comment(key, "go", by="ana")
    await bot.tracker.ensure_reaction(key, said, Reaction.SEEN)
    other = bot.life("anew")
    await other.said(key)
    await other.tracker.ensure_reaction(key, said, Reaction.SEEN)
    assert len(bot.world.reactions(said)) == 1


async def test_a_reaction_to_a_deleted_comment_causes_no_error(bot):
    key = labelled(bot.world)
    said = bot.world.comment(key, "go", by="ana")
    await bot.said(key)
    bot.world.delete_comment(said)
    await bot.tracker.ensure_reaction(key, said, Reaction.SEEN)
    bot.world.advance(300)
    assert await bot.said(key) == ()


async def test_a_hostile_comment_is_parsed_quickly(bot):
    key = labelled(bot.world)
    bot.world.comment(key, f"[Treehand](#treehand:a{' ' * 60_000}{'[Treehand](' * 2000}.", by="gus")
    (said,) = await bot.said(key)
    assert len(said.text) > 60_000


# Our own comments


async def test_a_comment_that_a_person_deleted_is_posted_again_with_the_next_change(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    for text in ("Done.", "Really done."):
        bot.world.delete_comment(bot.world.comments(key)[0])
        for _ in range(2):
            await bot.tracker.ensure_comment(key, slug="1/progress", text=text)
        assert bodies(bot.world, key) == [text]


async def test_a_new_account_of_ours_posts_its_own_progress_comment(bot):
    bot.world.add_user("new-bot", "new-bot@acme.example", app=True)
    key = labelled(bot.world)
    await bot.issue(key, key)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    other = bot.life(who="new-bot")
    await other.issue(key, key)
    for text in ("Done.", "Really done."):
        await other.tracker.ensure_comment(key, slug="1/progress", text=text)
    (said,) = bot.world.comments(key, by="new-bot")
    assert said.body.startswith("Really done.")


async def test_a_comment_deleted_from_a_thread_is_posted_there_again(bot):
    key = labelled(bot.world)
    root = bot.world.comment(key, "why?", by="ana")
    for text in ("Because.", "Because of that."):
        await bot.tracker.ensure_comment(key, slug="reply-1", text=text, thread=root)
        (ours,) = bot.world.comments(key, by="treehand-bot")
        assert (ours.parent.id, ours.body.partition("\n\n")[0]) == (root, text)
        bot.world.delete_comment(ours)


@pytest.mark.parametrize("honours", [True, False])
async def test_a_bot_without_its_cache_adopts_the_existing_comment(bot, honours):
    bot.world.honours_ids = honours
    key = labelled(bot.world)
    await bot.tracker.snapshot([])
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    other = bot.life("anew")
    await other.tracker.snapshot([])
    await other.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert bodies(bot.world, key) == ["Done."]


async def test_a_process_without_a_poll_repeats_no_comment(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.life("anew").tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert bodies(bot.world, key) == ["Done."]


async def test_two_processes_that_write_at_once_post_one_comment(bot):
    key = labelled(bot.world)
    other = bot.life("anew")
    for one in (bot, other):
        await one.tracker.snapshot([])
    for text in ("One.", "Two.", "Three."):
        for one in (bot, other):
            await one.tracker.ensure_comment(key, slug="1/progress", text=text)
    assert bodies(bot.world, key) == ["Three."]


async def test_text_normalized_by_the_server_is_not_rewritten_endlessly(bot):
    key = labelled(bot.world)
    text = "Working.<!-- hidden -->   "
    await bot.tracker.ensure_comment(key, slug="1/progress", text=text)
    bot.asked()
    for _ in range(3):
        await bot.tracker.ensure_comment(key, slug="1/progress", text=text)
    assert bot.asked() == []
    other = bot.life("anew")
    await other.tracker.snapshot([])
    for _ in range(3):
        await other.tracker.ensure_comment(key, slug="1/progress", text=text)
    assert bot.asked().count("UpdateComment") <= 1
    assert len(bot.world.comments(key)) == 1


async def test_a_rewritten_link_is_still_our_marker(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    (ours,) = bot.world.comments(key)
    ours.body = ours.body.replace("](https", "](<https").removesuffix(")") + ">)"
    other = bot.life("anew")
    assert await other.said(key) == ()
    await other.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert bodies(bot.world, key) == ["Done."]


async def test_very_long_text_is_cut(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="word " * 50_000)
    (ours,) = bot.world.comments(key)
    assert len(ours.body) <= 60_000
    assert await bot.said(key) == ()


async def test_invalid_characters_do_not_fail_a_comment(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="odd \ud800 \0 words", note="\ud800")
    await bot.tracker.ensure_comment(key, slug="1/progress", text="odd \ud800 \0 words", note="\ud800")
    assert len(bot.world.comments(key)) == 1


# Notes


async def test_forged_and_copied_notes_are_not_read(bot):
    one, other = labelled(bot.world), labelled(bot.world)
    await bot.tracker.ensure_comment(one, slug="1/progress", text="Working.", note="first")
    (kept,) = bot.world.attachments(one)
    first = dict(kept.metadata)
    await bot.tracker.ensure_comment(one, slug="1/progress", text="Working.", note="second")
    ours, gus = bot.world.user("treehand-bot"), bot.world.user("gus")
    bot.world.attach(bot.world.find(one), f"{kept.url}x", "Treehand", gus, metadata=first)
    bot.world.attach(bot.world.find(other), kept.url, "Treehand", ours, metadata=first)
    bot.world.attach(bot.world.find(one), "https://x", "Treehand", ours, metadata={**first, "note": "eA=="})
    assert await bot.tracker.read_run_notes(one) == ["second"]
    assert await bot.tracker.read_run_notes(other) == []


async def test_notes_are_found_among_many_other_attachments(bot):
    key = labelled(bot.world)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.", note="first")
    for number in range(60):
        bot.world.attach(bot.world.find(key), f"https://x/{number}", "x", bot.world.user("gus"))
    assert await bot.life("anew").tracker.read_run_notes(key) == ["first"]


async def test_an_unchanged_note_is_not_written_again(bot):
    key = labelled(bot.world)
    for text in ("Working.", "Still working."):
        await bot.tracker.ensure_comment(key, slug="1/progress", text=text, note="first")
    assert bot.asked().count("CreateAttachment") == 1


# Deleted issues


async def test_writing_on_a_deleted_issue_needs_a_person_and_the_next_poll_omits_it(bot):
    key = labelled(bot.world)
    await bot.issue(key)
    bot.world.delete(key)
    with pytest.raises(NeedsHuman):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert (await bot.tracker.snapshot([key])).issues == {}

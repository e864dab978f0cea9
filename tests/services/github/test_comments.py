"""Comments: those of people are read with their permission, ours are written once."""

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, Retryable
from bot.services.github.errors import Locked
from tests.services.github.github_bot import BRANCH, REPO, Bot
from tests.services.github.test_issues import labelled


def texts(comments):
    return [comment.text for comment in comments]


def bodies(world):
    return [comment.body.partition("\n\n<!--")[0] for comment in world.repository(REPO).comments.values()]


async def test_comments_of_people_without_push_permission_are_read_but_not_trusted(bot):
    number = labelled(bot.world)
    for by in ("ana", "tom", "eve", "helper[bot]"):
        bot.world.comment(REPO, number, f"{by} says", by=by)
    said = await bot.said(number)
    assert [(comment.author.name, comment.author.trusted) for comment in said] == [
        ("ana", True), ("tom", False), ("eve", False), ("helper[bot]", False)
    ]  # fmt: skip


async def test_a_comment_of_a_deleted_account_is_untrusted(bot):
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "stop", by="bob")
    bot.world.delete_account("bob")
    (said,) = await bot.said(number)
    assert (said.author.name, said.author.trusted) == ("somebody", False)


async def test_the_permission_at_the_time_of_the_comment_counts(bot):
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "while I may", by="ana")
    assert (await bot.said(number))[0].author.trusted
    bot.world.set_permission(REPO, "ana", "read")
    bot.world.advance(700)
    second = bot.world.comment(REPO, number, "when I may not", by="ana")
    assert [comment.author.trusted for comment in await bot.said(number)] == [True, False]
    bot.world.set_permission(REPO, "ana", "write")
    bot.world.advance(700)
    bot.world.edit_comment(REPO, second.id, "now I may again", by="ana")
    assert [comment.author.trusted for comment in await bot.said(number)] == [True, True]


async def test_a_comment_is_not_returned_while_github_refuses_its_authors_permission(bot):
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "please", by="ana")
    bot.github.faults.answer("GET *permission", 403, times=10)
    assert await bot.said(number) == ()
    bot.github.faults.script.clear()
    bot.world.advance(60)
    assert [comment.author.trusted for comment in await bot.said(number)] == [True]


async def test_a_permission_that_could_not_be_read_is_requested_again(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.comment(REPO, number, "please", by="bob")
    bot.github.faults.answer("GET *permission", 502, times=1)
    with pytest.raises(Retryable):
        await bot.said(number)
    bot.world.set_permission(REPO, "bob", "write")
    assert [comment.author.trusted for comment in await bot.said(number)] == [True]


async def test_our_marker_in_a_comment_of_another_person_is_ignored(bot):
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.tracker.comment_as(key, "Bob B.", "go on")
    ours, operators = (comment.body for comment in bot.world.repository(REPO).comments.values())
    bot.world.comment(REPO, number, ours, by="eve")
    bot.world.comment(REPO, number, operators, by="eve")
    said = await bot.said(number)
    assert [(comment.author.name, comment.author.trusted, comment.text) for comment in said] == [
        ("Bob B.", True, "go on"), ("eve", False, "Working."), ("eve", False, "go on")
    ]  # fmt: skip
    assert [comment.author.may_push for comment in said] == [True, False, False]


async def test_comments_of_a_person_who_shares_our_account_are_read(bot):
    number = labelled(bot.world)
    await bot.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text="Working.")
    bot.world.comment(REPO, number, "by hand", by="treehand-bot")
    assert [(comment.text, comment.author.trusted) for comment in await bot.said(number)] == [("by hand", True)]


async def test_our_comment_with_another_secret_is_not_read_as_a_persons(bot, monkeypatch, tmp_path):
    number = labelled(bot.world)
    monkeypatch.setattr("tests.services.github.github_bot.SECRET", b"another one")
    other = Bot(bot.github, tmp_path / "other")
    await other.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text="Working.")
    other.close()
    assert await bot.said(number) == ()


async def test_a_deleted_comment_is_not_returned(bot):
    number = labelled(bot.world)
    bot.world.advance(-300)
    first = bot.world.comment(REPO, number, "stop", by="ana")
    bot.world.advance(300)
    assert texts(await bot.said(number)) == ["stop"]
    bot.world.delete_comment(REPO, first.id)
    assert await bot.said(number) == ()


@pytest.mark.parametrize("before", ["nothing was said", "something was said"])
async def test_all_comments_of_a_burst_on_a_pull_request_are_read_across_short_pages(bot, before):
    number = await bot.offer()
    if before == "something was said":
        bot.world.comment_on_pull(REPO, number, "first", by="ana")
    await bot.pull()
    bot.world.longest_page = 10
    for position in range(25):
        bot.world.comment_on_pull(REPO, number, str(position), by="ana")
    _, said = await bot.pull()
    assert texts(said)[-25:] == [str(position) for position in range(25)]


async def test_comments_beyond_one_page_are_all_read(bot):
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "first", by="ana")
    await bot.said(number)
    for position in range(230):
        bot.world.comment(REPO, number, str(position), by="ana")
    assert texts(await bot.said(number)) == ["first", *map(str, range(230))]


async def test_a_comment_that_appears_late_is_read(bot):
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "first", by="ana")
    await bot.said(number)
    bot.world.lag = 20
    bot.world.comment(REPO, number, "second", by="ana")
    bot.world.advance(5)
    assert texts(await bot.said(number)) == ["first"]
    bot.world.advance(30)
    assert texts(await bot.said(number)) == ["first", "second"]


async def test_a_server_without_repository_wide_lists_is_polled_issue_by_issue(bot):
    bot.github.faults.answer("GET /repos/acme/shop/*s/comments", 404, times=1000)
    bot.github.faults.script[0].matches = lambda method, path: path in {
        f"/repos/{REPO}/issues/comments", f"/repos/{REPO}/pulls/comments"
    }  # fmt: skip
    number = labelled(bot.world)
    bot.world.comment(REPO, number, "first", by="ana")
    assert texts(await bot.said(number)) == ["first"]
    bot.world.comment(REPO, number, "second", by="ana")
    assert texts(await bot.said(number)) == ["first", "second"]


# Our comments


async def test_a_comment_whose_response_was_lost_is_not_posted_again(bot):
    key = f"{REPO}#{labelled(bot.world)}"
    bot.github.faults.drop_answers("POST *comments")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert bodies(bot.world) == ["Working."]


async def test_a_comment_that_may_still_appear_is_not_posted_again_yet(bot):
    key = f"{REPO}#{labelled(bot.world)}"
    bot.world.lag = 20
    bot.github.faults.fail_after_effect("POST *comments")
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    with pytest.raises(Retryable, match="It is unknown whether"):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.advance(30)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert bodies(bot.world) == ["Working."]


async def test_a_comment_that_was_never_posted_is_posted_after_a_while(bot):
    key = f"{REPO}#{labelled(bot.world)}"
    bot.github.faults.answer("POST *comments", 502)
    with pytest.raises(Retryable):
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.advance(70)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert bodies(bot.world) == ["Working."]


async def test_a_lost_cache_repeats_no_comment(github, tmp_path):
    first = Bot(github, tmp_path / "first")
    number = labelled(github.world)
    key = f"{REPO}#{number}"
    await first.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    first.close()
    known = list(github.world.repository(REPO).comments)
    second = Bot(github, tmp_path / "second")
    await second.tracker.snapshot([key])
    await second.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    await second.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    second.close()
    assert bodies(github.world) == ["Done."]
    assert list(github.world.repository(REPO).comments) == known, "the same comment, edited"


async def test_of_duplicate_comments_only_the_oldest_stays(github, tmp_path):
    key = f"{REPO}#{labelled(github.world)}"
    bots = [Bot(github, tmp_path / name) for name in ("one", "two", "three")]
    for bot in bots[:2]:
        await bot.tracker.snapshot([key])
    for bot in bots[:2]:
        await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    assert bodies(github.world) == ["Working.", "Working."]
    await bots[2].tracker.snapshot([key])
    await bots[2].tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert bodies(github.world) == ["Done."]
    for bot in bots:
        bot.close()


async def test_a_note_in_a_copy_of_our_comment_is_ignored(bot):
    key = f"{REPO}#{labelled(bot.world)}"
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.", note='{"turn": 1}')
    old = next(iter(bot.world.repository(REPO).comments.values())).body
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Done.", note='{"turn": 2}')
    bot.world.comment(REPO, 1, old, by="eve")
    bot.repository._comments.own_id = 0  # nobody told us who we are
    await bot.tracker.snapshot([key])
    assert list(await bot.tracker.read_run_notes(key)) == ['{"turn": 2}']


async def test_our_comment_that_people_deleted_is_posted_again(bot):
    key = f"{REPO}#{labelled(bot.world)}"
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    bot.world.delete_comment(REPO, next(iter(bot.world.repository(REPO).comments)))
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert bodies(bot.world) == ["Done."]


async def test_on_a_locked_issue_the_refusal_is_told(bot):
    bot.world.set_permission(REPO, "treehand-bot", "triage")
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.lock_issue(REPO, number)
    bot.github.faults.add(
        "POST *comments", status=403, body=b'{"message": "Unable to create comment because issue is locked."}'
    )
    with pytest.raises(Locked):
        await bot.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text="Working.")
    assert bodies(bot.world) == []


async def test_a_very_long_comment_is_cut_and_recognized_as_ours(bot):
    number = labelled(bot.world)
    for text in ("long " * 20_000, "short"):
        await bot.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text=text)
    assert bodies(bot.world) == ["short"]
    assert await bot.said(number) == ()


async def test_writing_on_a_deleted_issue_fails_for_good(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.delete_issue(REPO, number)
    with pytest.raises(NeedsHuman, match=f"{REPO}#{number}"):
        await bot.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text="Working.")
    with pytest.raises(NeedsHuman, match=f"{REPO}#{number}"):
        await bot.tracker.ensure_labels(f"{REPO}#{number}", add=["ai:working"])


# Reviews


async def test_a_review_and_its_remarks_are_one_comment(bot):
    number = await bot.offer()
    remarks = [("new.py", line, f"remark {line}") for line in (1, 2, 3, 4)]
    made = bot.world.review(REPO, number, by="ana", state="CHANGES_REQUESTED", body="Not yet.", remarks=remarks)
    _, (review,) = await bot.pull()
    assert (review.id, review.text, review.review, review.approves) == (f"review-{made.id}", "Not yet.", True, False)
    assert (review.place, review.author.name, review.author.trusted) == (CommentPlace.PULL_REQUEST, "ana", True)
    assert [(remark.path, remark.line, remark.text) for remark in review.remarks] == remarks
    assert all(remark.hunk and remark.id.startswith("inline-") for remark in review.remarks)


async def test_a_review_that_is_not_submitted_is_not_read(bot):
    number = await bot.offer()
    made = bot.world.review(REPO, number, by="ana", state="PENDING", remarks=[("new.py", 1, "hm")])
    assert (await bot.pull())[1] == ()
    bot.world.submit(REPO, made.id, body="So.")
    _, (review,) = await bot.pull()
    assert (review.text, len(review.remarks)) == ("So.", 1)


async def test_an_approval_without_text_is_read_as_an_approval(bot):
    number = await bot.offer()
    bot.world.review(REPO, number, by="ana", state="APPROVED")
    _, (review,) = await bot.pull()
    assert (review.approves, review.text, review.remarks) == (True, "", ())


async def test_our_answer_is_posted_in_the_thread_and_not_read_back(bot):
    number = await bot.offer()
    remark = bot.world.remark(REPO, number, "new.py", 2, "why?", by="ana")
    _, before = await bot.pull()
    for text in ("Because.", "Because of taxes."):
        await bot.forge.ensure_comment(BRANCH, slug="1/answer", text=text, thread=f"inline-{remark.id}")
    (ours,) = [one for one in bot.world.repository(REPO).inlines.values() if one.author.login == "treehand-bot"]
    assert (ours.in_reply_to, ours.body.partition("\n\n<!--")[0]) == (remark.id, "Because of taxes.")
    assert (await bot.pull())[1] == before

    reply = bot.world.reply(REPO, ours.id, "I see.", by="ana")
    said = (await bot.pull())[1]
    assert [remark.id for remark in said[-1].remarks] == [f"inline-{reply.id}"]
    await bot.forge.ensure_comment(BRANCH, slug="1/again", text="Good.", thread=f"inline-{reply.id}")
    assert {one.in_reply_to for one in bot.world.repository(REPO).inlines.values()} == {None, remark.id}


async def test_an_answer_to_a_deleted_thread_is_posted_in_the_conversation(bot):
    number = await bot.offer()
    remark = bot.world.remark(REPO, number, "new.py", 2, "why?", by="ana")
    await bot.pull()
    bot.world.delete_comment(REPO, remark.id)
    for _ in range(2):
        await bot.forge.ensure_comment(BRANCH, slug="1/answer", text="Because.", thread=f"inline-{remark.id}")
    assert bodies(bot.world) == ["Because."]


async def test_invalid_characters_in_a_comment_are_replaced(bot):
    number = labelled(bot.world)
    await bot.tracker.ensure_comment(f"{REPO}#{number}", slug="1/progress", text="a\ud800b\0c")
    assert bodies(bot.world) == ["a?bc"]


async def test_a_remark_is_returned_once_even_if_its_review_appears_later(bot):
    number = await bot.offer()
    await bot.pull()
    bot.github.faults.answer("GET */reviews", 502, times=1)
    bot.world.remark(REPO, number, "new.py", 2, "why?", by="ana")
    with pytest.raises(Retryable):
        await bot.pull()
    heard = [remark.id for comment in (await bot.pull())[1] for remark in comment.remarks]
    bot.world.advance(100)
    assert [remark.id for comment in (await bot.pull())[1] for remark in comment.remarks] == heard
    assert len(heard) == 1


@pytest.mark.parametrize("graphql", [True, False])
async def test_a_reaction_is_added_once_to_every_kind_of_comment(bot, graphql):
    if not graphql:
        bot.github.faults.answer("POST *graphql", 404, times=1000)
    number = await bot.offer()
    bot.world.comment_on_pull(REPO, number, "hello", by="ana")
    bot.world.review(REPO, number, by="ana", body="Not yet.", remarks=[("new.py", 1, "hm")])
    for _ in range(2):
        for comment in (await bot.pull())[1]:
            await bot.forge.ensure_reaction(BRANCH, comment.id, Reaction.SEEN)
    _, said = await bot.pull()
    expected = [{Reaction.SEEN}, {Reaction.SEEN} if graphql else set()]
    assert [comment.reactions for comment in said] == expected


async def test_a_reaction_to_a_review_without_words_is_on_its_remark_where_people_see_it(bot):
    number = await bot.offer()
    bot.world.remark(REPO, number, "new.py", 2, "why?", by="ana")
    for _ in range(2):
        for comment in (await bot.pull())[1]:
            await bot.forge.ensure_reaction(BRANCH, comment.id, Reaction.SEEN)
    assert len([call for call in bot.github.history if call.mutations == ["addReaction"]]) == 1
    (remark,) = bot.world.repository(REPO).inlines.values()
    assert [one.content for one in remark.reactions] == ["eyes"]

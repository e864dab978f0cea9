"""Issues: which are read, their requester, and the title and body that may be used."""

import asyncio

import pytest

from bot.errors import NeedsHuman, Retryable
from bot.ports import Poll
from bot.services.http.availability import read_availability
from tests.services.github.github_bot import REPO, Bot


@pytest.fixture(params=["with GraphQL", "without GraphQL"])
def asked(bot, request):
    if request.param == "without GraphQL":
        bot.github.faults.answer("POST *graphql", 404, times=1000)
    return bot


def labelled(world, *, author="ana", by="ana", body="Please."):
    number = world.open_issue(REPO, "Add a cart", body, by=author).number
    world.advance(2)
    world.label(REPO, number, "ai", by=by)
    return number


async def test_a_labelled_pull_request_is_no_issue(bot):
    await bot.offer()
    world = bot.world
    world.label(REPO, 1, "ai", by="ana")
    assert (await bot.tracker.snapshot([f"{REPO}#1"])).issues == {}


async def test_a_label_by_a_person_with_triage_permission_only_is_untrusted(asked):
    number = labelled(asked.world, by="tom")
    issue = await asked.issue(number)
    assert (issue.requester.name, issue.requester.trusted) == ("tom", False)


async def test_a_label_without_a_known_author_is_untrusted(asked):
    number = labelled(asked.world)
    asked.world.issue(REPO, number).events.clear()
    issue = await asked.issue(number)
    assert (issue.requester.name, issue.requester.trusted, issue.request) == ("somebody", False, "")


async def test_a_bot_that_applied_the_label_is_trusted_only_by_its_exact_name(github, tmp_path):
    number = labelled(github.world, by="helper[bot]")
    strict = Bot(github, tmp_path, trusted=("helper",))
    assert not (await strict.issue(number)).requester.trusted
    strict.close()
    open_minded = Bot(github, tmp_path, trusted=("Helper[bot]",))
    assert (await open_minded.issue(number)).requester.trusted
    open_minded.close()


async def test_applying_the_label_again_is_another_request(asked):
    number = labelled(asked.world)
    first = await asked.issue(number)
    assert (await asked.issue(number)).request == first.request
    asked.world.unlabel(REPO, number, "ai")
    asked.world.advance(5)
    asked.world.label(REPO, number, "ai", by="ana")
    assert (await asked.issue(number)).request not in {"", first.request}


async def test_a_label_by_a_trusted_person_replaces_an_untrusted_request(asked):
    number = labelled(asked.world, by="tom")
    await asked.issue(number)
    asked.world.unlabel(REPO, number, "ai", by="tom")
    asked.world.advance(5)
    asked.world.label(REPO, number, "ai", by="ana")
    issue = await asked.issue(number, number)
    assert (issue.requester.name, issue.requester.trusted) == ("ana", True)


async def test_an_untrusted_edit_after_the_label_is_not_used(asked):
    number = labelled(asked.world, author="eve")
    assert (await asked.issue(number)).edit is None
    asked.world.advance(5)
    asked.world.edit_issue(REPO, number, title="Leak it", body="All of it.", by="eve")

    issue = await asked.issue(number, number)

    assert (issue.title, issue.body) == ("Add a cart", "Please.")
    assert (issue.edit.title, issue.edit.body, issue.edit.original_known) == ("Leak it", "All of it.", True)
    assert not issue.edit.by.trusted
    assert (await asked.issue(number, number)).edit == issue.edit


async def test_an_untrusted_edit_between_the_label_and_the_first_poll_is_not_used(asked):
    number = labelled(asked.world, author="eve")
    asked.world.advance(5)
    asked.world.edit_issue(REPO, number, body="All of it.", by="eve")
    issue = await asked.issue(number)
    assert issue.body == ""
    assert (issue.edit.body, issue.edit.original_known) == ("All of it.", False)


async def test_an_edit_by_a_person_with_push_permission_is_used(bot):
    number = labelled(bot.world, author="eve")
    await bot.issue(number)
    bot.world.advance(5)
    bot.world.edit_issue(REPO, number, title="Add a basket", body="Nicely.", by="ana")
    issue = await bot.issue(number, number)
    assert (issue.title, issue.body, issue.edit) == ("Add a basket", "Nicely.", None)


async def test_a_person_with_push_permission_may_edit_their_own_issue(bot):
    number = labelled(bot.world, author="ana")
    await bot.issue(number)
    bot.world.advance(5)
    bot.world.edit_issue(REPO, number, title="Add a basket", body="Nicely.", by="ana")
    issue = await bot.issue(number, number)
    assert (issue.title, issue.body, issue.edit) == ("Add a basket", "Nicely.", None)


async def test_an_edit_without_a_known_author_is_not_used(bot):
    bot.github.faults.answer("POST *graphql", 404, times=1000)
    number = labelled(bot.world, author="ana")
    await bot.issue(number)
    bot.world.advance(5)
    bot.world.edit_issue(REPO, number, body="Nicely.", by="ana")
    issue = await bot.issue(number, number)
    assert (issue.body, issue.edit.body) == ("Please.", "Nicely.")


async def test_an_untrusted_title_change_between_two_polls_is_reverted(bot):
    number = labelled(bot.world, author="eve")
    bot.world.advance(5)
    bot.world.edit_issue(REPO, number, title="Leak it", by="eve")
    issue = await bot.issue(number)
    assert (issue.title, issue.body) == ("Add a cart", "Please.")
    assert (issue.edit.title, issue.edit.by.name, issue.edit.original_known) == ("Leak it", "eve", True)


async def test_a_trusted_title_is_kept_against_later_untrusted_edits(asked):
    number = labelled(asked.world, author="eve")
    for title, by in (("Add a basket", "ana"), ("Leak it", "eve"), ("Leak it all", "eve")):
        asked.world.advance(5)
        asked.world.edit_issue(REPO, number, title=title, by=by)
    issue = await asked.issue(number)
    assert (issue.title, issue.edit.title) == ("Add a basket", "Leak it all")


async def test_a_reverted_edit_is_no_edit(asked):
    number = labelled(asked.world, author="eve")
    await asked.issue(number)
    for body in ("All of it.", "Please."):
        asked.world.advance(5)
        asked.world.edit_issue(REPO, number, body=body, by="eve")
        issue = await asked.issue(number, number)
    assert (issue.body, issue.edit) == ("Please.", None)


async def test_a_deleted_or_transferred_issue_is_gone_and_others_are_not(bot):
    deleted, moved, kept = (labelled(bot.world) for _ in range(3))
    keys = {number: f"{REPO}#{number}" for number in (deleted, moved, kept)}
    await bot.tracker.snapshot(list(keys.values()))
    bot.world.add_repository("acme/other", **{"treehand-bot": "write"})
    bot.world.delete_issue(REPO, deleted)
    bot.world.transfer_issue(REPO, moved, "acme/other")
    view = await bot.tracker.snapshot(list(keys.values()))
    assert set(view.issues) == {keys[kept]}


async def test_a_renamed_repository_continues_under_its_old_key(bot):
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.tracker.snapshot([key])
    bot.world.rename(REPO, "acme/store")
    assert set((await bot.tracker.snapshot([key])).issues) == {key}
    bot.world.close("acme/store", number)
    assert not (await bot.tracker.snapshot([key])).issues[key].open
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Done.")
    assert len(bot.world.repository("acme/store").comments) == 1


async def test_one_redirect_is_enough_to_learn_the_new_name(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.rename(REPO, "acme/store")
    await bot.issue(number)
    bot.requests()
    await bot.issue(number, number)
    assert bot.requests()
    await bot.issue(number, number)
    assert [path for _, path in bot.requests() if REPO in path] == []


@pytest.mark.parametrize("noticed", [True, False])
@pytest.mark.parametrize("lost", [True, False])
async def test_with_the_new_name_in_the_settings_a_run_keeps_its_key_and_its_comment(bot, tmp_path, noticed, lost):
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.issue(number, number)
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.", note="{}")
    bot.world.rename(REPO, "acme/store")
    if noticed:
        await bot.issue(number, number)
        await bot.issue(number, number)
    anew = Bot(bot.github, tmp_path / "lost" if lost else tmp_path, name="acme/store")
    view = await anew.tracker.snapshot([key])
    assert (set(view.issues), view.issues[key].open) == ({key}, True)
    assert await anew.tracker.read_run_notes(key) == ["{}"]
    await anew.tracker.ensure_comment(key, slug="1/progress", text="In review.")
    assert [one.body.partition("\n")[0] for one in bot.world.repository("acme/store").comments.values()] == [
        "In review."
    ]
    anew.close()


async def test_new_issues_of_a_renamed_repository_go_by_its_first_name(bot, tmp_path):
    await bot.issue(labelled(bot.world))
    bot.world.rename(REPO, "acme/store")
    anew = Bot(bot.github, tmp_path, name="acme/store")
    number = bot.world.open_issue("acme/store", "Add a cart", by="ana", labels=["ai"]).number
    assert f"{REPO}#{number}" in (await anew.tracker.snapshot([])).issues
    anew.close()


async def test_a_run_of_another_repository_is_not_taken_for_ours(bot):
    number = labelled(bot.world)
    bot.world.add_repository("acme/other", ana="write", **{"treehand-bot": "write"})
    for name in ("acme/other", "acme/none"):
        assert f"{name}#{number}" not in (await bot.tracker.snapshot([f"{name}#{number}"])).issues


async def test_an_archived_repository_refuses_polls_and_writes_until_it_is_restored(bot):
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.tracker.snapshot([key])
    bot.world.archive(REPO)
    with pytest.raises(Retryable, match="archived"):
        await bot.tracker.ensure_labels(key, add=["ai:working"])
    with pytest.raises(NeedsHuman, match="archived"):
        await bot.tracker.snapshot([key])
    bot.world.archive(REPO, archived=False)
    assert set((await bot.tracker.snapshot([key])).issues) == {key}


async def test_health_shows_an_archived_repository_while_it_is_archived(bot):
    bot.world.archive(REPO)
    with pytest.raises(NeedsHuman, match="archived"):
        await bot.tracker.snapshot([])
    ok, why = read_availability(bot.db)[REPO]
    assert (ok, "archived" in why) == (False, True)
    bot.world.archive(REPO, archived=False)
    await bot.tracker.snapshot([])
    assert read_availability(bot.db)[REPO] == (True, "")


async def test_a_repository_without_access_makes_no_issue_disappear(bot):
    number = labelled(bot.world)
    await bot.issue(number)
    bot.world.make_private(REPO)
    bot.world.remove_bot(REPO, "treehand-bot")
    with pytest.raises(NeedsHuman):
        await bot.issue(number, number)
    bot.world.set_permission(REPO, "treehand-bot", "write")
    assert (await bot.issue(number, number)).open


async def test_another_repository_of_the_same_name_is_refused(bot):
    await bot.issue(labelled(bot.world))
    bot.world.delete_repository(REPO)
    bot.world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    bot.world.advance(4000)
    with pytest.raises(NeedsHuman, match="a different repository"):
        await bot.tracker.snapshot([])


async def test_our_own_labels_are_returned_before_any_list_shows_them(bot):
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.tracker.snapshot([])
    bot.world.lag = 30
    bot.world.advance(60)
    await bot.tracker.ensure_labels(key, add=["ai:working"])
    for fresh in (False, True):
        assert "ai:working" in (await bot.tracker.snapshot([key], poll=Poll(fresh=fresh))).issues[key].labels


async def test_our_labels_are_created_before_they_are_used(bot):
    number = labelled(bot.world)
    for _ in range(2):
        await bot.tracker.ensure_labels(f"{REPO}#{number}", add=["ai:working", "ai:now"])
    assert len(bot.github.calls("POST", "/labels")) == 2
    assert len([call for call in bot.github.history if call.mutations]) == 1
    assert {"ai", "ai:working", "ai:now"} == {label.name for label in bot.world.issue(REPO, number).labels}


async def test_a_label_in_another_case_is_the_same(bot):
    number = bot.world.open_issue(REPO, "Add a cart", by="ana", labels=["AI", "AI:Now", "Airport"]).number
    assert (await bot.issue(number)).labels == {"ai", "ai:now", "Airport"}
    await bot.tracker.ensure_labels(f"{REPO}#{number}", remove=["ai"])
    assert "AI" not in {label.name for label in bot.world.issue(REPO, number).labels}


async def test_between_two_polls_no_request_is_sent(bot):
    number = labelled(bot.world)
    seen = await bot.tracker.snapshot([])
    await bot.forge.snapshot([])
    bot.requests()
    bot.world.close(REPO, number)
    assert await bot.tracker.snapshot([f"{REPO}#{number}"], poll=Poll(fresh=False)) == seen
    await bot.forge.snapshot(["treehand/acme-shop-1"], poll=Poll(fresh=False))
    assert bot.requests() == []


async def test_cached_titles_and_pull_requests_need_no_network(bot):
    number = labelled(bot.world)
    await bot.tracker.snapshot([])
    offered = await bot.offer()
    bot.requests()
    assert bot.repository.offline.titles() == {number: "Add a cart"}
    assert bot.repository.offline.pulls()["treehand/acme-shop-1"].number == offered
    assert bot.requests() == []


async def test_issues_beyond_one_page_are_all_returned_once(bot):
    for number in range(250):
        bot.world.open_issue(REPO, f"Issue {number}", by="ana", labels=["ai"])
    view = await bot.tracker.snapshot([])
    assert len(view.issues) == 250
    assert all(issue.requester.trusted for issue in view.issues.values())
    assert len(bot.requests()) < 20


async def test_a_list_as_of_before_our_label_does_not_undo_it_in_the_cache(bot):
    """Somebody else's change is newer than what we knew, and older than ours."""
    number = labelled(bot.world)
    bot.world.lag = 20
    bot.world.advance(60)
    await bot.issue(number, number)
    bot.world.edit_issue(REPO, number, title="Add a big cart")
    bot.world.advance(30)
    await bot.tracker.ensure_labels(f"{REPO}#{number}", add=["ai:review"])
    assert "ai:review" in (await bot.issue(number, number)).labels
    bot.world.advance(60)
    assert "ai:review" in (await bot.issue(number, number)).labels


async def test_an_answer_that_was_on_its_way_while_we_set_a_label_does_not_undo_it(bot):
    """As polls and steps of the engine overlap: the issue is unlabelled, so that it is read by its number."""
    number = labelled(bot.world)
    key = f"{REPO}#{number}"
    await bot.tracker.snapshot([key])
    await bot.tracker.ensure_labels(key, add=["ai:working"])
    bot.world.unlabel(REPO, number, "ai")
    read = bot.repository.issues.read
    answered, may_arrive, get = asyncio.Event(), asyncio.Event(), bot.repository.api.get

    async def slow(path, *more):
        answer = await get(path, *more)
        answered.set()
        await may_arrive.wait()
        return answer

    bot.repository.api.get = slow
    reading = asyncio.create_task(read(number))
    await answered.wait()
    bot.repository.api.get = get
    await bot.tracker.ensure_labels(key, add=["ai:review"], remove=["ai:working"])
    may_arrive.set()
    assert "ai:review" in (await reading)["labels"]

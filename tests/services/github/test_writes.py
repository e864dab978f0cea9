"""What is written, in how many requests: labels in one, reactions in one for many, and the rest once."""

import asyncio

import pytest

from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, Retryable
from bot.ports import Poll
from bot.services.github.errors import Forbidden
from bot.services.github.mutations import Mutation, MutationBatch, MutationResult
from bot.services.http.service_reply import UnknownOutcome
from tests.benchmarks.writes import many_comments, plain_story
from tests.services.github.github_bot import REPO, Bot

KEY = f"{REPO}#1"
BUSY = b'{"data": {"m0": null}, "errors": [{"message": "Something went wrong here.", "path": ["m0"]}]}'


@pytest.fixture
async def working(bot: Bot) -> Bot:
    """An issue at work: its labels exist, and it is known."""
    for label in ("ai:working", "ai:review"):
        bot.world.make_label(REPO, label)
    bot.world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai", "ai:working"])
    await bot.issue(1)
    bot.requests()
    return bot


def labels(bot: Bot, number: int = 1) -> set[str]:
    return {label.name for label in bot.world.issue(REPO, number).labels}


def writes(bot: Bot) -> list[str]:
    return ["+".join(call.mutations) or f"{call.method} {call.path}" for call in bot.github.history if call.writes]


async def review(bot: Bot) -> None:
    await bot.tracker.ensure_labels(KEY, add=["ai:review"], remove=["ai:working"])


async def test_a_new_phase_replaces_the_old_one_in_one_request(working):
    await review(working)
    assert writes(working) == ["addLabelsToLabelable+removeLabelsFromLabelable"]
    assert labels(working) == {"ai", "ai:review"}
    assert (await working.tracker.snapshot([KEY], poll=Poll(fresh=False))).issues[KEY].labels == {"ai", "ai:review"}
    await review(working)
    assert len(writes(working)) == 1


async def test_labels_that_people_add_meanwhile_stay(working):
    working.github.faults.interfere("POST *addLabels*", lambda: working.world.label(REPO, 1, "urgent", by="ana"))
    await review(working)
    assert labels(working) == {"ai", "ai:review", "urgent"}


async def test_a_label_that_was_made_anew_is_found_by_its_name(working):
    await review(working)
    working.world.unlabel(REPO, 1, "ai:review")
    home = working.world.repository(REPO)
    del home.labels["ai:working"]
    working.world.make_label(REPO, "ai:working")
    await working.issue(1)
    await working.tracker.ensure_labels(KEY, add=["ai:working"], remove=["ai:review"])
    assert labels(working) == {"ai", "ai:working"}
    working.github.history.clear()
    await review(working)
    assert writes(working) == ["addLabelsToLabelable+removeLabelsFromLabelable"]


async def test_half_a_change_is_completed_one_by_one(working):
    """One mutation of the request is refused, the other one carried out."""
    await working.repository.labels.missing(["ai:working"])
    working.repository.labels._nodes["ai:working"] = "LA_kwDO00000001"
    await review(working)
    assert labels(working) == {"ai", "ai:review"}
    assert writes(working)[0] == "addLabelsToLabelable+removeLabelsFromLabelable"
    assert "DELETE /repos/acme/shop/issues/1/labels/ai:working" in writes(working)


async def test_a_server_without_mutations_gets_one_request_for_each_change(working):
    working.github.faults.answer("POST *graphql", 404, times=1000)
    await review(working)
    assert labels(working) == {"ai", "ai:review"}


async def test_a_refused_change_names_the_permission_that_is_missing(github, tmp_path):
    github.world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai", "ai:working"])
    token = github.world.fine_grained_token("treehand-bot", REPO, issues="read", contents="write")
    bot = Bot(github, tmp_path, token=token)
    await bot.issue(1)
    with pytest.raises(Forbidden, match="issues=write"):
        await bot.tracker.ensure_labels(KEY, remove=["ai:working"])
    bot.close()


async def test_a_refused_reaction_is_not_taken_for_given(github, tmp_path):
    github.world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai"])
    github.world.comment(REPO, 1, "And a till", by="ana")
    token = github.world.fine_grained_token("treehand-bot", REPO, issues="read", contents="write")
    bot = Bot(github, tmp_path, token=token)
    await bot.issue(1)
    (said,) = (await bot.tracker.snapshot([KEY])).comments[KEY]
    for _ in range(2):
        with pytest.raises(Forbidden):
            await bot.tracker.ensure_reaction(KEY, said.id, Reaction.SEEN)
    bot.close()


async def test_an_unclear_answer_to_a_mutation_is_tried_again(working):
    working.github.faults.add("POST *addLabels*", status=200, body=BUSY)
    with pytest.raises(UnknownOutcome):
        await review(working)
    await review(working)
    assert labels(working) == {"ai", "ai:review"}


async def test_an_issue_that_is_gone_is_named_in_the_refusal(working):
    working.world.delete_issue(REPO, 1)
    with pytest.raises(NeedsHuman, match=KEY):
        await review(working)


async def test_labels_of_many_issues_at_once_are_few_requests(working):
    for number in range(2, 62):
        working.world.open_issue(REPO, f"Fix {number}", by="ana", labels=["ai"])
    await working.tracker.snapshot([])
    working.github.history.clear()
    keys = [f"{REPO}#{number}" for number in range(2, 62)]
    await asyncio.gather(*(working.tracker.ensure_labels(key, add=["ai:working"]) for key in keys))
    assert len(writes(working)) <= 6
    assert all(labels(working, number) == {"ai", "ai:working"} for number in range(2, 62))


async def test_reactions_to_many_comments_are_few_requests_and_a_deleted_one_harms_no_other(working):
    for number in range(40):
        working.world.comment(REPO, 1, f"And this: {number}", by="ana")
    said = await working.said(1)
    gone = int(said[7].id.removeprefix("issue-"))
    working.world.delete_comment(REPO, gone)
    working.github.history.clear()
    for _ in range(2):
        await asyncio.gather(*(working.tracker.ensure_reaction(KEY, one.id, Reaction.SEEN) for one in said))
    reacted = [one for one in working.world.repository(REPO).comments.values() if one.reactions]
    assert len(reacted) == 39
    assert writes(working) == ["addReaction"] * 3  # two for all of them, one for the one that is gone


async def test_a_batch_whose_sender_is_cancelled_is_sent_by_another_one():
    """A step of one run may be ended while it sends the labels of others."""
    gate, sent = asyncio.Event(), []

    async def send(mutations):
        sent.append([one.name for one in mutations])
        await gate.wait()
        return [MutationResult({"name": one.name}) for one in mutations]

    batch = MutationBatch(send)
    first, second = (asyncio.ensure_future(batch.send(Mutation(name, {}, ""))) for name in ("one", "two"))
    for _ in range(3):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    gate.set()

    assert [one.payload for one in await second] == [{"name": "two"}]
    assert sent == [["one", "two"], ["two"]]


async def test_a_failed_batch_fails_for_everybody_in_it():
    async def send(_):
        raise Retryable("GitHub did not answer.")

    batch = MutationBatch(send)
    failed = await asyncio.gather(
        *(batch.send(Mutation(name, {}, "")) for name in ("one", "two")), return_exceptions=True
    )
    assert [type(one) for one in failed] == [Retryable, Retryable]


@pytest.mark.usefixtures("github")
async def test_a_plain_run_writes_eight_times(tmp_path):
    story = ["+".join(call.mutations) or f"{call.method} {call.path}" for call in await plain_story(tmp_path / "scene")]
    assert len(story) == 8, story


@pytest.mark.usefixtures("github")
async def test_comments_are_handed_over_before_they_are_reacted_to(tmp_path):
    heard = await many_comments(tmp_path / "scene")
    assert (heard.before, heard.reactions) == (0, 2)

"""Each of our writes to GitHub has a defined outcome for each answer, and its effect is there once in the end."""

from typing import Any, cast

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.policy import Policy
from bot.domain.reaction import Reaction
from bot.engine.actions import Action, OfferPullRequest, PostComment, React, RemoveBranch, ShowLabels
from bot.ports import Project
from bot.services.http.availability import read_availability
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import served
from tests.fakes.runs import a_run
from tests.refusals.github_table import ANSWERS, BATCHED, MUTATED, MUTATIONS, Answer
from tests.refusals.outcome import Outcome, outcome_of
from tests.services.github.github_bot import BRANCH, REPO, Bot

KEY = f"{REPO}#1"
_SETTLED = 1000.0
CASES = [(operation, answer) for answer, row in ANSWERS.items() for operation in row.becomes]
MUTATION_CASES = [(operation, answer) for answer in MUTATIONS for operation in MUTATED]
_MUTATIONS = {
    "label": "addLabels", "unlabel": "removeLabels", "react": "addReaction", "react inline": "addReaction",
    "react review": "addReaction",
}  # fmt: skip


@pytest.fixture
def bot(tmp_path):
    """The stand-in does not hold its answers against GitHub's schemas here: other tests do, and it takes long."""
    world = GitHubWorld(tmp_path / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    with served(world, validate=False) as github:
        bot = Bot(github, tmp_path)
        yield bot
        bot.close()


@pytest.mark.parametrize(("operation", "answer"), CASES)
async def test_each_answer_of_github_has_its_defined_outcome_and_no_double_effect(bot, operation, answer):
    run, path, action = await _prepared(bot, operation)
    if operation in (*BATCHED, "new label"):
        bot.github.faults.answer("POST *graphql", 404, times=1000)
    await _try(bot, operation, ANSWERS[answer], path, run, action)


@pytest.mark.parametrize(("operation", "answer"), MUTATION_CASES)
async def test_each_answer_to_a_mutation_has_its_defined_outcome_and_no_double_effect(bot, operation, answer):
    run, _, action = await _prepared(bot, operation)
    await _try(bot, operation, MUTATIONS[answer], f"POST *{_MUTATIONS[operation]}*", run, action)


async def _try(bot: Bot, operation: str, row: Answer, path: str, run, action: Action) -> None:
    before = _counts(bot)
    project, health = _project(bot), lambda: [why for ok, why in read_availability(bot.db).values() if not ok]
    bot.github.faults.add(path, **row.fault)
    outcome, words = await outcome_of(project, action, run, health)
    assert outcome is row.becomes[operation], words
    if outcome in {Outcome.ASKED, Outcome.NOTED, Outcome.PARKED}:
        assert row.says in words
    if outcome is Outcome.PARKED:
        assert row.says in health()[0]

    for _ in range(2):
        bot.world.advance(_SETTLED)
        outcome, words = await outcome_of(project, action, run, health)
    assert (outcome, health()) == (Outcome.DONE, []), words
    made = {what: now - before[what] for what, now in _counts(bot).items() if now != before[what]}
    assert made == _MADE.get(operation, {})
    _assert_done(bot, operation)


def _project(bot: Bot) -> Project:
    policy = Policy(max_working=1, max_working_per_project=1, base="main")
    return Project("shop", bot.tracker, bot.forge, cast(Any, None), policy, hand_over=cast(Any, None))


async def _prepared(bot: Bot, operation: str) -> tuple[Any, str, Action]:
    """Makes an issue with labels, comments of people and of ours, and a pull request with a remark."""
    bot.world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai", "ai:queued"])
    await bot.issue(1)
    run = a_run(KEY, ordinal=1)
    bot.world.push(REPO, BRANCH, {"new.py": "one\ntwo\n"}, by="treehand-bot")
    if operation != "open":
        await bot.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body="first")
        number = (await bot.pull())[0].number
        bot.world.review(REPO, number, by="ana", body="Not yet.", remarks=[("new.py", 1, "why?")])
    said = bot.world.comment(REPO, 1, "hello", by="ana")
    bot.world.make_label(REPO, "ai:working")
    await bot.tracker.ensure_comment(KEY, slug="1/progress", text="Before.")
    bot.world.advance(120)
    await bot.issue(1, 1)
    remark = review = ""
    if operation != "open":
        (reviewed,) = (await bot.pull())[1]
        remark, review = reviewed.remarks[0].id, reviewed.id
    if operation == "copy":
        await _repeat_our_comment(bot)
    issue, pull = CommentPlace.ISSUE, CommentPlace.PULL_REQUEST
    operations: dict[str, tuple[str, Action]] = {
        "comment": ("POST */issues/1/comments", PostComment(issue, "reply-1", "Done.")),
        "edit": ("PATCH */issues/comments/*", PostComment(issue, "progress", "Now this.")),
        "label": ("POST */issues/1/labels", ShowLabels(frozenset({"ai:working"}), frozenset())),
        "new label": ("POST */shop/labels", ShowLabels(frozenset({"ai:review"}), frozenset())),
        "unlabel": ("DELETE */labels/*", ShowLabels(frozenset(), frozenset({"ai:queued"}))),
        "react": ("POST */issues/comments/*/reactions", React(issue, f"issue-{said.id}", Reaction.SEEN)),
        "react inline": ("POST */pulls/comments/*/reactions", React(pull, remark, Reaction.SEEN)),
        "react review": ("", React(pull, review, Reaction.SEEN)),
        "copy": ("DELETE */issues/comments/*", PostComment(issue, "progress", "Now this.")),
        "answer": ("POST */issues/*/comments", PostComment(pull, "reply-1", "Done.")),
        "reply": ("POST */pulls/*/comments/*/replies", PostComment(pull, "reply-2", "Because.", thread=remark)),
        "open": ("POST */pulls", OfferPullRequest("Add a cart", "first")),
        "describe": ("PATCH */pulls/*", OfferPullRequest("Add a cart", "Something else")),
        "remove": ("DELETE */git/refs/*", RemoveBranch()),
    }
    return run, *operations[operation]


async def _repeat_our_comment(bot: Bot) -> None:
    """As two daemons do that know nothing of each other."""
    (ours,) = [one for one in bot.world.repository(REPO).comments.values() if "Before." in one.body]
    bot.world.comment(REPO, 1, ours.body, by="treehand-bot")
    bot.world.advance(120)
    await bot.issue(1, 1)


_MADE = {
    "comment": {"comments": 1}, "answer": {"comments": 1}, "reply": {"comments": 1}, "open": {"pulls": 1},
    "react": {"reactions": 1}, "react inline": {"reactions": 1}, "new label": {"labels": 1},
    "react review": {"reactions": 1}, "copy": {"comments": -1},
}  # fmt: skip


def _counts(bot: Bot) -> dict[str, int]:
    home = bot.world.repository(REPO)
    told = (*home.comments.values(), *home.inlines.values(), *home.reviews.values())
    return {
        "comments": len(home.comments) + len(home.inlines),
        "pulls": sum(bool(issue.pull) for issue in home.issues.values()),
        "reactions": sum(len(one.reactions) for one in told),
        "labels": len(home.labels),
    }


def _assert_done(bot: Bot, operation: str) -> None:
    home = bot.world.repository(REPO)
    labels = {one.name for one in home.issues[1].labels}
    bodies = " ".join(one.body for one in home.comments.values())
    pulls = " ".join(one.body for one in home.issues.values() if one.pull)
    done = {
        "edit": "Now this." in bodies,
        "copy": "Now this." in bodies,
        "label": "ai:working" in labels,
        "new label": "ai:review" in labels,
        "unlabel": "ai:queued" not in labels,
        "describe": "Something else" in pulls,
        "remove": bot.world.tip(REPO, BRANCH) is None,
    }
    assert done.get(operation, True)

"""Each of our writes to Linear has a defined outcome for each answer, and its effect is there once in the end."""

from typing import Any, cast

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.issue import IssueStage
from bot.domain.policy import Policy
from bot.domain.reaction import Reaction
from bot.engine.actions import Action, LinkPullRequest, MoveIssue, PostComment, React, ShowLabels
from bot.ports import Project
from bot.services.http.availability import read_availability
from tests.fakes.linear.fixtures import linear
from tests.fakes.runs import a_run
from tests.refusals.linear_table import ANSWERS
from tests.refusals.outcome import Outcome, outcome_of
from tests.services.linear.linear_bot import LinearBot, bot, labelled

__all__ = ["bot", "linear"]

KEY = "ENG-1"
_SETTLED = 1000.0
CASES = [(operation, answer) for answer, row in ANSWERS.items() for operation in row.becomes]


@pytest.mark.parametrize(("operation", "answer"), CASES)
async def test_each_answer_of_linear_has_its_defined_outcome_and_no_double_effect(bot, operation, answer):
    row = ANSWERS[answer]
    mutation, action = await _prepared(bot, operation)
    before, project = _counts(bot.world), _project(bot)

    def health():
        return [why for ok, why in read_availability(bot.db).values() if not ok]

    fault = bot.linear.faults.add(mutation, times=row.times, **row.fault)
    outcome, words = await outcome_of(project, action, a_run(KEY), health)
    assert outcome is row.becomes[operation], words
    if outcome in {Outcome.NOTED, Outcome.PARKED}:
        assert row.says in words
    if outcome is Outcome.PARKED:
        assert row.says in health()[0]

    fault.times = 0
    for _ in range(2):
        bot.world.advance(_SETTLED)
        await bot.issue(KEY, KEY)
        outcome, words = await outcome_of(project, action, a_run(KEY), health)
    assert (outcome, health()) == (Outcome.DONE, []), words
    made = {what: now - before[what] for what, now in _counts(bot.world).items() if now != before[what]}
    assert made == _MADE.get(operation, {})
    _assert_done(bot.world, operation)


def _project(bot: LinearBot) -> Project:
    policy, nothing = Policy(max_working=1, max_working_per_project=1, base="main"), cast(Any, None)
    return Project("shop", bot.tracker, nothing, nothing, policy, hand_over=nothing, issue_states=bot.tracker)


async def _prepared(bot: LinearBot, operation: str) -> tuple[str, Action]:
    """Makes an issue with a label, a comment of ours and one of another person."""
    labelled(bot.world, "ai:queued")
    bot.world.add_label("ai:working", team="ENG")
    await bot.issue(KEY)
    await bot.tracker.ensure_comment(KEY, slug="1/progress", text="Before.")
    said = bot.world.comment(KEY, "hello", by="ana")
    if operation == "copy":  # as two daemons make it that know nothing of each other
        (ours,) = [one for one in bot.world.comments(KEY) if "Before." in one.body]
        bot.world.comment(KEY, ours.body, by="treehand-bot")
    bot.world.advance(120)
    await bot.issue(KEY, KEY)
    issue = CommentPlace.ISSUE
    operations: dict[str, tuple[str, Action]] = {
        "comment": ("CreateComment", PostComment(issue, "reply-1", "Done.")),
        "edit": ("UpdateComment", PostComment(issue, "progress", "Now this.")),
        "copy": ("DeleteComment", PostComment(issue, "progress", "Now this.")),
        "answer": ("CreateComment", PostComment(issue, "reply-1", "Done.", thread=said)),
        "label": ("UpdateIssue", ShowLabels(frozenset({"ai:working"}), frozenset({"ai:queued"}))),
        "new label": ("CreateLabel", ShowLabels(frozenset({"ai:review"}), frozenset())),
        "react": ("CreateReaction", React(issue, said, Reaction.SEEN)),
        "move": ("UpdateIssue", MoveIssue(IssueStage.STARTED)),
        "link": ("CreateAttachment", LinkPullRequest("https://github.com/acme/shop/pull/7", "Add a cart")),
        "note": ("CreateAttachment", PostComment(issue, "progress", "Before.", note="remembered")),
    }
    return operations[operation]


_MADE = {
    "comment": {"comments": 1}, "answer": {"comments": 1}, "new label": {"labels": 1}, "react": {"reactions": 1},
    "link": {"attachments": 1}, "note": {"attachments": 1}, "copy": {"comments": -1},
}  # fmt: skip


def _counts(world) -> dict[str, int]:
    return {
        "comments": len(world.comments(KEY)),
        "attachments": len(world.attachments(KEY)),
        "reactions": len(world.all_reactions),
        "labels": len(world.all_labels),
    }


def _assert_done(world, operation: str) -> None:
    done = {
        "copy": all("Before." not in one.body for one in world.comments(KEY)),
        "edit": any(one.body.startswith("Now this.") for one in world.comments(KEY)),
        "label": world.labels(KEY) == {"ai", "ai:working"},
        "new label": "ai:review" in world.labels(KEY),
        "move": world.state(KEY) == "In Progress",
    }
    assert done.get(operation, True)

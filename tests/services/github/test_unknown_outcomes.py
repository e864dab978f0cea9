"""A write with an unknown outcome is done in the end, and once, for every way that it can fail (F3)."""

from collections.abc import Awaitable, Callable

import pytest

from bot.domain.reaction import Reaction
from bot.errors import Retryable
from tests.services.github.github_bot import BRANCH, REPO, Bot

KEY = f"{REPO}#1"
_TRIES = 4
_SETTLED = 70.0

Deed = Callable[[Bot], Awaitable[None]]


async def _say(bot: Bot) -> None:
    await bot.tracker.ensure_comment(KEY, slug="1/progress", text="Working.")


async def _rewrite(bot: Bot) -> None:
    await bot.tracker.ensure_comment(KEY, slug="1/before", text="Now this.")


async def _label(bot: Bot) -> None:
    await bot.tracker.ensure_labels(KEY, add=["ai:working"])


async def _unlabel(bot: Bot) -> None:
    await bot.tracker.ensure_labels(KEY, remove=["ai:queued"])


async def _react(bot: Bot) -> None:
    for comment in await bot.said(1) or ():
        await bot.tracker.ensure_reaction(KEY, comment.id, Reaction.SEEN)


async def _open(bot: Bot) -> None:
    await bot.forge.ensure_draft("treehand/new", base="main", title="Add a cart", body="first")


async def _describe(bot: Bot) -> None:
    await bot.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body="Something else")


async def _answer(bot: Bot) -> None:
    await bot.forge.ensure_comment(BRANCH, slug="1/reply", text="Done.")


async def _remove(bot: Bot) -> None:
    await bot.forge.remove_branch(BRANCH)


DEEDS: dict[str, tuple[str, Deed]] = {
    "say": ("POST *issues/1/comments", _say),
    "rewrite": ("PATCH *issues/comments/*", _rewrite),
    "label": ("POST *addLabels*", _label),
    "unlabel": ("POST *removeLabels*", _unlabel),
    "react": ("POST *addReaction*", _react),
    "open": ("POST *pulls", _open),
    "describe": ("PATCH *pulls/*", _describe),
    "answer": ("POST *issues/*/comments", _answer),
    "remove": ("DELETE *git/refs/*", _remove),
}
FAULTS: dict[str, dict[str, object]] = {
    "the answer was dropped": {"done": True, "cut": True},
    "an error after the effect": {"done": True, "status": 500},
    "the answer broke off": {"half": True},
    "an error before the effect": {"status": 502},
    "cut before the effect": {"cut": True},
}


@pytest.mark.parametrize("lag", [0.0, 20.0], ids=["at once", "lists lag"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("deed", DEEDS)
async def test_a_write_is_done_once_for_every_fault_of_its_response(bot: Bot, deed: str, fault: str, lag: float):
    path, do = DEEDS[deed]
    await _prepared(bot)
    before = _counts(bot)
    bot.world.lag = lag
    bot.github.faults.add(path, **FAULTS[fault])
    for _ in range(_TRIES):
        try:
            await do(bot)
        except Retryable:
            bot.world.advance(_SETTLED)
    await do(bot)
    made = {what: now - before[what] for what, now in _counts(bot).items()}
    assert made == {"comments": deed in {"say", "answer"}, "pulls": deed == "open", "reactions": deed == "react"}
    _assert_done(bot, deed)


async def _prepared(bot: Bot) -> None:
    """Makes an issue with a label, a comment of ours and one of another person, and a pull request."""
    bot.world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai", "ai:queued"])
    await bot.issue(1)
    await bot.tracker.ensure_comment(KEY, slug="1/before", text="Before.")
    await bot.offer()
    bot.world.push(REPO, "treehand/new", {"other.py": "1\n"}, by="treehand-bot")
    bot.world.comment(REPO, 1, "hello", by="ana")
    bot.world.advance(_SETTLED)
    await bot.issue(1, 1)
    await bot.pull()


def _counts(bot: Bot) -> dict[str, int]:
    home = bot.world.repository(REPO)
    reactions = sum(len(comment.reactions) for comment in home.comments.values())
    pulls = sum(bool(issue.pull) for issue in home.issues.values())
    return {"comments": len(home.comments), "pulls": pulls, "reactions": reactions}


def _assert_done(bot: Bot, deed: str) -> None:
    home = bot.world.repository(REPO)
    issue = home.issues[1]
    labels, bodies = {one.name for one in issue.labels}, " ".join(one.body for one in home.comments.values())
    pull = next(one for one in home.issues.values() if one.pull and one.pull.head_ref == BRANCH)
    done = {
        "rewrite": "Now this." in bodies,
        "label": "ai:working" in labels,
        "unlabel": "ai:queued" not in labels,
        "describe": "Something else" in pull.body,
        "remove": bot.world.tip(REPO, BRANCH) is None,
    }
    assert done.get(deed, True)

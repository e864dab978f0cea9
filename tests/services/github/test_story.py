"""A story on one repository from the label to the merge, through tracker and forge."""

from bot.domain.comment import CommentPlace
from bot.domain.pull_request import PullRequestState
from bot.domain.reaction import Reaction
from tests.services.github.github_bot import BRANCH, REPO


async def test_from_a_label_to_a_merge(bot):
    world = bot.world
    issue = world.open_issue(REPO, "Add a cart", "Please.", by="ana")
    world.label(REPO, issue.number, "ai", by="ana")

    view = await bot.tracker.snapshot([])
    (key,) = view.issues
    assert key == f"{REPO}#{issue.number}"
    assert (view.issues[key].title, view.issues[key].body, view.issues[key].open) == ("Add a cart", "Please.", True)
    assert (view.issues[key].requester.name, view.issues[key].requester.trusted) == ("ana", True)
    assert view.issues[key].request

    await bot.tracker.ensure_labels(key, add=["ai:working"])
    await bot.tracker.ensure_comment(key, slug="1/progress", text="Working.")
    world.comment(REPO, issue.number, "use OAuth", by="ana")
    view = await bot.tracker.snapshot([key])
    (said,) = view.comments[key]
    assert (said.text, said.place, said.author.trusted) == ("use OAuth", CommentPlace.ISSUE, True)
    assert view.issues[key].labels == {"ai", "ai:working"}

    await bot.tracker.ensure_reaction(key, said.id, Reaction.SEEN)
    number = await bot.offer()
    pull, _ = await bot.pull()
    assert (pull.state, pull.draft) == (PullRequestState.OPEN, True)
    world.review(REPO, number, by="ana", state="CHANGES_REQUESTED", body="Not yet.", remarks=[("new.py", 2, "why?")])
    _, (review,) = await bot.pull()
    assert review.review
    assert [remark.text for remark in review.remarks] == ["why?"]

    await bot.forge.ensure_comment(BRANCH, slug="1/answer", text="Because.", thread=review.remarks[0].id)
    world.merge(REPO, number, "squash", by="ana")
    pull, said = await bot.pull()
    assert pull.state is PullRequestState.MERGED
    assert said == (review,)
    await bot.forge.remove_branch(BRANCH)
    assert (await bot.forge.snapshot([BRANCH])).branches == frozenset()

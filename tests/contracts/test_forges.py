"""Every forge fulfils the contract. The fake is tested like the real one."""

import pytest

from bot.domain.comment import CommentPlace, Remark
from bot.domain.pull_request import PullRequestState
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman, Retryable
from bot.services.local.forge import LocalForge
from bot.services.local.server import LocalServer, LocalSite
from tests.fakes.github.fixtures import github
from tests.fakes.ports import FakeForge
from tests.fakes.world import World
from tests.services.github.github_bot import REPO, Bot
from tests.services.local.user_repository import make_repository, offer

__all__ = ["github"]

BRANCH = "treehand/shop-1"


class Imaginary:
    def __init__(self, tmp_path, request):
        self.world, self.to_close = World(), []
        self.forge = FakeForge(self.world)

    def push(self, branch=BRANCH, text="one"):
        commits = self.world.branches.setdefault(branch, [])
        commits.append(f"{text}-{branch}")
        self.world.projects[branch] = "shop"
        return commits[-1]

    def comment(self, text, remarks=()):
        return self.world.comment_on_pull(BRANCH, text, remarks=remarks)

    def write_in_body(self, text):
        self.world.write_in_body(BRANCH, text)

    def merge(self):
        self.world.merge(BRANCH)

    def close(self):
        self.world.close_pull(BRANCH)

    def ours(self):
        return self.world.comments_of(BRANCH)


class OnLocalForge:
    def __init__(self, tmp_path, request):
        sites = {"shop": LocalSite(make_repository(tmp_path / "shop"))}
        self.to_close = [LocalServer(tmp_path, sites, lambda: 1000.0) for _ in range(2)]
        self.people, ours = self.to_close
        self.forge = LocalForge(ours, "shop")
        self.pulls = self.people.pull_requests("shop")
        self.pulls.repository.fetch()
        self.scratch = tmp_path / "scratch"

    def push(self, branch=BRANCH, text="one"):
        return offer(self.pulls.repository.bare, branch, {"new.py": f"{text}\n"}, scratch=self.scratch)

    def comment(self, text, remarks=()):
        if remarks:
            return self.pulls.review(self._number(), text, by="ana", remarks=remarks)
        return self.pulls.comment(self._number(), text, by="ana")

    def write_in_body(self, text):
        body = self.pulls.show(self._number()).pull.body
        self.pulls.edit(self._number(), f"{body}\n\n{text}", by="ana")

    def merge(self):
        self.people.merger("shop").merge(self._number(), by="ana")

    def close(self):
        self.pulls.close(self._number(), by="ana")

    def ours(self):
        return [said.text for said in self.pulls.show(self._number()).comments if said.ours]

    def _number(self):
        return max(shown.pull.number for shown in self.pulls.list_pull_requests(closed=True))


class Hosted:
    def __init__(self, tmp_path, request):
        self.bot = Bot(request.getfixturevalue("github"), tmp_path)
        self.world, self.forge, self.to_close = self.bot.world, self.bot.forge, [self.bot]

    def push(self, branch=BRANCH, text="one"):
        return self.world.push(REPO, branch, {"new.py": f"{text}\n"}, by="treehand-bot")

    def comment(self, text, remarks=()):
        if remarks:
            said = [(remark.path, remark.line, remark.text) for remark in remarks]
            return f"review-{self.world.review(REPO, self._number(), by='ana', body=text, remarks=said).id}"
        return f"issue-{self.world.comment_on_pull(REPO, self._number(), text, by='ana').id}"

    def write_in_body(self, text):
        body = self.world.pull(REPO, self._number()).body
        self.world.edit_issue(REPO, self._number(), body=f"{body}\n\n{text}", by="ana")

    def merge(self):
        self.world.merge(REPO, self._number(), by="ana")

    def close(self):
        self.world.close(REPO, self._number(), by="ana")

    def ours(self):
        comments = self.world.repository(REPO).comments.values()
        return [one.body.partition("\n\n<!--")[0] for one in comments if one.author.login == "treehand-bot"]

    def _number(self):
        return max(number for number, issue in self.world.repository(REPO).issues.items() if issue.pull)


@pytest.fixture(params=[Imaginary, OnLocalForge, Hosted])
def given(request, tmp_path):
    given = request.param(tmp_path, request)
    yield given
    for one in given.to_close:
        one.close()


async def offered(given, body="Closes shop#1"):
    head = given.push()
    await given.forge.ensure_draft(BRANCH, base="main", title="Add a cart", body=body)
    return head


async def look(given):
    view = await given.forge.snapshot([BRANCH])
    return view.pulls.get(BRANCH), view.comments.get(BRANCH, ())


async def test_a_pushed_branch_is_seen_without_a_pull_request(given):
    given.push()
    view = await given.forge.snapshot([BRANCH, "treehand/nothing"])
    assert view.branches == {BRANCH}
    assert view.pulls == {}


async def test_a_pull_request_is_opened_as_a_draft(given):
    head = await offered(given)
    pull, said = await look(given)
    assert (pull.branch, pull.title, pull.state, pull.draft) == (BRANCH, "Add a cart", PullRequestState.OPEN, True)
    assert pull.head == head
    assert "Closes shop#1" in pull.body
    assert said == ()


async def test_a_second_offer_changes_only_the_body(given):
    await offered(given)
    first, _ = await look(given)
    await given.forge.ensure_draft(BRANCH, base="main", title="Another title", body="Closes shop#1, better")
    second, _ = await look(given)
    assert second.number == first.number
    assert second.title == first.title
    assert "Closes shop#1, better" in second.body


async def test_text_of_people_around_our_part_of_the_body_stays(given):
    await offered(given, "first")
    given.write_in_body("Mind the tax rules.")
    await given.forge.ensure_draft(BRANCH, base="main", title="", body="second")
    pull, _ = await look(given)
    assert "Mind the tax rules." in pull.body
    assert "second" in pull.body
    assert "first" not in pull.body


async def test_a_missing_branch_cannot_be_offered(given):
    with pytest.raises(NeedsHuman, match="treehand/nothing"):
        await given.forge.ensure_draft("treehand/nothing", base="main", title="Add a cart", body="")


async def test_the_head_is_the_branchs_newest_commit(given):
    first = await offered(given)
    second = given.push(text="two")
    pull, _ = await look(given)
    assert pull.head == second != first


async def test_comments_and_reviews_of_people_are_returned_without_our_own(given):
    await offered(given)
    await given.forge.ensure_comment(BRANCH, slug="reply", text="I did.")
    first = given.comment("rename it")
    second = given.comment("see below", [Remark("new.py", 1, "why?")])

    _, said = await look(given)

    assert [(comment.id, comment.text) for comment in said] == [(first, "rename it"), (second, "see below")]
    assert {comment.place for comment in said} == {CommentPlace.PULL_REQUEST}
    assert [(remark.path, remark.line, remark.text) for remark in said[1].remarks] == [("new.py", 1, "why?")]


async def test_our_comment_is_rewritten_instead_of_repeated(given):
    await offered(given)
    for text in ("Working.", "Done.", "Done."):
        await given.forge.ensure_comment(BRANCH, slug="reply", text=text)
    assert given.ours() == ["Done."]


async def test_our_reactions_show_on_the_comment(given):
    await offered(given)
    comment = given.comment("rename it")
    for reaction in (Reaction.SEEN, Reaction.SEEN, Reaction.DONE):
        await given.forge.ensure_reaction(BRANCH, comment, reaction)
    _, (said,) = await look(given)
    assert said.reactions == {Reaction.SEEN, Reaction.DONE}


async def test_a_merge_is_seen(given):
    await offered(given)
    given.merge()
    pull, _ = await look(given)
    assert pull.state is PullRequestState.MERGED


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("end", ["close", "merge"])
async def test_a_branch_gets_one_pull_request_even_if_it_was_closed_since_the_last_poll(given, end, seen):
    await offered(given)
    getattr(given, end)()
    if seen:
        first, _ = await look(given)
        assert first.state is not PullRequestState.OPEN

    with pytest.raises(Retryable):
        await given.forge.ensure_draft(BRANCH, base="main", title="Again", body="")
    pull, _ = await look(given)
    assert pull.state is not PullRequestState.OPEN
    assert pull.title != "Again"


async def test_removing_the_branch_closes_its_open_pull_request(given):
    head = await offered(given)
    for _ in range(2):
        await given.forge.remove_branch(BRANCH)
    view = await given.forge.snapshot([BRANCH])
    assert view.branches == frozenset()
    assert view.pulls[BRANCH].state is PullRequestState.CLOSED
    assert view.pulls[BRANCH].head == head


async def test_a_merged_pull_request_stays_merged_without_its_branch(given):
    head = await offered(given)
    given.merge()
    await given.forge.remove_branch(BRANCH)
    pull, _ = await look(given)
    assert (pull.state, pull.head) == (PullRequestState.MERGED, head)


async def test_the_remote_can_be_fetched(given):
    assert (await given.forge.remote()).url

"""Every tracker fulfils the contract. The fake is tested like the real one."""

import inspect

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.services.local.server import LocalServer, LocalSite
from bot.services.local.tracker import LocalTracker
from tests.extending.toy_tracker import ToyTracker, new_comment
from tests.fakes.github.fixtures import github
from tests.fakes.linear.fixtures import linear
from tests.fakes.ports import FakeTracker
from tests.fakes.world import World
from tests.services.github.github_bot import REPO, Bot
from tests.services.linear.linear_bot import LinearBot

__all__ = ["github", "linear"]


class Imaginary:
    can_tell = knows_priority = True
    missing = "shop#77"

    def __init__(self, tmp_path, request):
        self.world, self.to_close = World(), []
        self.tracker = FakeTracker(self.world)

    def open_issue(self, title="Fix it", *labels, **more):
        key = f"shop#{len(self.world.issues) + 1}"
        self.world.open_issue(key, *labels, title=title, **more)
        return key

    def label(self, key, name, by="ana"):
        self.world.label(key, name, by=by)

    def unlabel(self, key, name):
        self.world.unlabel(key, name)

    def close(self, key):
        self.world.close_issue(key)

    def comment(self, key, text):
        return self.world.comment(key, text)

    def ours(self, key):
        return self.world.comments_of(key)

    def labels(self, key):
        return self.world.labels(key)

    def forget(self):
        self.tracker = FakeTracker(self.world)


class OnLocalTracker:
    can_tell = knows_priority = True
    missing = "shop#77"

    def __init__(self, tmp_path, request):
        sites = {"shop": LocalSite(None), "blog": LocalSite(None)}
        self.to_close = [LocalServer(tmp_path, sites, lambda: 1000.0) for _ in range(2)]
        peoples, ours = self.to_close
        self.people = peoples.issues("shop")
        self.tracker = LocalTracker(ours, "shop", "ai")

    def open_issue(self, title="Fix it", *labels, **more):
        return self.people.open(title, labels=labels, by="ana", **more).key

    def label(self, key, name, by="ana"):
        self.people.label(_number(key), name, by=by)

    def unlabel(self, key, name):
        self.people.unlabel(_number(key), name, by="ana")

    def close(self, key):
        self.people.close(_number(key), by="ana")

    def comment(self, key, text):
        return self.people.comment(_number(key), text, by="ana")

    def ours(self, key):
        return [said.text for said in self.people.show(_number(key)).comments if said.ours]

    def labels(self, key):
        return self.people.show(_number(key)).issue.labels

    def forget(self):
        self.tracker = LocalTracker(self.to_close[1], "shop", "ai")


class Hosted:
    can_tell = knows_priority = False
    missing = "shop#77"

    def __init__(self, tmp_path, request):
        self.github, self.folder = request.getfixturevalue("github"), tmp_path
        self.bot = Bot(self.github, tmp_path)
        self.world, self.tracker, self.to_close = self.bot.world, self.bot.tracker, [self.bot]

    def open_issue(self, title="Fix it", *labels, body="", **more):
        number = self.world.open_issue(REPO, title, body, by="ana", labels=labels).number
        return f"{REPO}#{number}"

    def label(self, key, name, by="ana"):
        self.world.set_permission(REPO, by, "write")
        self.world.label(REPO, _number(key), name, by=by)

    def unlabel(self, key, name):
        self.world.unlabel(REPO, _number(key), name)

    def close(self, key):
        self.world.close(REPO, _number(key))

    def comment(self, key, text):
        return f"issue-{self.world.comment(REPO, _number(key), text, by='ana').id}"

    def ours(self, key):
        comments = self.world.repository(REPO).comments.values()
        ours = [one for one in comments if one.number == _number(key) and one.author.login == "treehand-bot"]
        return [comment.body.partition("\n\n<!--")[0] for comment in ours]

    def labels(self, key):
        return {label.name for label in self.world.issue(REPO, _number(key)).labels}

    def forget(self):
        self.to_close.append(Bot(self.github, self.folder / "anew"))
        self.tracker = self.to_close[-1].tracker


class Linear:
    can_tell, knows_priority = False, True
    missing = "ENG-77"

    def __init__(self, tmp_path, request):
        self.linear, self.folder = request.getfixturevalue("linear"), tmp_path
        bot = LinearBot(self.linear, tmp_path)
        self.world, self.tracker, self.to_close = bot.world, bot.tracker, [bot]

    def open_issue(self, title="Fix it", *labels, body="", **more):
        return self.world.open_issue("ENG", title, body, by="ana", labels=labels, **more).identifier

    def label(self, key, name, by="ana"):
        self.world.label(key, name, by=by)

    def unlabel(self, key, name):
        self.world.unlabel(key, name, by="ana")

    def close(self, key):
        self.world.move(key, "Done", by="ana")

    def comment(self, key, text):
        return self.world.comment(key, text, by="ana")

    def ours(self, key):
        return [one.body.partition("\n\n[Treehand]")[0] for one in self.world.comments(key, by="treehand-bot")]

    def labels(self, key):
        return self.world.labels(key)

    def forget(self):
        self.to_close.append(LinearBot(self.linear, self.folder / "anew"))
        self.tracker = self.to_close[-1].tracker


class Toy:
    can_tell, knows_priority = False, True
    missing = "shop#77"

    def __init__(self, tmp_path, request):
        self.folder, self.to_close = tmp_path / "toy", []
        self.forget()

    def open_issue(self, title="Fix it", *labels, body="", priority=0):
        number = len(list(self.folder.glob("*.json"))) + 1
        row = {"title": title, "body": body, "labels": dict.fromkeys(labels, "ana"), "open": True, "comments": []}
        self.tracker.write(f"shop#{number}", row | {"priority": priority})
        return f"shop#{number}"

    def label(self, key, name, by="ana"):
        row = self.tracker.read(key)
        self.tracker.write(key, row | {"labels": row["labels"] | {name: by}})

    def unlabel(self, key, name):
        row = self.tracker.read(key)
        self.tracker.write(key, row | {"labels": {one: by for one, by in row["labels"].items() if one != name}})

    def close(self, key):
        self.tracker.write(key, self.tracker.read(key) | {"open": False})

    def comment(self, key, text):
        row = self.tracker.read(key)
        row["comments"].append(said := new_comment(row, author="ana", text=text))
        self.tracker.write(key, row)
        return said["id"]

    def ours(self, key):
        return [one["text"] for one in self.tracker.read(key)["comments"] if one["slug"]]

    def labels(self, key):
        return set(self.tracker.read(key)["labels"])

    def forget(self):
        self.tracker = ToyTracker(self.folder, "shop", "ai")


def _number(key):
    return int(key.rpartition("#")[2])


@pytest.fixture(params=[Imaginary, OnLocalTracker, Hosted, Linear, Toy])
async def given(request, tmp_path):
    given = request.param(tmp_path, request)
    yield given
    for one in given.to_close:
        if inspect.isawaitable(closing := one.close()):
            await closing


async def test_open_issues_with_the_label_are_seen(given):
    wanted = given.open_issue("Add a cart", "ai", "ai:now", body="Please.", priority=2)
    given.open_issue("Not for the bot")

    view = await given.tracker.snapshot([])

    assert list(view.issues) == [wanted]
    issue = view.issues[wanted]
    assert (issue.title, issue.body, issue.open) == ("Add a cart", "Please.", True)
    assert issue.priority == (2 if given.knows_priority else 0)
    assert issue.labels == {"ai", "ai:now"}
    assert issue.created_at > 0


async def test_a_requested_issue_is_returned_even_if_it_is_closed_or_unlabelled(given):
    closed, unlabelled = given.open_issue("Fix it", "ai"), given.open_issue("Fix that", "ai")
    given.close(closed)
    given.unlabel(unlabelled, "ai")

    assert set((await given.tracker.snapshot([])).issues) == set()
    view = await given.tracker.snapshot([closed, unlabelled, "shop#99", "elsewhere#1"])
    assert set(view.issues) == {closed, unlabelled}
    assert not view.issues[closed].open
    assert view.issues[unlabelled].labels == frozenset()


async def test_the_requester_is_the_person_who_applied_the_label(given):
    key = given.open_issue()
    given.label(key, "ai", by="bob")

    issue = (await given.tracker.snapshot([])).issues[key]

    assert issue.requester.name == "bob"
    assert issue.requester.trusted


async def test_comments_come_oldest_first_and_only_from_people(given):
    key = given.open_issue("Fix it", "ai")
    first = given.comment(key, "use OAuth")
    await given.tracker.ensure_comment(key, slug="progress", text="Working.")
    second = given.comment(key, "and tests 🙂")

    said = (await given.tracker.snapshot([])).comments[key]

    assert [(comment.id, comment.text) for comment in said] == [(first, "use OAuth"), (second, "and tests 🙂")]
    assert {comment.place for comment in said} == {CommentPlace.ISSUE}
    assert {(comment.author.name, comment.author.trusted) for comment in said} == {("ana", True)}
    assert (await given.tracker.snapshot([])).comments == {key: said}


async def test_the_author_of_a_comment_carries_push_permission(given):
    key = given.open_issue("Fix it", "ai")
    given.comment(key, "use OAuth")
    (said,) = (await given.tracker.snapshot([])).comments[key]
    assert said.author.may_push


async def test_our_comment_is_rewritten_instead_of_repeated(given):
    key = given.open_issue("Fix it", "ai")
    for text in ("Working.", "Working.", "Done."):
        await given.tracker.ensure_comment(key, slug="progress", text=text)
    await given.tracker.ensure_comment(key, slug="reply-1", text="I did.")

    assert given.ours(key) == ["Done.", "I did."]


async def test_notes_are_invisible_and_can_be_read_oldest_first_by_a_new_process(given):
    key, other = given.open_issue("Fix it", "ai"), given.open_issue("Fix that", "ai")
    await given.tracker.snapshot([])
    await given.tracker.ensure_comment(key, slug="1/progress", text="done", note='{"run": 1}')
    await given.tracker.ensure_comment(key, slug="2/progress", text="queued", note='{"run": 2}')
    await given.tracker.ensure_comment(key, slug="2/reply", text="as you wish")
    await given.tracker.ensure_comment(key, slug="2/progress", text="working", note='{"run": 2, "turn": 1}')
    given.comment(key, 'Is this a note? {"run": 3}')
    assert given.ours(key) == ["done", "working", "as you wish"]
    given.forget()
    await given.tracker.snapshot([])
    assert list(await given.tracker.read_run_notes(key)) == ['{"run": 1}', '{"run": 2, "turn": 1}']
    assert list(await given.tracker.read_run_notes(other)) == []
    await given.tracker.ensure_comment(key, slug="2/progress", text="in review", note='{"run": 2, "turn": 2}')
    assert given.ours(key) == ["done", "in review", "as you wish"]


async def test_ended_issues_that_still_have_our_labels_are_found(given):
    closed, tidied, asking, unlabelled, strange = (given.open_issue("Fix it", "ai", "ai:review") for _ in range(5))
    given.close(closed)
    given.close(tidied)
    for key in (tidied, unlabelled, strange):
        given.unlabel(key, "ai")
    given.unlabel(strange, "ai:review")
    await given.tracker.snapshot([])
    assert sorted(await given.tracker.find_orphaned(["ai:queued", "ai:review"])) == [closed, unlabelled]
    assert asking


async def test_labels_are_added_and_removed_idempotently(given):
    key = given.open_issue("Fix it", "ai", "theirs")
    for _ in range(2):
        await given.tracker.ensure_labels(key, add=["ai:working"], remove=["ai:queued"])
    assert given.labels(key) == {"ai", "theirs", "ai:working"}

    for _ in range(2):
        await given.tracker.ensure_labels(key, remove=["ai", "ai:working"])
    assert given.labels(key) == {"theirs"}


async def test_our_reactions_show_on_the_comment(given):
    key = given.open_issue("Fix it", "ai")
    comment = given.comment(key, "use OAuth")
    for reaction in (Reaction.SEEN, Reaction.SEEN, Reaction.DONE):
        await given.tracker.ensure_reaction(key, comment, reaction)

    (said,) = (await given.tracker.snapshot([])).comments[key]
    assert said.reactions == {Reaction.SEEN, Reaction.DONE}


async def test_changed_reports_whether_people_changed_anything_since_the_last_snapshot(given):
    if not given.can_tell:
        assert not await given.tracker.changed()
        return
    assert await given.tracker.changed()
    key = given.open_issue("Fix it", "ai")
    await given.tracker.snapshot([])
    assert not await given.tracker.changed()

    await given.tracker.ensure_comment(key, slug="progress", text="Working.")
    assert not await given.tracker.changed()  # our own writing is no news

    given.comment(key, "use OAuth")
    assert await given.tracker.changed()
    assert await given.tracker.changed()  # until somebody looks
    await given.tracker.snapshot([])
    assert not await given.tracker.changed()


async def test_a_write_to_a_missing_issue_raises_needs_human(given):
    with pytest.raises(NeedsHuman, match=given.missing):
        await given.tracker.ensure_comment(given.missing, slug="progress", text="Working.")
    with pytest.raises(NeedsHuman, match=given.missing):
        await given.tracker.ensure_labels(given.missing, add=["ai"])

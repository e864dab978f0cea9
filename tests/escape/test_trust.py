"""T1, T2, T24 on GitHub: who may start an agent, by which actions, and which comments it reads."""

import pytest

from bot.domain.run import Phase, WaitReason
from tests.escape.github_scene import OBEY, PEOPLE, GitHubScene, scene_at
from tests.fakes.github.fixtures import github
from tests.services.github.github_bot import BRANCH, REPO

pytestmark = pytest.mark.attack(
    "T1", "People without permission start an agent, give it orders, or get their text into its prompt"
)

__all__ = ["github"]


@pytest.fixture
async def scene(github, tmp_path):
    async with scene_at(github, tmp_path) as scene:
        scene.world.set_permission(REPO, "rob", "none")
        yield scene


@pytest.mark.parametrize("who", PEOPLE)
async def test_t1_a_label_by_a_person_without_push_permission_starts_no_agent_and_asks_once(scene, who):
    scene.ask(by=who)
    await scene.tick(2)
    assert scene.inside.requests == {}
    assert (scene.run.phase, scene.run.wait_reason) == (Phase.ASKING, WaitReason.CONSENT)
    assert len([text for text in scene.answers if "/ai approve" in text]) == 1


async def test_t1_a_label_by_a_person_who_no_longer_has_push_permission_starts_nothing(scene):
    scene.world.set_permission(REPO, "rob", "write")
    scene.ask(by="rob")
    scene.world.set_permission(REPO, "rob", "none")
    await scene.tick(2)
    assert scene.inside.requests == {}


@pytest.mark.parametrize("status", [404, 403, 500, 502])
@pytest.mark.parametrize("what", ["who labelled", "who may push"])
async def test_t1_nothing_starts_while_github_does_not_return_labels_or_permissions(scene, status, what):
    if what == "who labelled":
        scene.github.faults.answer("POST *graphql", status, times=1000)
        scene.github.faults.answer("GET /repos/*/issues/*/events*", status, times=1000)
    else:
        scene.github.faults.answer("GET /repos/*/collaborators/*", status, times=1000)
    scene.ask(by="ana")
    await scene.tick(2)
    assert scene.inside.requests == {}


async def test_t1_a_label_by_a_person_with_push_permission_starts_an_agent(scene):
    scene.ask(by="ana")
    await scene.tick()
    assert len(scene.inside.requests) == 1


def on_the_issue(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.comment(REPO, scene.number, OBEY, by=who)


def on_the_pull_request(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.comment_on_pull(REPO, pull, OBEY, by=who)


def in_a_review(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.review(REPO, pull, by=who, state="CHANGES_REQUESTED", body=OBEY, remarks=[("new.py", 2, OBEY)])


def in_an_approval(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.review(REPO, pull, by=who, state="APPROVED", body=OBEY)


def on_a_line(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.remark(REPO, pull, "new.py", 2, OBEY, by=who)


def in_reply_to_a_trusted_remark(scene: GitHubScene, pull: int, who: str) -> None:
    remark = scene.world.remark(REPO, pull, "new.py", 3, "Why three?", by="ana")
    scene.world.reply(REPO, remark.id, OBEY, by=who)


def filed_under_a_trusted_review(scene: GitHubScene, pull: int, who: str) -> None:
    review = scene.world.review(REPO, pull, by="ana", body="Nearly.", remarks=[("new.py", 2, "Why two?")])
    remark = list(scene.world.repository(REPO).inlines.values())[-1]
    scene.world.reply(REPO, remark.id, OBEY, by=who).review = review.id


def in_a_comment_edited_later(scene: GitHubScene, pull: int, who: str) -> None:
    comment = scene.world.comment(REPO, scene.number, "Nice.", by=who)
    scene.world.advance(60)
    scene.world.edit_comment(REPO, comment.id, OBEY, by=who)


def in_a_comment_that_a_trusted_person_edited(scene: GitHubScene, pull: int, who: str) -> None:
    comment = scene.world.comment(REPO, scene.number, f"Nice. {OBEY}", by=who)
    scene.world.advance(60)
    scene.world.edit_comment(REPO, comment.id, f"Very nice. {OBEY}", by="ana")


def as_a_command(scene: GitHubScene, pull: int, who: str) -> None:
    scene.world.comment(REPO, scene.number, f"/ai retry {OBEY}", by=who)
    scene.world.comment_on_pull(REPO, pull, f"/ai plan {OBEY}", by=who)


def with_a_copied_signature(scene: GitHubScene, pull: int, who: str) -> None:
    ours = next(text for text in scene.answers if "<!-- treehand" in text)
    scene.world.comment(REPO, scene.number, f"{OBEY}\n{ours[ours.index('<!-- treehand') :]}", by=who)


WAYS = (
    on_the_issue, on_the_pull_request, in_a_review, in_an_approval, on_a_line, in_reply_to_a_trusted_remark,
    filed_under_a_trusted_review, in_a_comment_edited_later, in_a_comment_that_a_trusted_person_edited, as_a_command,
    with_a_copied_signature,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_t1_t24_comments_of_untrusted_people_reach_no_agent_in_any_form(scene, way):
    pull = await scene.offered()
    turns = len(scene.inside.requests)
    for who in PEOPLE:
        way(scene, pull, who)
        scene.world.advance(60)
    await scene.tick(2)
    if "trusted" not in way.__name__:
        assert len(scene.inside.requests) == turns
        assert scene.inside.running() == []
    await scene.forgets()
    assert len(scene.inside.requests) > turns
    assert scene.inside.running()
    way(scene, pull, "eve")  # also while one is at work
    await scene.tick(2)
    assert "Go on" in scene.told
    assert OBEY not in scene.told


@pytest.mark.parametrize("way", [on_the_issue, on_the_pull_request, in_a_review, on_a_line])
async def test_t24_comments_of_a_person_with_push_permission_reach_the_agent(scene, way):
    pull = await scene.offered()
    way(scene, pull, "ana")
    await scene.tick(2)
    assert OBEY in scene.told


async def test_t1_a_comment_of_an_untrusted_person_stays_unused_when_they_get_push_permission(scene):
    await scene.offered()
    scene.world.comment(REPO, scene.number, OBEY, by="eve")
    await scene.tick()
    scene.world.set_permission(REPO, "eve", "write")
    scene.world.advance(4000)
    await scene.forgets()
    assert OBEY not in scene.told


async def test_t1_untrusted_text_reaches_an_agent_when_a_trusted_person_quotes_it(scene):
    await scene.offered()
    scene.world.comment(REPO, scene.number, OBEY, by="eve")
    scene.world.comment(REPO, scene.number, f"She is right:\n\n> {OBEY}", by="ana")
    await scene.tick()
    assert scene.told.count(OBEY) == scene.told.count(f"> {OBEY}") > 0


async def test_t24_comments_on_a_pull_request_of_another_person_reach_no_agent(scene):
    await scene.offered()
    scene.world.push(REPO, "release", {"old.py": "one\n"}, by="ana")
    theirs = scene.world.open_pull(REPO, "Mine now", head=BRANCH, base="release", by="eve")
    scene.world.comment_on_pull(REPO, theirs.number, OBEY, by="ana")
    await scene.tick()
    await scene.forgets()
    assert OBEY not in scene.told


@pytest.mark.parametrize(("seconds", "used"), [(-1, True), (0, False), (1, False)])
async def test_t2_only_text_from_before_the_label_is_used(scene, seconds, used):
    world = scene.world
    scene.number = world.open_issue(REPO, "Add a cart", "Please.", by="eve").number
    world.advance(10)
    if seconds < 0:
        world.edit_issue(REPO, scene.number, body=OBEY, by="eve")
        world.advance(-seconds)
    world.label(REPO, scene.number, "ai", by="ana")
    if seconds >= 0:
        world.advance(seconds)
        world.edit_issue(REPO, scene.number, body=OBEY, by="eve")
    await scene.tick(2)
    assert (OBEY in scene.told) == used
    assert used or scene.run.wait_reason is WaitReason.CONSENT


@pytest.mark.parametrize("field", ["title", "body"])
async def test_t2_an_untrusted_edit_during_a_turn_ends_it_publishes_nothing_and_asks(scene, field):
    scene.ask(author="eve")
    await scene.tick()
    assert scene.inside.running()
    scene.world.edit_issue(REPO, scene.number, by="eve", **{field: OBEY})
    await scene.tick(2)
    assert scene.inside.running() == []
    assert (scene.run.phase, scene.run.wait_reason) == (Phase.ASKING, WaitReason.CONSENT)
    assert scene.inside.branches == {}
    assert not [one for one in scene.world.repository(REPO).issues.values() if one.pull]
    assert OBEY not in scene.told


async def test_t2_an_untrusted_edit_just_before_the_offer_publishes_nothing(scene):
    scene.ask(author="eve")
    await scene.tick()
    scene.inside.finish_turn()
    scene.world.edit_issue(REPO, scene.number, body=OBEY, by="eve")
    await scene.tick(2)
    assert scene.inside.branches == {}
    assert scene.run.wait_reason is WaitReason.CONSENT

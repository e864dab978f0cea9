"""T1, T2: on GitHub, people who lost their permission and edits by people who never had it."""

from collections.abc import Callable

import pytest

from bot.domain.run import Phase, WaitReason
from tests.escape.github_scene import OBEY, GitHubScene, scene_at
from tests.fakes.github.fixtures import github
from tests.services.github.github_bot import BRANCH, REPO

__all__ = ["github"]


@pytest.fixture
async def scene(github, tmp_path):
    async with scene_at(github, tmp_path) as scene:
        scene.world.set_permission(REPO, "bob", "write")
        yield scene


def removed(scene: GitHubScene) -> None:
    scene.world.set_permission(REPO, "bob", "none")


def demoted_to_triage(scene: GitHubScene) -> None:
    scene.world.set_permission(REPO, "bob", "triage")


def demoted_to_read(scene: GitHubScene) -> None:
    scene.world.set_permission(REPO, "bob", "read")


def deleted(scene: GitHubScene) -> None:
    scene.world.delete_account("bob")


LOSSES = (removed, demoted_to_triage, demoted_to_read, deleted)


async def known_to_us(scene: GitHubScene) -> None:
    """GitHub has just confirmed the permission of bob."""
    scene.world.comment(REPO, scene.number, "/ai status", by="bob")
    await scene.tick()


async def not_known_to_us(scene: GitHubScene) -> None:
    """The permission of bob has not been read yet."""


def in_a_comment(scene: GitHubScene, pull: int) -> None:
    scene.world.comment(REPO, scene.number, OBEY, by="bob")


def on_the_pull_request(scene: GitHubScene, pull: int) -> None:
    scene.world.comment_on_pull(REPO, pull, OBEY, by="bob")


def in_a_review(scene: GitHubScene, pull: int) -> None:
    scene.world.review(REPO, pull, by="bob", state="CHANGES_REQUESTED", body=OBEY, remarks=[("new.py", 2, OBEY)])


def on_a_line(scene: GitHubScene, pull: int) -> None:
    scene.world.remark(REPO, pull, "new.py", 2, OBEY, by="bob")


def beside_a_command(scene: GitHubScene, pull: int) -> None:
    scene.world.comment(REPO, scene.number, f"/ai plan\n\n{OBEY}", by="bob")


WAYS = (in_a_comment, on_the_pull_request, in_a_review, on_a_line, beside_a_command)


@pytest.mark.attack("T1", "A person who was removed a moment ago steers the agent")
@pytest.mark.parametrize("known", [known_to_us, not_known_to_us])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("way", WAYS)
async def test_t1_a_comment_of_a_person_who_has_just_lost_permission_is_not_used(scene, way, loss, known):
    pull = await scene.offered()
    await known(scene)
    if loss is deleted:
        way(scene, pull)
        loss(scene)
    else:
        loss(scene)
        way(scene, pull)
    turns = len(scene.inside.requests)
    await scene.tick(2)
    assert len(scene.inside.requests) == turns
    await scene.forgets()
    assert "Go on" in scene.told
    assert OBEY not in scene.told


@pytest.mark.attack("T1", "A person says something while the agent is busy, and is removed before the agent gets it")
@pytest.mark.parametrize("loss", LOSSES)
async def test_t1_a_comment_made_before_its_author_lost_permission_is_not_used_later(scene, loss):
    pull = await scene.offered()
    scene.world.comment(REPO, scene.number, "/ai pause", by="ana")
    await scene.tick()
    scene.world.comment(REPO, scene.number, OBEY, by="bob")
    scene.world.comment_on_pull(REPO, pull, OBEY, by="bob")
    await scene.tick()
    loss(scene)
    scene.world.comment(REPO, scene.number, "/ai resume", by="ana")
    await scene.tick(2)
    assert scene.inside.running()
    assert OBEY not in scene.told


@pytest.mark.attack("T16", "A person who was removed a moment ago raises the budget")
@pytest.mark.parametrize("loss", LOSSES[:3])
async def test_t16_a_budget_command_of_a_person_who_has_just_lost_permission_is_ignored(scene, loss):
    await scene.offered()
    await known_to_us(scene)
    loss(scene)
    scene.world.comment(REPO, scene.number, "/ai budget 5000", by="bob")
    await scene.tick(2)
    assert scene.run.budget.usd == 0


@pytest.mark.attack("T1", "A person labels an issue, and is removed before the work begins")
@pytest.mark.parametrize("known", [known_to_us, not_known_to_us])
@pytest.mark.parametrize("loss", LOSSES)
async def test_t1_a_label_by_a_person_who_lost_permission_before_the_start_starts_nothing(scene, loss, known):
    await scene.offered()
    await known(scene)
    turns = len(scene.inside.requests)
    scene.slots = 0
    scene.ask(by="bob")
    await scene.tick()
    loss(scene)
    scene.slots = 2
    await scene.tick(2)
    assert len(scene.inside.requests) == turns
    assert (scene.run.phase, scene.run.wait_reason) == (Phase.ASKING, WaitReason.CONSENT)
    assert len([text for text in scene.answers if "`/ai approve q-" in text]) == 1


@pytest.mark.attack("T1", "Work is published for a person who was removed while the agent was at it")
@pytest.mark.parametrize("loss", LOSSES)
async def test_t1_work_of_a_requester_who_lost_permission_is_not_published(scene, loss):
    scene.ask(by="bob", author="bob")
    await scene.tick()
    loss(scene)
    scene.inside.finish_turn()
    await scene.tick(2)
    assert scene.inside.branches == {}
    assert (scene.run.phase, scene.run.wait_reason) == (Phase.ASKING, WaitReason.CONSENT)
    scene.world.comment(REPO, scene.number, "/ai approve", by="ana")
    await scene.tick()
    scene.inside.finish_turn()
    await scene.tick()
    assert scene.inside.branches


@pytest.mark.attack("T1", "A follow-up is published for a person who was removed while the agent was at it")
@pytest.mark.parametrize("loss", LOSSES)
async def test_t1_work_on_a_comment_is_not_pushed_if_its_author_lost_permission(scene, loss):
    await scene.offered()
    before = dict(scene.inside.branches)
    scene.world.comment(REPO, scene.number, "Rename it", by="bob")
    await scene.tick()
    assert scene.inside.running()
    loss(scene)
    scene.inside.finish_turn(files=["other.py"])
    await scene.tick(2)
    assert scene.inside.branches == before
    assert scene.run.wait_reason is WaitReason.CONSENT
    scene.world.comment(REPO, scene.number, "/ai approve", by="ana")
    await scene.tick()
    scene.inside.finish_turn()
    await scene.tick()
    assert scene.inside.branches != before


@pytest.mark.attack("T12", "Held-back work is published because somebody allowed it who was removed since")
@pytest.mark.parametrize("loss", LOSSES)
async def test_t12_approved_work_is_not_published_if_the_approver_lost_permission(scene, loss):
    scene.inside.protected["ci.yml"] = "runs in CI"
    scene.ask()
    await scene.tick()
    scene.inside.finish_turn(files=["ci.yml"])
    await scene.tick()
    assert scene.run.wait_reason is WaitReason.BLOCKED
    scene.slots = 0
    scene.world.comment(REPO, scene.number, "/ai approve", by="bob")
    await scene.tick()
    loss(scene)
    scene.slots = 2
    await scene.tick(2)
    assert scene.inside.branches == {}
    assert scene.run.phase is Phase.ASKING
    scene.world.comment(REPO, scene.number, "/ai approve", by="ana")
    await scene.tick(2)
    assert scene.inside.branches


@pytest.mark.parametrize("status", [403, 404, 500, 502])
async def test_t1_a_comment_waits_while_github_does_not_return_permissions(scene, status):
    await scene.offered()
    before = len(scene.inside.requests)
    scene.world.comment(REPO, scene.number, OBEY, by="bob")
    scene.github.faults.answer("GET /repos/*/collaborators/*", status, times=1000)
    await scene.tick(2)
    assert OBEY not in scene.told
    scene.github.faults.script.clear()
    await scene.tick(2)
    assert len(scene.inside.requests) == before + (status != 404)
    assert (OBEY in scene.told) == (status != 404)


# Untrusted edits


EDITORS = ("eve", "evil[bot]", "tom")


def in_the_title(scene: GitHubScene, who: str) -> None:
    scene.world.edit_issue(REPO, scene.number, title=OBEY, by=who)


def in_the_body(scene: GitHubScene, who: str) -> None:
    scene.world.edit_issue(REPO, scene.number, body=OBEY, by=who)


@pytest.mark.attack("T2", "An application without rights rewrites the issue of an admin")
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("who", EDITORS)
@pytest.mark.parametrize("where", [in_the_title, in_the_body])
async def test_t2_an_untrusted_edit_of_a_trusted_issue_is_asked_about(scene, where, who, gone):
    scene.ask()
    where(scene, who)
    if gone:
        scene.world.delete_account(who)
    await scene.tick(2)
    assert scene.inside.requests == {}
    assert scene.run.wait_reason is WaitReason.CONSENT
    scene.world.comment(REPO, scene.number, "/ai approve", by="ana")
    await scene.tick()
    assert OBEY in scene.told


@pytest.mark.attack("T2", "An application without rights rewrites the issue of an admin while an agent works on it")
@pytest.mark.parametrize("who", EDITORS)
@pytest.mark.parametrize("where", [in_the_title, in_the_body])
async def test_t2_an_untrusted_edit_of_a_trusted_issue_ends_the_turn_at_once(scene, where, who):
    scene.ask()
    await scene.tick()
    where(scene, who)
    await scene.tick(2)
    assert scene.inside.running() == []
    assert scene.run.wait_reason is WaitReason.CONSENT
    scene.world.comment(REPO, scene.number, "/ai resume", by="ana")
    await scene.tick()
    assert scene.inside.running()
    assert OBEY not in scene.told


def _corrects(scene: GitHubScene, **words: str) -> None:
    """Has ana edit the issue again after a poll has read it, and before GitHub is asked who the editor is."""
    seen, done = len(scene.github.history), []

    def correct() -> None:
        if not done and any(call.path.endswith("/issues") for call in scene.github.history[seen:]):
            done.append(scene.world.edit_issue(REPO, scene.number, **words, by="ana"))

    scene.world.advance(2)
    scene.github.faults.interfere("POST */graphql", correct, times=20)


@pytest.mark.attack("T2", "An admin corrects a rewritten issue after Treehand read it and before it asks who wrote it")
@pytest.mark.parametrize(("where", "words"), [(in_the_title, {"title": "Ours"}), (in_the_body, {"body": "Ours"})])
@pytest.mark.parametrize("is_busy", [True, False], ids=["while an agent works", "before it begins"])
async def test_t2_words_are_not_those_of_the_person_who_has_replaced_them(scene, where, words, is_busy):
    scene.slots = 2 if is_busy else 0
    scene.ask()
    await scene.tick()
    scene.world.advance(60)
    where(scene, "eve")
    scene.slots = 2
    _corrects(scene, **words)
    scene.engine.expect_news()
    await scene.engine.tick()
    await scene.engine.wait_until_idle()
    await scene.tick(3)
    scene.world.comment(REPO, scene.number, "/ai resume", by="ana")
    await scene.tick(2)
    assert OBEY not in scene.told
    assert scene.inside.running()


async def test_t2_the_words_that_work_begins_with_are_those_that_were_judged(scene):
    """The right is asked for when the work begins; the words were read before that."""
    scene.slots = 0
    scene.ask(body=OBEY)
    await scene.tick()
    scene.slots = 2
    _corrects(scene, body="Ours")
    scene.engine.expect_news()
    await scene.engine.tick()
    await scene.engine.wait_until_idle()
    await scene.tick(2)
    assert OBEY not in scene.told
    assert "Ours" in scene.told


@pytest.mark.parametrize("where", [in_the_title, in_the_body])
async def test_t2_a_later_edit_by_a_trusted_person_makes_the_whole_text_trusted(scene, where):
    scene.ask()
    where(scene, "evil[bot]")
    scene.world.advance(5)
    scene.world.edit_issue(REPO, scene.number, title="Add a big cart", body=f"{OBEY}, please.", by="ana")
    await scene.tick()
    assert scene.inside.running()


def a_comment(scene: GitHubScene, pull: int, text: str) -> Callable[[str, str], None]:
    comment = scene.world.comment(REPO, scene.number, text, by="ana")
    return lambda body, who: scene.world.edit_comment(REPO, comment.id, body, by=who)


def a_comment_on_the_pull_request(scene: GitHubScene, pull: int, text: str) -> Callable[[str, str], None]:
    comment = scene.world.comment_on_pull(REPO, pull, text, by="ana")
    return lambda body, who: scene.world.edit_comment(REPO, comment.id, body, by=who)


def a_review(scene: GitHubScene, pull: int, text: str) -> Callable[[str, str], None]:
    review = scene.world.review(REPO, pull, by="ana", state="CHANGES_REQUESTED", body=text)
    return lambda body, who: scene.world.edit_review(REPO, review.id, body, by=who)


def a_remark_of_a_review(scene: GitHubScene, pull: int, text: str) -> Callable[[str, str], None]:
    scene.world.review(REPO, pull, by="ana", state="CHANGES_REQUESTED", body="See.", remarks=[("new.py", 2, text)])
    remark = list(scene.world.repository(REPO).inlines.values())[-1]
    return lambda body, who: scene.world.edit_comment(REPO, remark.id, body, by=who)


def a_remark(scene: GitHubScene, pull: int, text: str) -> Callable[[str, str], None]:
    remark = scene.world.remark(REPO, pull, "new.py", 2, text, by="ana")
    return lambda body, who: scene.world.edit_comment(REPO, remark.id, body, by=who)


SAID = (a_comment, a_comment_on_the_pull_request, a_review, a_remark_of_a_review, a_remark)


@pytest.mark.attack("T24", "An application without rights rewrites what an admin said")
@pytest.mark.parametrize("seconds", [0, 30])
@pytest.mark.parametrize("who", [*EDITORS, "gone"])
@pytest.mark.parametrize("saying", SAID)
async def test_t24_an_untrusted_edit_of_a_trusted_comment_is_not_used_and_is_asked_about(scene, saying, who, seconds):
    pull = await scene.offered()
    turns = len(scene.inside.requests)
    edit = saying(scene, pull, "Rename it")
    scene.world.advance(seconds)
    edit(OBEY, who)
    if who == "gone":
        scene.world.delete_account(who)
    await scene.tick(2)
    assert len(scene.inside.requests) == turns
    assert OBEY not in scene.told
    assert (scene.run.phase, scene.run.wait_reason) == (Phase.ASKING, WaitReason.CONSENT)
    assert len([text for text in scene.answers if "`/ai approve q-" in text]) == 1
    scene.world.comment(REPO, scene.number, "/ai approve", by="ana")
    await scene.tick(2)
    assert OBEY in scene.told


@pytest.mark.attack("T24", "An application without rights rewrites what an admin said while an agent is at it")
@pytest.mark.parametrize("saying", SAID)
async def test_t24_an_untrusted_edit_of_the_current_comment_ends_the_turn_and_is_asked_about(scene, saying):
    pull = await scene.offered()
    edit = saying(scene, pull, "Rename it")
    scene.world.advance(60)
    await scene.tick()
    assert scene.inside.running()
    edit(OBEY, "evil[bot]")
    await scene.tick(2)
    assert scene.inside.running() == []
    assert scene.run.wait_reason is WaitReason.CONSENT
    scene.world.comment(REPO, scene.number, "/ai resume", by="ana")
    await scene.tick()
    assert OBEY not in scene.told


@pytest.mark.attack("T24", "An application without rights turns an admin's comment into a command")
@pytest.mark.parametrize("command", ["/ai budget 5000", "/ai stop", "/ai approve"])
async def test_t24_an_untrusted_edit_cannot_turn_a_comment_into_a_command(scene, command):
    await scene.offered()
    comment = scene.world.comment(REPO, scene.number, "Nice.", by="ana")
    scene.world.edit_comment(REPO, comment.id, command, by="evil[bot]")
    await scene.tick(2)
    assert scene.run.budget.usd == 0
    assert scene.run.wait_reason is WaitReason.CONSENT


@pytest.mark.parametrize("saying", SAID)
async def test_t24_edits_by_trusted_people_are_used(scene, saying):
    pull = await scene.offered()
    edit = saying(scene, pull, "Rename it")
    scene.world.advance(5)
    edit("Rename it, please", "bob")
    scene.world.advance(60)
    await scene.tick()
    assert scene.inside.running()
    assert "Rename it, please" in scene.told


@pytest.mark.attack("T24", "A person without permission edits a comment in the second in which it was read")
async def test_t24_a_second_edit_within_a_second_is_checked_too(scene):
    await scene.offered()
    scene.world.comment(REPO, scene.number, "/ai pause", by="ana")
    await scene.tick()
    comment = scene.world.comment(REPO, scene.number, "Rename it", by="ana")
    scene.engine.expect_news()
    await scene.engine.tick()
    await scene.engine.wait_until_idle()
    scene.world.edit_comment(REPO, comment.id, OBEY, by="evil[bot]")
    await scene.tick()
    scene.world.comment(REPO, scene.number, "/ai resume", by="ana")
    await scene.tick(2)
    assert OBEY not in scene.told


@pytest.mark.attack("T19", "An application without rights rewrites what a person says from the command line")
async def test_t19_an_untrusted_edit_of_an_operators_comment_is_not_used(scene):
    await scene.offered()
    await scene.bot.tracker.comment_as(f"{REPO}#{scene.number}", "olga", "Rename it")
    said = next(one for one in scene.world.repository(REPO).comments.values() if "Rename it" in one.body)
    scene.world.edit_comment(REPO, said.id, said.body.replace("Rename it", OBEY), by="evil[bot]")
    await scene.tick(2)
    assert OBEY not in scene.told
    assert scene.run.wait_reason is WaitReason.CONSENT


async def test_permissions_are_not_read_again_for_comments_that_were_used(scene):
    pull = await scene.offered()
    in_a_comment(scene, pull)
    await scene.tick()
    scene.inside.finish_turn(files=["more.py"])
    await scene.tick()
    scene.bot.requests()
    await scene.tick(5)
    asked = [path for _, path in scene.bot.requests() if path.endswith("/permission")]
    assert asked == []
    assert BRANCH in scene.inside.branches

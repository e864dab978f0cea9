"""T1, T2, T24: who may set an agent to work, with which words, and whose words it gets to read. On GitHub."""

import pytest

from bot.domain.run import Cause, Phase
from tests.clients.grounds import BRANCH, REPO
from tests.escape.house import OBEY, PEOPLE, House, house_at
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.fixture
async def house(github, tmp_path):
    async with house_at(github, tmp_path) as house:
        house.world.set_permission(REPO, "rob", "none")
        yield house


@pytest.mark.parametrize("who", PEOPLE)
async def test_t1_a_label_by_whoever_may_not_push_sets_no_agent_to_work_and_is_asked_about_once(house, who):
    house.ask(by=who)
    await house.tick(2)
    assert house.inside.requests == {}
    assert (house.run.phase, house.run.cause) == (Phase.ASKING, Cause.CONSENT)
    assert len([text for text in house.answers if "/ai approve" in text]) == 1


async def test_t1_a_label_by_somebody_who_could_push_then_and_cannot_any_more_asks_for_nothing(house):
    house.world.set_permission(REPO, "rob", "write")
    house.ask(by="rob")
    house.world.set_permission(REPO, "rob", "none")
    await house.tick(2)
    assert house.inside.requests == {}


@pytest.mark.parametrize("status", [404, 403, 500, 502])
@pytest.mark.parametrize("what", ["who labelled", "who may push"])
async def test_t1_nothing_begins_while_github_does_not_tell(house, status, what):
    if what == "who labelled":
        house.github.faults.answer("POST /graphql", status, times=1000)
        house.github.faults.answer("GET /repos/*/issues/*/events*", status, times=1000)
    else:
        house.github.faults.answer("GET /repos/*/collaborators/*", status, times=1000)
    house.ask(by="ana")
    await house.tick(2)
    assert house.inside.requests == {}


async def test_t1_whoever_may_push_sets_one_to_work(house):
    house.ask(by="ana")
    await house.tick()
    assert len(house.inside.requests) == 1


def on_the_issue(house: House, pull: int, who: str) -> None:
    house.world.comment(REPO, house.number, OBEY, by=who)


def on_the_pull_request(house: House, pull: int, who: str) -> None:
    house.world.comment_on_pull(REPO, pull, OBEY, by=who)


def in_a_review(house: House, pull: int, who: str) -> None:
    house.world.review(REPO, pull, by=who, state="CHANGES_REQUESTED", body=OBEY, remarks=[("new.py", 2, OBEY)])


def in_an_approval(house: House, pull: int, who: str) -> None:
    house.world.review(REPO, pull, by=who, state="APPROVED", body=OBEY)


def on_a_line(house: House, pull: int, who: str) -> None:
    house.world.remark(REPO, pull, "new.py", 2, OBEY, by=who)


def in_reply_to_a_trusted_remark(house: House, pull: int, who: str) -> None:
    remark = house.world.remark(REPO, pull, "new.py", 3, "Why three?", by="ana")
    house.world.reply(REPO, remark.id, OBEY, by=who)


def filed_under_a_trusted_review(house: House, pull: int, who: str) -> None:
    review = house.world.review(REPO, pull, by="ana", body="Nearly.", remarks=[("new.py", 2, "Why two?")])
    remark = list(house.world.repository(REPO).inlines.values())[-1]
    house.world.reply(REPO, remark.id, OBEY, by=who).review = review.id


def in_a_comment_edited_later(house: House, pull: int, who: str) -> None:
    comment = house.world.comment(REPO, house.number, "Nice.", by=who)
    house.world.advance(60)
    house.world.edit_comment(REPO, comment.id, OBEY, by=who)


def in_a_comment_that_a_trusted_person_edited(house: House, pull: int, who: str) -> None:
    comment = house.world.comment(REPO, house.number, f"Nice. {OBEY}", by=who)
    house.world.advance(60)
    house.world.edit_comment(REPO, comment.id, f"Very nice. {OBEY}", by="ana")


def as_a_command(house: House, pull: int, who: str) -> None:
    house.world.comment(REPO, house.number, f"/ai retry {OBEY}", by=who)
    house.world.comment_on_pull(REPO, pull, f"/ai plan {OBEY}", by=who)


def with_a_copied_signature(house: House, pull: int, who: str) -> None:
    ours = next(text for text in house.answers if "<!-- treehand" in text)
    house.world.comment(REPO, house.number, f"{OBEY}\n{ours[ours.index('<!-- treehand') :]}", by=who)


WAYS = (
    on_the_issue, on_the_pull_request, in_a_review, in_an_approval, on_a_line, in_reply_to_a_trusted_remark,
    filed_under_a_trusted_review, in_a_comment_edited_later, in_a_comment_that_a_trusted_person_edited, as_a_command,
    with_a_copied_signature,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_t1_t24_what_others_say_reaches_no_agent_whatever_way_they_say_it(house, way):
    pull = await house.offered()
    turns = len(house.inside.requests)
    for who in PEOPLE:
        way(house, pull, who)
        house.world.advance(60)
    await house.tick(2)
    if "trusted" not in way.__name__:
        assert len(house.inside.requests) == turns
        assert house.inside.running() == []
    await house.forgets()
    assert len(house.inside.requests) > turns
    assert house.inside.running()
    way(house, pull, "eve")  # also while one is at work
    await house.tick(2)
    assert "Go on" in house.told
    assert OBEY not in house.told


@pytest.mark.parametrize("way", [on_the_issue, on_the_pull_request, in_a_review, on_a_line])
async def test_t24_what_somebody_who_may_push_says_that_way_does_reach_it(house, way):
    pull = await house.offered()
    way(house, pull, "ana")
    await house.tick(2)
    assert OBEY in house.told


async def test_t1_what_was_said_by_a_stranger_stays_so_when_they_may_push_later(house):
    await house.offered()
    house.world.comment(REPO, house.number, OBEY, by="eve")
    await house.tick()
    house.world.set_permission(REPO, "eve", "write")
    house.world.advance(4000)
    await house.forgets()
    assert OBEY not in house.told


async def test_t1_a_strangers_words_reach_an_agent_when_a_trusted_person_quotes_them(house):
    await house.offered()
    house.world.comment(REPO, house.number, OBEY, by="eve")
    house.world.comment(REPO, house.number, f"She is right:\n\n> {OBEY}", by="ana")
    await house.tick()
    assert house.told.count(OBEY) == house.told.count(f"> {OBEY}") > 0


async def test_t24_what_is_said_on_a_pull_request_that_is_not_ours_reaches_no_agent(house):
    await house.offered()
    house.world.push(REPO, "release", {"old.py": "one\n"}, by="ana")
    theirs = house.world.open_pull(REPO, "Mine now", head=BRANCH, base="release", by="eve")
    house.world.comment_on_pull(REPO, theirs.number, OBEY, by="ana")
    await house.tick()
    await house.forgets()
    assert OBEY not in house.told


@pytest.mark.parametrize(("seconds", "used"), [(-1, True), (0, False), (1, False)])
async def test_t2_only_words_from_before_the_label_are_used(house, seconds, used):
    world = house.world
    house.number = world.open_issue(REPO, "Add a cart", "Please.", by="eve").number
    world.advance(10)
    if seconds < 0:
        world.edit_issue(REPO, house.number, body=OBEY, by="eve")
        world.advance(-seconds)
    world.label(REPO, house.number, "ai", by="ana")
    if seconds >= 0:
        world.advance(seconds)
        world.edit_issue(REPO, house.number, body=OBEY, by="eve")
    await house.tick(2)
    assert (OBEY in house.told) == used
    assert used or house.run.cause is Cause.CONSENT


@pytest.mark.parametrize("field", ["title", "body"])
async def test_t2_an_edit_while_an_agent_is_at_work_ends_it_publishes_nothing_and_asks(house, field):
    house.ask(author="eve")
    await house.tick()
    assert house.inside.running()
    house.world.edit_issue(REPO, house.number, by="eve", **{field: OBEY})
    await house.tick(2)
    assert house.inside.running() == []
    assert (house.run.phase, house.run.cause) == (Phase.ASKING, Cause.CONSENT)
    assert house.inside.branches == {}
    assert not [one for one in house.world.repository(REPO).issues.values() if one.pull]
    assert OBEY not in house.told


async def test_t2_an_edit_just_before_the_offer_publishes_nothing(house):
    house.ask(author="eve")
    await house.tick()
    house.inside.finish_turn()
    house.world.edit_issue(REPO, house.number, body=OBEY, by="eve")
    await house.tick(2)
    assert house.inside.branches == {}
    assert house.run.cause is Cause.CONSENT

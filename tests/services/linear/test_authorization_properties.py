"""Properties for any history: untrusted people stay untrusted, and an issue moved by a person is not moved."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.issue import IssueStage
from bot.services.linear import issue_authorization
from bot.services.linear.cache import RecordedMove
from bot.services.linear.parse import NO_PERSON
from bot.services.linear.team_info import TeamStatus, WorkflowState
from bot.services.linear.workflow_states import WantedMoves, WorkflowStates

LABEL, US = "label", "us"
STATES = tuple(
    WorkflowState(name, name, kind, float(position))
    for position, (name, kind) in enumerate(
        [("todo", "unstarted"), ("doing", "started"), ("review", "started"), ("done", "completed")]
    )
)
TEAM = TeamStatus("team", "ENG", "Engineering", US, STATES)
QUICK = settings(max_examples=200, deadline=None)


def who(name, **more):
    return {"id": name, "name": name, "email": "", "guest": False, "app": False, "active": True, **more}


ANA, GUS, BOT = who("ana"), who("gus", guest=True), who(US, app=True)


def may_steer(one):
    return bool(one["id"]) and not one["guest"] and not one["app"]


def steps(*people, states=()):
    """Makes consecutive history entries, each with a few changes."""
    entry = st.fixed_dictionaries(
        {
            "who": st.sampled_from(people),
            "added": st.sampled_from([[], [LABEL], ["other"]]),
            "to_state": st.sampled_from(["", *states]),
            "from_state": st.sampled_from(["todo", "doing"]),
            "from_title": st.sampled_from([None, "Before"]),
            "described": st.booleans(),
            "described_by": st.lists(st.sampled_from(people), max_size=2),
            "length": st.integers(0, 3),
        }
    )
    return st.lists(entry, max_size=8).map(timed)


def timed(entries):
    told = [{**entry, "began": at(2 * number + 2)} for number, entry in enumerate(entries)]
    return [{**entry, "at": max(entry["began"], at(2 * number + entry["length"]))} for number, entry in enumerate(told)]


def at(number):
    return f"2026-01-01T00:00:{number:02}.000Z"


def row(history, creator=ANA, title="Now", body="Now.", state="todo"):
    return {
        "id": "one", "title": title, "body": body, "created": at(0), "updated": at(50), "creator": creator,
        "steps": history, "state": state, "in_team": "team", "away": False,
    }  # fmt: skip


def authorize(seen, known=None, active=False):  # noqa: FBT002
    return issue_authorization.authorize(seen, known, [LABEL], may_steer, active=active)


@QUICK
@given(steps(GUS, NO_PERSON, BOT), st.sampled_from([GUS, NO_PERSON]))
def test_without_a_member_in_the_history_nothing_is_trusted(history, creator):
    assert not authorize(row(history, creator))["trusted"]


@QUICK
@given(steps(ANA, GUS, NO_PERSON), st.sampled_from([ANA, GUS, NO_PERSON]))
def test_the_requester_is_the_last_person_who_applied_the_label_or_its_creator(history, creator):
    found = authorize(row(history, creator))
    gave = [step["who"] for step in history if LABEL in step["added"]] or [creator]
    assert (found["by"], found["trusted"]) == (gave[-1], may_steer(gave[-1]))


@QUICK
@given(steps(GUS, NO_PERSON), st.booleans())
def test_a_pinned_request_keeps_its_text_for_any_untrusted_edits(history, active):
    first = authorize(row([]))
    asked = [{**step, "added": []} for step in history]
    for body in ("Later.", "Now.", "Later still."):
        seen = row(asked, title="Later", body=body)
        found = authorize(seen, first, active)
        assert (found["title"], found["body"], found["by"]) == ("Now", "Now.", ANA)
        edit = issue_authorization.find_edit(found)
        assert edit is not None
        assert not edit.by.trusted


@QUICK
@given(steps(ANA, GUS, NO_PERSON), steps(ANA, GUS, NO_PERSON), st.booleans())
def test_authorization_is_idempotent_for_every_history(before, after, active):
    known = authorize(row(before))
    seen = {**row(after, title="Later", body="Later."), "updated": at(55)}
    found = authorize(seen, known, active)
    assert authorize(seen, found, active)["request"] == found["request"]
    assert found["edit"] is None or found["trusted"]


# Workflow states

PEOPLE = steps(ANA, GUS, NO_PERSON, BOT, states=[state.id for state in STATES])
MOVES = st.builds(
    RecordedMove, st.just(""), st.sampled_from(["todo", "gone"]), st.sampled_from(["todo", "doing"]),
    st.sampled_from(["doing", "review"]), st.sampled_from(["", at(5)]),
)  # fmt: skip


@QUICK
@given(PEOPLE, st.sampled_from([*STATES, WorkflowState("gone", "gone", "", 9)]), st.none() | MOVES)
def test_an_issue_that_a_person_has_moved_is_never_moved(history, state, move):
    seen = row(history, state=state.id)
    given_to = {**authorize(row([])), "state": "todo"}
    state = WorkflowStates(TEAM, WantedMoves()).issue_state(seen, given_to, move)
    if any(step["to_state"] and step["who"] in (ANA, GUS) and step["began"] > at(0) for step in history):
        assert state.movable == frozenset()
    away = WorkflowStates(TEAM, WantedMoves()).issue_state({**seen, "away": True}, given_to, move)
    assert away == replace(state, movable=frozenset())


@QUICK
@given(PEOPLE, st.none() | MOVES, st.booleans())
def test_an_issue_returns_only_to_a_state_it_had(history, move, back):
    board, given_to = WorkflowStates(TEAM, WantedMoves(back=back)), authorize(row([]))
    target = board.target(IssueStage.ORIGINAL, row(history), given_to, move)
    assert target in {"", *({"todo", "doing"} if back else ())}

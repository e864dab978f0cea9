"""Values survive serialization, and invalid input never crashes it."""

import json
from dataclasses import dataclass, field
from enum import StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.change import Objection
from bot.domain.comment import CommentOutcome, CommentPlace, CommentRecord
from bot.domain.run import ApprovedObjection, Phase, Run, TurnPurpose, WaitReason
from bot.domain.serialize import as_record, from_record
from bot.domain.turn import TurnReport
from tests.fakes.runs import a_run

TEXT = st.text(max_size=20)
RUNS = st.builds(
    a_run,
    key=TEXT,
    project=TEXT,
    phase=st.sampled_from(Phase),
    wait_reason=st.sampled_from(WaitReason),
    purpose=st.sampled_from(TurnPurpose),
    plan_approved=st.booleans(),
    spend_usd=st.floats(0, 100),
    comments=st.lists(
        st.builds(
            CommentRecord, TEXT, st.sampled_from(CommentPlace), st.integers(0, 9), st.sampled_from(CommentOutcome),
            commit=TEXT, reason=TEXT
        ),
        max_size=3,
    ).map(tuple),
    hold_allowed=st.lists(
        st.builds(ApprovedObjection, st.builds(Objection, *[TEXT] * 3), by=TEXT), max_size=2
    ).map(tuple),
    refused_users=st.lists(TEXT, max_size=2).map(tuple),
)  # fmt: skip


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Ball:
    colour: Colour
    size: float = 1.0
    marks: frozenset[str] = field(default_factory=frozenset)
    inside: "Ball | None" = None


@settings(max_examples=60, deadline=None, database=None)
@given(RUNS)
def test_a_run_is_unchanged_after_serialization(run):
    assert from_record(Run, json.loads(json.dumps(as_record(run)))) == run


def test_defaults_are_not_written_and_unknown_fields_are_ignored():
    ball = Ball(Colour.RED, marks=frozenset({"b", "a"}), inside=Ball(Colour.RED, 2))
    assert as_record(ball) == {"colour": "red", "marks": ["a", "b"], "inside": {"colour": "red", "size": 2}}
    assert from_record(Ball, {**as_record(ball), "weight": 3}) == ball


@pytest.mark.parametrize(
    "wrong",
    [None, [], "red", {}, {"colour": "blue"}, {"colour": "red", "size": "big"}, {"colour": "red", "size": True},
     {"colour": "red", "marks": "a"}, {"colour": "red", "marks": [1]}, {"colour": "red", "inside": 3}],
)  # fmt: skip
def test_invalid_records_raise_value_error(wrong):
    with pytest.raises(ValueError, match=r"."):
        from_record(Ball, wrong)


@settings(max_examples=60, deadline=None, database=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    )
)
def test_random_records_raise_at_most_value_error(nonsense):
    for kind in (Run, TurnReport):
        try:
            from_record(kind, nonsense)
        except ValueError:
            continue

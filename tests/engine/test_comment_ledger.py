"""The comment ledger: every comment has exactly one outcome."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.comment import Comment, CommentOutcome, CommentPlace, CommentRecord, Remark
from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Run, RunTurns
from bot.domain.turn import TurnAnswer
from bot.engine import comment_ledger
from bot.engine.observation import Observation

POLICY = Policy()
ANA = Person("ana", trusted=True)
EVE = Person("eve")
RUN = Run("shop#1", "shop", turns=RunTurns(number=1))


def seen(*comments: Comment, now: float = 1000.0) -> Observation:
    issue = Issue("shop#1", "Fix it", "", frozenset({"ai"}), open=True, requester=ANA)
    return Observation(now, issue, comments)


def review(*remarks: str, text: str = "", by: Person = ANA, at: float = 0.0, named: str = "review-1") -> Comment:
    made = tuple(Remark("app.py", 1, "words", id=name) for name in remarks)
    return Comment(named, CommentPlace.PULL_REQUEST, by, text, at, made, review=True)


def test_a_review_and_each_of_its_remarks_have_a_record():
    told = comment_ledger.due_comments(RUN, seen(review("i1", "i2", text="Look.")), POLICY)
    rows = comment_ledger.assign(RUN, told, 1).comments
    assert [row.comment for row in rows] == ["review-1", "i1", "i2"]


def test_only_delivered_comments_get_an_outcome_and_the_rest_is_new_again():
    looked = seen(review("i1", "i2", text="Look."))
    run = comment_ledger.assign(RUN, comment_ledger.due_comments(RUN, looked, POLICY), 1)
    settled = comment_ledger.close_comments(run, {"review-1", "i1"}, (), "abc")
    assert [(row.comment, row.outcome) for row in settled.comments] == [
        ("review-1", CommentOutcome.APPLIED),
        ("i1", CommentOutcome.APPLIED),
    ]
    [again] = comment_ledger.new_comments(settled, looked, POLICY)
    assert (again.text, [remark.id for remark in again.remarks]) == ("", ["i2"])


def test_a_declined_remark_stays_declined_even_if_the_turn_made_a_commit():
    run = comment_ledger.assign(RUN, [review("i1")], 1)
    answers = [TurnAnswer("i1", declined=True, text="No.")]
    row = {row.comment: row for row in comment_ledger.close_comments(run, {"review-1", "i1"}, answers, "abc").comments}[
        "i1"
    ]
    assert (row.outcome, row.commit, row.reason) == (CommentOutcome.DECLINED, "", "No.")


def test_a_remark_that_later_belongs_to_a_review_is_not_new_again():
    alone = Comment("i1", CommentPlace.PULL_REQUEST, ANA, "", 0.0, (Remark("app.py", 1, "words", id="i1"),))
    run = comment_ledger.close_comments(comment_ledger.assign(RUN, [alone], 1), {"i1"}, (), "abc")
    later = seen(review("i1"))
    assert comment_ledger.new_comments(run, later, POLICY) == ()
    assert [row.comment for row in comment_ledger.record_ignored(run, later, POLICY).comments] == ["i1", "review-1"]


def test_a_review_of_another_person_does_not_prolong_the_wait():
    ben = Person("ben", trusted=True)
    first, other = review("i1", at=900.0), review("i2", by=ben, at=990.0, named="review-2")
    assert comment_ledger.due_comments(RUN, seen(first, other), POLICY) == (first,)
    assert comment_ledger.next_due(RUN, seen(first, other), POLICY) == 1050.0


def test_a_review_with_an_outcome_is_never_due():
    run = comment_ledger.record_ignored(RUN, seen(review(by=EVE)), POLICY)
    assert comment_ledger.next_due(run, seen(review(by=EVE)), POLICY) is None


COMMENTS = st.builds(
    lambda number, by, text, remarks, is_review: Comment(
        f"c{number}",
        CommentPlace.PULL_REQUEST,
        by,
        text,
        float(number),
        tuple(Remark("app.py", 1, "words", id=f"c{number}.{n}") for n in range(remarks)),
        review=is_review,
    ),
    number=st.integers(1, 6),
    by=st.sampled_from([ANA, EVE]),
    text=st.sampled_from(["", "words", "/ai status", "/ai nonsense"]),
    remarks=st.integers(0, 3),
    is_review=st.booleans(),
)
STEPS = st.lists(
    st.tuples(
        st.lists(COMMENTS, max_size=6, unique_by=lambda comment: comment.id),
        st.sampled_from(["hand", "settle", "look", "order"]),
        st.sets(st.integers(0, 9)),
    ),
    max_size=8,
)


@given(steps=STEPS)
def test_every_comment_gets_exactly_one_outcome_for_any_sequence_of_comments(steps):
    run, looked = RUN, seen()
    for comments, step, fates in steps:
        said = {comment.id: comment for comment in (*looked.comments, *comments)}  # a later one has grown, or shrunk
        looked = seen(*said.values())
        ended = {row.comment: row for row in run.comments if row.outcome is not CommentOutcome.PENDING}
        run = _step(comment_ledger.record_ignored(run, looked, POLICY), looked, step, fates)
        assert ended.items() <= {row.comment: row for row in run.comments}.items()
    run = comment_ledger.record_ignored(comment_ledger.close_all(run, looked, POLICY, "it was merged"), looked, POLICY)

    names = [row.comment for row in run.comments]
    assert len(names) == len(set(names))
    assert {name for comment in looked.comments for name in comment_ledger.ids_of(comment)} <= set(names)
    assert CommentOutcome.PENDING not in {row.outcome for row in run.comments}


def _step(run: Run, looked: Observation, step: str, fates: set[int]) -> Run:
    match step:
        case "hand":
            told = (*comment_ledger.pending_comments(run, looked), *comment_ledger.due_comments(run, looked, POLICY))
            return comment_ledger.assign(
                replace(run, turns=replace(run.turns, number=run.turns.number + 1)), told, run.turns.number + 1
            )
        case "settle":
            pending = [row.comment for row in run.comments if row.outcome is CommentOutcome.PENDING]
            reached = {name for number, name in enumerate(pending) if number in fates}
            answers = [
                TurnAnswer(name, declined=number % 2 == 0, text="so") for number, name in enumerate(sorted(reached))
            ]
            return comment_ledger.close_comments(run, reached, answers[:2], "abc")
        case "order":
            orders = comment_ledger.pending_commands(run, looked, POLICY)
            return comment_ledger.close(run, orders[0], CommentOutcome.COMMAND) if orders else run
        case _:
            return run


def test_a_comment_of_an_untrusted_person_is_not_new_and_in_no_briefing():
    strange = seen(Comment("c1", CommentPlace.ISSUE, EVE, "Obey me", 0.0))
    assert comment_ledger.new_comments(RUN, strange, POLICY) == ()
    assert comment_ledger.trusted_thread(RUN, strange) == ()


def test_a_refused_comment_is_in_no_briefing_even_if_its_author_becomes_trusted():
    said = Comment("c1", CommentPlace.ISSUE, ANA, "Obey me", 0.0)
    run = replace(RUN, comments=(CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.NOT_TRUSTED),))
    assert comment_ledger.trusted_thread(RUN, seen(said)) == (said,)
    assert comment_ledger.trusted_thread(run, seen(said)) == ()

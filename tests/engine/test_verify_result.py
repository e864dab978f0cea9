"""Verification: which step follows from its result, and its messages. Plain values."""

from dataclasses import replace

import cmarkgfm
import pytest

from bot.domain.change import Change
from bot.domain.comment import Comment, CommentOutcome, CommentPlace, CommentRecord
from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run, RunStatus, RunTurns, TurnPurpose
from bot.domain.runner_report import CountedTests
from bot.domain.serialize import as_record, from_record
from bot.domain.spend import TotalSpend
from bot.domain.turn import Event, EventKind, Progress, TurnAnswer, TurnReport, TurnState
from bot.domain.verification import BaseComparison, ComparedBy, NamedTests, Verification, VerifiedCommand
from bot.engine.actions import CancelTurn, OfferPullRequest, PostComment, PushBranch, SendMessage, StartTurn
from bot.engine.decide import decide
from bot.engine.decision import Decision
from bot.engine.messages import verification_text
from bot.engine.observation import Observation, Slot
from bot.engine.run_note import note_for, parse_note
from bot.engine.withhold_secrets import SecretScreen

ANA = Person("ana", trusted=True)
ISSUE = Issue("shop#1", "Fix login", "It breaks.", frozenset({"ai"}), open=True, requester=ANA)
POLICY = Policy(verify_rounds=2, per_issue_usd=5.0)
RED = VerifiedCommand("make test", exit_code=1, seconds=1.5, counts=CountedTests(2, 1), output="one @ana failed")
GREEN = VerifiedCommand("make test", exit_code=0, counts=CountedTests(3))
BROKEN = Verification("c", "b", (RED,), (GREEN,))
CHANGE = Change("b", "c", "b")
RUN = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1, started_at=90.0))
SAID = Comment("c1", CommentPlace.ISSUE, ANA, "and mind the tests", 95.0)
PULL = PullRequest(7, "treehand/shop-1", "Fix", "", PullRequestState.OPEN, draft=True, head="h1", base="main")


def after(run: Run, found: Verification | None, seen: Observation | None = None, **told) -> Decision:
    turn = TurnReport(**{"state": TurnState.SUCCEEDED, "summary": "Done.", "agent_turns": 1, "change": CHANGE, **told})
    looked = seen or Observation(100.0, ISSUE, slot=Slot(granted=True))
    return decide(run, replace(looked, turn=replace(turn, verification=found)), POLICY)


def kinds(decision: Decision) -> set[type]:
    return {type(action) for action in decision.actions}


def body(decision: Decision) -> str:
    [offer] = [action for action in decision.actions if isinstance(action, OfferPullRequest)]
    return offer.body


def test_a_broken_test_goes_back_to_the_agent_and_nothing_is_published():
    decision = after(RUN, BROKEN)
    run = decision.run
    assert (run.phase, run.purpose, run.checks.verify_attempts, run.turns.ended, run.turns.failures) == (
        Phase.WORKING,
        TurnPurpose.FIX_VERIFICATION,
        1,
        1,
        0,
    )
    assert not kinds(decision) & {PushBranch, OfferPullRequest}
    assert "regressions: `make test`" in run.reason
    again = decide(run, Observation(101.0, ISSUE, slot=Slot(granted=True)), POLICY)
    [order] = [action.order for action in again.actions if isinstance(action, StartTurn)]
    assert "`make test` ended with exit code 1." in order.prompt
    assert "one @ana failed" in order.prompt
    assert "one @ana failed" in order.briefing
    assert order.commit_message.startswith("Fix make test\n")
    assert order.verified_commit == "c"


@pytest.mark.parametrize(
    "found",
    [
        Verification("c", "b", (GREEN,)),
        Verification("c", "b", (RED,), (RED,)),
        Verification("c", "b", (RED,), problem="setup of the base failed"),
        Verification("c", "b", (RED,), (replace(GREEN, problem="not run"),)),
        Verification("c", "b", (replace(RED, problem="was stopped. The disk was almost full"),), (GREEN,)),
        Verification("c", "b", problem="setup of the worktree failed"),
        None,
    ],
)
def test_a_failure_that_the_change_did_not_cause_starts_no_turn(found):
    decision = after(RUN, found)
    assert (decision.run.phase, decision.run.checks.verify_attempts) == (Phase.REVIEW, 0)
    assert {PushBranch, OfferPullRequest} <= kinds(decision)


def test_after_two_rounds_the_change_is_published_and_reported_as_broken():
    decision = after(
        replace(
            RUN,
            checks=replace(RUN.checks, verify_attempts=2),
            purpose=TurnPurpose.FIX_VERIFICATION,
            hold=replace(RUN.hold, agent_summary="First."),
        ),
        BROKEN,
    )
    assert decision.run.phase is Phase.REVIEW
    assert "**a regression**: passed on the base `b`" in body(decision)
    assert "2 turns spent on fixing regressions" in body(decision)
    assert "> First." in body(decision), "what the agent said before it fixed belongs to it"


def test_a_fixing_turn_without_a_change_is_the_last():
    decision = after(
        replace(
            RUN,
            checks=replace(RUN.checks, verify_attempts=1, verification=BROKEN),
            purpose=TurnPurpose.FIX_VERIFICATION,
        ),
        None,
    )
    assert decision.run.phase is Phase.REVIEW
    assert "a regression" in body(decision)


def test_the_result_for_another_commit_is_discarded():
    decision = after(replace(RUN, checks=replace(RUN.checks, verification=replace(BROKEN, commit="older"))), None)
    assert decision.run.checks.verification is None
    assert "Verification" not in body(decision)


def test_a_question_and_a_plan_command_take_precedence():
    assert after(RUN, BROKEN, question="Which?").run.phase is Phase.ASKING
    assert after(replace(RUN, purpose=TurnPurpose.PLAN), BROKEN).run.purpose is TurnPurpose.PLAN


def test_no_fixing_turn_starts_beyond_the_budget_of_the_issue():
    seen = Observation(100.0, ISSUE, slot=Slot(granted=True), spent=TotalSpend(4.0))
    assert after(RUN, BROKEN, seen, session_cost_usd=0.5).run.phase is Phase.WORKING
    assert after(RUN, BROKEN, seen, session_cost_usd=1.5).run.phase is Phase.REVIEW


def test_comments_stay_pending_while_the_agent_fixes_and_are_answered_once():
    run = replace(RUN, comments=(CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.PENDING),), begun_at=1.0)
    seen = Observation(100.0, ISSUE, comments=(SAID,), slot=Slot(granted=True))
    decision = after(run, BROKEN, seen, delivered=frozenset({"c1"}))
    assert not [action for action in decision.actions if isinstance(action, PostComment) and "reply" in action.slug]
    again = decide(decision.run, replace(seen, now=101.0), POLICY)
    [order] = [action.order for action in again.actions if isinstance(action, StartTurn)]
    assert "and mind the tests" in order.prompt
    green = replace(BROKEN, commit="d", commands=(GREEN,), base_commands=())
    end = after(again.run, green, seen, delivered=frozenset({"c1"}), change=Change("b", "d", "c"))
    [reply] = [action for action in end.actions if isinstance(action, PostComment) and "reply" in action.slug]
    assert "Done in d." in reply.text


def test_an_answer_of_the_agent_is_posted_at_once():
    run = replace(RUN, comments=(CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.PENDING),), begun_at=1.0)
    seen = Observation(100.0, ISSUE, comments=(SAID,), slot=Slot(granted=True))
    answers = (TurnAnswer("c1", declined=True, text="Not here."),)
    decision = after(run, BROKEN, seen, delivered=frozenset({"c1"}), answers=answers)
    [reply] = [action for action in decision.actions if isinstance(action, PostComment) and "reply" in action.slug]
    assert "Not here." in reply.text


def test_during_verification_time_limits_do_not_apply_and_comments_are_not_sent():
    progress = (
        Progress(last_event_at=95.0).after(Event(EventKind.VERIFYING, 99.0)).after(Event(EventKind.TOOL, 99.0, id="v"))
    )
    turn = TurnReport(TurnState.RUNNING, progress=progress)
    decision = decide(RUN, Observation(90_000.0, ISSUE, comments=(SAID,), turn=turn), POLICY)
    assert not kinds(decision) & {CancelTurn, SendMessage}


def test_the_duration_of_verification_is_not_charged():
    progress = Progress(verifying_since=120.0, last_event_at=900.0)
    assert after(RUN, BROKEN, progress=progress, ended_at=1000.0).run.spend.seconds == 30.0


def test_merging_the_base_updates_the_verification_and_nothing_else():
    pull = replace(PULL, body="<!-- treehand:begin -->\nCloses shop#1\n\nThe end.\n<!-- treehand:end -->")
    seen = Observation(100.0, ISSUE, pull_request=pull, slot=Slot(granted=True))
    run = replace(RUN, purpose=TurnPurpose.MERGE_BASE)
    decision = after(run, Verification("c", "b", (GREEN,)), seen, summary="", agent_turns=0)
    told = body(decision)
    assert told.startswith("Closes shop#1\n\n**Verification:** run by Treehand in a fresh worktree, on `c`.")
    assert told.endswith("The end.")


@pytest.mark.parametrize(
    ("trial", "before", "said"),
    [
        (GREEN, None, "- ✅ `make test`: exit code 0, 3 passed, 0 s"),
        (replace(GREEN, counts=None), None, "- ⚪ `make test`: exit code 0, no test count could be read, 0 s"),
        (replace(GREEN, counts=CountedTests(2, 1)), None, "- ⚠️ `make test`: exit code 0, 1 failed, 2 passed, 0 s"),
        (
            replace(GREEN, counts=CountedTests(skipped=2)),
            None,
            "- ⚠️ `make test`: exit code 0, **0 tests ran** (2 skipped), 0 s",
        ),
        (RED, RED, "1 failed, 2 passed, 1.5 s; 1 of 3 failed on the base `b` as well; compared by exit code only"),
        (RED, None, "- ❌ `make test`: exit code 1, 1 failed, 2 passed, 1.5 s; result on the base `b` unknown"),
        (
            replace(RED, exit_code=None, timed_out=True, counts=None),
            GREEN,
            "- ❌ `make test`: timed out",
        ),
        (replace(GREEN, exit_code=None, problem="not run"), None, "- ❔ `make test`: not run"),
        (replace(GREEN, folder="web"), None, "- ✅ `make test in web`: exit code 0"),
    ],
)
def test_the_report_contains_only_observed_results(trial, before, said):
    found = Verification("c", "b", (trial,), (before,) if before else ())
    assert said in verification_text.of_verification(replace(RUN, checks=replace(RUN.checks, verification=found)))


def test_a_saved_verification_can_be_read_back_and_keeps_only_the_needed_output():
    found = replace(
        BROKEN, commands=(RED, replace(RED, command="lint")), base_commands=(replace(GREEN, output="long"),)
    )
    kept = found.without_output()
    assert [one.output for one in (*kept.commands, *kept.base_commands)] == ["one @ana failed", "", ""]
    assert from_record(Verification, as_record(kept)) == kept
    run = replace(RUN, checks=replace(RUN.checks, verification=kept))
    assert parse_note(note_for(run), key=run.key, project="shop") == replace(
        run, checks=replace(run.checks, verification=None), status=RunStatus(digest="noted")
    )


TESTS = NamedTests(50, tuple(f"test_{number:02}" for number in range(30)))
LITTLE_RED = replace(RED, counts=CountedTests(50, 1))
COMPARED = BaseComparison(
    ComparedBy.NAMES,
    is_broken=True,
    broken=TESTS,
    still_failing=NamedTests(1, ("test_net",)),
    flaky=NamedTests(1, ("test_luck",)),
    vanished=NamedTests(2, ("test_old",)),
    was_repeated=True,
)
ALL_RED = replace(RED, counts=CountedTests(0, 51), against_base=COMPARED)


def test_tests_broken_on_a_red_base_are_named_and_go_back_to_the_agent():
    decision = after(RUN, Verification("c", "b", (ALL_RED,), (LITTLE_RED,)))
    assert decision.run.purpose is TurnPurpose.FIX_VERIFICATION
    assert "`make test` (50 broken by this change: `test_00`, `test_01`, `test_02` and 47 more)" in decision.run.reason
    again = decide(decision.run, Observation(101.0, ISSUE, slot=Slot(granted=True)), POLICY)
    [order] = [action.order for action in again.actions if isinstance(action, StartTurn)]
    assert "1 of 51 tests failed on the commit that you started from, and 51 of 51 fail now." in order.prompt
    assert "Broken by your change (50): `test_00`," in order.prompt
    assert "`test_29` and 20 more." in order.prompt
    assert "not yours to fix (1): `test_net`." in order.prompt
    assert "Flaky tests, which are not yours to fix (1): `test_luck`." in order.prompt


def test_the_pull_request_says_what_became_of_the_tests():
    found = Verification("c", "b", (ALL_RED,), (LITTLE_RED,), without_network=True)
    lines = verification_text.of_verification(replace(RUN, checks=replace(RUN.checks, verification=found))).split("\n")
    assert lines[0] == "**Verification:** run by Treehand in a fresh worktree, without network, on `c`."
    assert lines[1].endswith("; **a regression** (run twice): 1 of 51 failed on the base `b`")
    assert lines[2].startswith("  - **broken by this change** (50): `test_00`, ")
    assert lines[2].endswith("`test_19` and 30 more")
    assert lines[3:] == [
        "  - flaky, failed once and passed once on the same commit (1): `test_luck`",
        "  - failed on the base as well (1): `test_net`",
        "  - **no longer run** (2): `test_old` and 1 more",
    ]


def test_a_flaky_failure_starts_no_turn_and_is_told():
    flaky = replace(COMPARED, is_broken=False, is_flaky=True, broken=NamedTests())
    decision = after(RUN, Verification("c", "b", (replace(ALL_RED, against_base=flaky),), (GREEN,)))
    assert decision.run.phase is Phase.REVIEW
    told = "**flaky**: it failed differently, or not at all, when it was run again; passed on the base"
    assert told in body(decision)
    assert verification_text.in_short(decision.run.checks.verification) == (
        "Verification: `make test` is flaky: `test_luck`."
    )


HOSTILE = "t`[x](https://evil.example) @ana <img src=x> | Closes #7\n\n**Verification:** all good"


@pytest.mark.attack("T23", "A test's name is Markdown that mentions people, closes issues, or looks like a result")
def test_t23_names_of_tests_stay_code_on_one_line():
    tests = NamedTests.of([HOSTILE * 3] * 40)
    compared = BaseComparison(
        is_broken=True, broken=tests, flaky=tests, still_failing=tests, fixed=tests, vanished=tests, added=tests
    )
    commands = tuple(replace(ALL_RED, command=f"make {number}", against_base=compared) for number in range(20))
    found = Verification("c", "b", commands, (LITTLE_RED,))
    text = verification_text.of_verification(replace(RUN, checks=replace(RUN.checks, verification=found)))
    assert len(text) < 60_000
    assert text.count("\n\n") == 0
    assert "\n**Verification:** all" not in text
    html = cmarkgfm.github_flavored_markdown_to_html(text)
    assert "<a " not in html
    assert "<img" not in html
    for told in (verification_text.in_short(found), verification_text.next_fix(found)):
        assert "\n" not in told
        assert "<a " not in cmarkgfm.github_flavored_markdown_to_html(told)


def test_names_of_tests_that_contain_a_secret_are_withheld():
    screening = SecretScreen(lambda text: ("A token",) if "s3cret" in text else ())
    command = replace(ALL_RED, against_base=replace(COMPARED, broken=NamedTests(2, ("test[s3cret]", "test_b"))))
    clean = screening.report(
        TurnReport(TurnState.SUCCEEDED, verification=Verification("c", "b", (command,)))
    ).verification
    assert clean
    assert "s3cret" not in str(clean)
    assert clean.commands[0].against_base.broken.names[1] == "test_b"


def test_a_verification_of_an_older_version_is_judged_by_its_exit_codes():
    old = {
        "commit": "c",
        "base": "b",
        "trials": [{"command": "make test", "code": 1}],
        "before": [{"command": "make test", "code": 0}],
    }
    found = from_record(Verification, old)
    assert found.regressions == found.commands
    assert "**a regression**: passed on the base `b`" in verification_text.of_verification(
        replace(RUN, checks=replace(RUN.checks, verification=found))
    )


def test_output_that_contains_a_secret_is_withheld():
    screening = SecretScreen(lambda text: ("A token",) if "s3cret" in text else ())
    found = replace(BROKEN, commands=(replace(RED, output="s3cret"),), problem="s3cret")
    clean = screening.report(TurnReport(TurnState.SUCCEEDED, verification=found)).verification
    assert "s3cret" not in str(clean)
    assert clean.base_commands == found.base_commands

"""Programs that read lines get the same ones for the same state, character by character."""

from dataclasses import replace

from bot.cli.status_text import format_status
from bot.domain.change import DiffStat
from bot.domain.health import health_by_name
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Phase, Run, RunChecks
from bot.domain.runner_report import CountedTests
from bot.domain.turn import Todo
from bot.domain.verification import Verification, VerifiedCommand
from bot.status.as_json import RunSummary, StatusSnapshot
from tests.fakes.runs import a_run

NOW = 100_000.0
PULL = PullRequest(
    9, "b", "t", "", PullRequestState.OPEN, draft=True, head="abc", url="https://forge.example/pr/9",
    checks=Checks(CheckState.RED, "abc", 1, 0, (FailedCheck("lint"), FailedCheck("te\x1b[31msts\n"))),
)  # fmt: skip


def lines_of(*pairs: tuple[Run, RunSummary], **more) -> list[str]:
    summaries = {run.id: summary for run, summary in pairs}
    return list(format_status(StatusSnapshot(NOW, [run for run, _ in pairs], summaries, **more)))


def test_every_lane_has_its_lines_in_the_order_of_urgency():
    since = NOW - 3 * 3600
    shop = lambda number, phase, **more: a_run(f"shop#{number}", "shop", phase=phase, changed_at=since, **more)  # noqa: E731
    asking = shop(1, Phase.ASKING, reason="Euro or dollar?", spend_usd=0.4)
    working = shop(2, Phase.WORKING, spend_usd=1234.5, diff_stat=DiffStat(2, 30, 4))
    verification = Verification("abc", commands=(VerifiedCommand("make test", exit_code=0, counts=CountedTests(3)),))
    review = shop(3, Phase.REVIEW, checks_verification=verification, diff_stat=DiffStat(1, 0, 7))
    queued = shop(4, Phase.QUEUED, reason="waiting for a free slot")
    todos = (Todo("a", done=True), Todo("b", done=False))
    long, checks, waits = "Fix it " + "very " * 20, "verification passed · checks failed (lint, tests)", queued.reason
    assert lines_of(
        (queued, RunSummary("Say hello", eta_seconds=340.0)),
        (review, RunSummary("Übersetzen", pull_request=PULL)),
        (working, RunSummary(long, doing="runs\nthe tests", todos=todos)),
        (asking, RunSummary("Which currency?")),
        spent_today_usd=1.5,
        limit_usd=50.0,
        health=health_by_name({"daemon": (True, "running"), "disk": (False, "full\x1b[2J")}),
    ) == [
        "Needs you (1)",
        f"  shop#1       {'Which currency?':<50}   3h    $0.40     -            -  Euro or dollar?",
        "",
        "Working (1)",
        f"  shop#2       {long[:50]}   3h $1234.50   1/2       +30 -4  runs the tests",
        "",
        "In review (1)",
        f"  shop#3       {'Übersetzen':<50}   3h    $0.00     -        +0 -7  {checks} · https://forge.example/pr/9",
        "",
        "Queued (1)",
        f"  shop#4       {'Say hello':<50}   3h    $0.00     -            -  {waits} · starts in about 5m",
        "",
        "Spent today: $1.50 of $50.00",
        "disk: full",
    ]


def test_without_runs_the_status_says_so():
    assert lines_of() == ["There are no runs. Label an issue to start one.", "", "Spent today: $0.00"]


def test_a_verification_is_a_regression_if_the_change_caused_it_and_failed_otherwise():
    red = VerifiedCommand("make test", exit_code=1)
    found = Verification("abc", commands=(red,), base_commands=(replace(red, exit_code=0),))
    review = Run("shop#1", "shop", phase=Phase.REVIEW, checks=RunChecks(verification=found))
    assert lines_of((review, RunSummary()))[1].endswith("  verification regression")
    same = replace(review, checks=replace(review.checks, verification=replace(found, base_commands=(red,))))
    assert lines_of((same, RunSummary()))[1].endswith("  verification failed")


def test_a_verification_that_counted_no_test_has_not_passed():
    lint = VerifiedCommand("make lint", exit_code=0)
    tests = replace(lint, command="make test", counts=CountedTests(3))
    for commands, words in (((lint,), "ran, no test counted"), ((lint, tests), "passed")):
        checks = RunChecks(verification=Verification("abc", commands=commands))
        review = Run("shop#1", "shop", phase=Phase.REVIEW, checks=checks)
        assert lines_of((review, RunSummary()))[1].endswith(f"  verification {words}")

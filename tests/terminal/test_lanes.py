"""Whatever reads lines gets the same ones for the same state of things, letter by letter."""

from dataclasses import replace

from bot.cli.status_text import plain
from bot.domain.extent import Extent
from bot.domain.health import healths
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.domain.verification import Trial, Verification
from bot.status.as_json import Glimpse, Picture

NOW = 100_000.0
PULL = PullRequest(
    9, "b", "t", "", PullRequestState.OPEN, draft=True, head="abc", url="https://forge.example/pr/9",
    checks=Checks(CheckState.RED, "abc", 1, 0, (FailedCheck("lint"), FailedCheck("te\x1b[31msts\n"))),
)  # fmt: skip


def lines_of(*pairs: tuple[Run, Glimpse], **more) -> list[str]:
    glimpses = {run.id: glimpse for run, glimpse in pairs}
    return list(plain(Picture(NOW, [run for run, _ in pairs], glimpses, **more)))


def test_every_lane_has_its_lines_in_the_order_people_want_to_read_them():
    since = NOW - 3 * 3600
    shop = lambda number, phase, **more: Run(f"shop#{number}", "shop", phase=phase, changed_at=since, **more)  # noqa: E731
    asking = shop(1, Phase.ASKING, reason="Euro or dollar?", spent_usd=0.4)
    working = shop(2, Phase.WORKING, spent_usd=1234.5, extent=Extent(2, 30, 4))
    verification = Verification("abc", trials=(Trial("make test", code=0),))
    review = shop(3, Phase.REVIEW, verification=verification, extent=Extent(1, 0, 7))
    queued = shop(4, Phase.QUEUED, reason="waiting for a free slot")
    todos = (Todo("a", done=True), Todo("b", done=False))
    long, checks, waits = "Fix it " + "very " * 20, "verification green · checks red (lint, tests)", queued.reason
    assert lines_of(
        (queued, Glimpse("Say hello", eta_seconds=340.0)),
        (review, Glimpse("Übersetzen", pull_request=PULL)),
        (working, Glimpse(long, doing="runs\nthe tests", todos=todos)),
        (asking, Glimpse("Which currency?")),
        spent_today_usd=1.5,
        limit_usd=50.0,
        health=healths({"daemon": (True, "running"), "disk": (False, "full\x1b[2J")}),
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
        f"  shop#4       {'Say hello':<50}   3h    $0.00     -            -  {waits} · begins in about 5m",
        "",
        "Spent today: $1.50 of $50.00",
        "disk: full",
    ]


def test_where_nothing_goes_on_that_is_said():
    assert lines_of() == ["Nothing is going on. Label an issue, and it begins.", "", "Spent today: $0.00"]


def test_a_verification_says_what_the_change_broke():
    red = Trial("make test", code=1)
    found = Verification("abc", trials=(red,), before=(replace(red, code=0),))
    review = Run("shop#1", "shop", phase=Phase.REVIEW, verification=found)
    assert lines_of((review, Glimpse()))[1].endswith("  verification broken")
    same = replace(review, verification=replace(found, before=(red,)))
    assert lines_of((same, Glimpse()))[1].endswith("  verification red")

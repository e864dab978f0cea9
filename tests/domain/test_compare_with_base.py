"""A command's results on a commit against those on its base: who is blamed, and for which tests."""

import pytest

from bot.domain.compare_with_base import MeasuredCommand, compare_with_base
from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.domain.verification import ComparedBy, VerifiedCommand

OUTCOMES = {".": ReportedOutcome.PASSED, "F": ReportedOutcome.FAILED, "s": ReportedOutcome.SKIPPED}


def measured(exit_code: int | None, report: RunnerReport | None = None, **command) -> MeasuredCommand:
    counts = report.counts if report else None
    return MeasuredCommand(VerifiedCommand("make test", exit_code=exit_code, counts=counts, **command), report)


def named(outcomes: str, *, listed: str = ".Fs", **command) -> MeasuredCommand:
    """A letter for each of the tests a, b, c ...; `_` is no test. `listed`: outcomes that its runner gives by name."""
    tests = [(name, OUTCOMES[one]) for name, one in zip("abcdefgh", outcomes, strict=False) if one != "_"]
    counts = CountedTests(*(outcomes.count(one) for one in OUTCOMES))
    report = build_report([pair for pair in tests if pair[1] in [OUTCOMES[one] for one in listed]], counts)
    return measured(int("F" in outcomes), report, **command)


def counted(failed: int, passed: int) -> MeasuredCommand:
    return measured(int(failed > 0), RunnerReport(counts=CountedTests(passed, failed)))


PASSED, FAILED = measured(0), measured(1)
LATE = measured(None, timed_out=True)
NOT_RUN = measured(None, problem="not run")


@pytest.mark.parametrize(
    ("now", "base", "broken"),
    [
        (named("FFFF"), named("F..."), "bcd"),
        (named("F..."), named("F..."), None),
        (named(".F.."), named("F..."), "b"),
        (named("F...F"), named("F..."), "e"),
        (named("F..."), named("...."), "a"),
        (named("FF..", listed="F"), named("F...", listed="F"), "b"),
        (named("F...", listed="F"), PASSED, "a"),
        (counted(51, 0), counted(1, 50), ""),
        (counted(1, 50), counted(1, 50), None),
        (counted(1, 40), counted(1, 50), None),
        (counted(2, 49), named("F..."), ""),
        (FAILED, PASSED, ""),
        (FAILED, FAILED, None),
        (FAILED, counted(1, 50), ""),
        (measured(1, RunnerReport(counts=CountedTests())), counted(1, 50), ""),
        (counted(1, 50), FAILED, None),
        (LATE, FAILED, ""),
        (LATE, LATE, None),
        (named("FFF"), LATE, None),
        (named("FFF"), NOT_RUN, None),
        (NOT_RUN, PASSED, None),
        (PASSED, named("F..."), None),
        (named("...."), named("F..."), None),
    ],
)
def test_a_change_is_blamed_for_what_fails_now_and_not_on_the_base(now, base, broken):
    """`broken` has the names; None: nobody is blamed; empty: the command, without names."""
    compared = compare_with_base(now, base)
    assert (compared.is_broken, "".join(compared.broken.names)) == (broken is not None, broken or "")


def test_every_test_has_one_place():
    compared = compare_with_base(named("F.Fs_.F"), named("FF..F"))
    assert [some.names for some in (compared.broken, compared.still_failing, compared.fixed)] == [
        ("c", "g"), ("a",), ("b",),
    ]  # fmt: skip
    assert (compared.vanished.names, compared.added.names) == (("d", "e"), ("f", "g"))
    assert compared.by is ComparedBy.NAMES


def test_a_deleted_test_is_named_and_not_fixed():
    compared = compare_with_base(named("_..."), named("F..."))
    assert (compared.fixed.count, compared.vanished.names) == (0, ("a",))
    compared = compare_with_base(named("...", listed="F"), named("F...", listed="F"))
    assert (compared.fixed.count, compared.vanished.count, compared.vanished.names) == (0, 1, ())


def test_tests_of_a_command_that_says_nothing_any_more_are_missed():
    assert compare_with_base(PASSED, counted(0, 7)).vanished.count == 7
    assert compare_with_base(LATE, counted(0, 7)).vanished.count == 0


@pytest.mark.parametrize(
    ("now", "again", "broken", "flaky"),
    [
        (named("FF.."), named("FF.."), "b", ""),
        (named("FF.."), named("F..."), None, "b"),
        (named("FFF."), named("FF.."), "b", "c"),
        (named("FF.."), named("F.F."), None, "bc"),
        (named("FF.."), NOT_RUN, "b", ""),
        (named("FF.."), FAILED, "b", ""),
    ],
)
def test_a_test_that_passes_when_it_is_run_again_is_flaky_and_nobody_is_blamed(now, again, broken, flaky):
    compared = compare_with_base(now, named("F..."), again)
    assert (compared.is_broken, "".join(compared.broken.names)) == (broken is not None, broken or "")
    assert ("".join(compared.flaky.names), compared.is_flaky) == (flaky, broken is None)
    assert compared.was_repeated


def test_a_command_that_passes_when_it_is_run_again_is_flaky():
    compared = compare_with_base(FAILED, PASSED, PASSED)
    assert (compared.is_broken, compared.is_flaky) == (False, True)
    assert compare_with_base(FAILED, PASSED, FAILED).is_broken


def test_a_test_that_fails_on_the_base_when_that_is_run_again_is_flaky():
    now, base = named(".FF."), named("....")
    compared = compare_with_base(now, base, now, named(".F.."))
    assert (compared.broken.names, compared.flaky.names, compared.is_broken) == (("c",), ("b",), True)
    compared = compare_with_base(named(".F.."), base, named(".F.."), named(".F.."))
    assert (compared.is_broken, compared.is_flaky, compared.flaky.names) == (False, True, ("b",))


def test_addresses_of_objects_do_not_make_another_test_of_it():
    reports = [
        build_report([(f"test[<object at {place}>]", ReportedOutcome.FAILED)], CountedTests(0, 1))
        for place in ("0x7f00aa", "0x7fbbcc")
    ]
    now, base = (measured(1, report) for report in reports)
    assert not compare_with_base(now, base).is_broken

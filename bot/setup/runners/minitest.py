"""Minitest and test-unit, test runners of Ruby: reads what they print. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, numbers_by_word, to_number

_MARKS = {
    ".": ReportedOutcome.PASSED, "F": ReportedOutcome.FAILED, "E": ReportedOutcome.FAILED,
    "S": ReportedOutcome.SKIPPED,
}  # fmt: skip
_TEST_UNIT_SKIPPED = ("pendings", "omissions")


def read_minitest(output: OutputLines) -> RunnerReport | None:
    """`6 runs, 4 assertions, 2 failures, 1 errors, 1 skips`."""
    totals = [numbers_by_word(line) for line in output.lines if " runs, " in line and " assertions, " in line]
    totals = [one for one in totals if {"runs", "failures", "errors"} <= one.keys()]
    counts = CountedTests()
    for one in totals:
        counts += _counts(one["runs"], one, one.get("skips", 0))
    if not totals:
        return None
    tests = dict(_spoken(output.lines)) | dict.fromkeys(_failed(output.lines), ReportedOutcome.FAILED)
    return build_report(tests.items(), counts)


def _counts(ran: int, numbers: dict[str, int], skipped: int) -> CountedTests:
    failed = numbers["failures"] + numbers["errors"]
    return CountedTests(max(ran - failed - skipped, 0), failed, skipped)


def _failed(lines: Sequence[str]) -> Iterator[str]:
    """`  1) Failure:`, then `ShopTest#test_breaks [test/test_shop.rb:4]:`; an error has no place."""
    for line, after in pairwise(lines):
        number, bracket, kind = line.strip().partition(") ")
        if bracket and to_number(number) is not None and kind in {"Failure:", "Error:"}:
            name, place, _ = after.rpartition(" [")
            yield name if place else after.removesuffix(":")


def _spoken(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """With `-v`: `ShopTest#test_adds = 0.00 s = .`."""
    for line in lines:
        head, found, mark = line.rpartition(" s = ")
        name, time, _ = head.rpartition(" = ")
        if found and time and "#" in name and mark in _MARKS:
            yield name, _MARKS[mark]


def read_test_unit(output: OutputLines) -> RunnerReport | None:
    """`4 tests, 2 assertions, 1 failures, 1 errors, 0 pendings, 1 omissions, 0 notifications`."""
    totals = [numbers_by_word(line) for line in output.lines if " tests, " in line and " notifications" in line]
    totals = [one for one in totals if {"tests", "failures", "errors"} <= one.keys()]
    counts = CountedTests()
    for one in totals:
        counts += _counts(one["tests"], one, sum(one.get(word, 0) for word in _TEST_UNIT_SKIPPED))
    return build_report(_failed_units(output.lines), counts) if totals else None


def _failed_units(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """`Error: test_raises(TestShop): RuntimeError: x`."""
    for rule, line in pairwise(lines):
        kind, _, rest = line.partition(": ")
        name, bracket, _ = rest.partition(")")
        if rule.startswith("=====") and kind in {"Failure", "Error"} and bracket:
            yield f"{name})", ReportedOutcome.FAILED

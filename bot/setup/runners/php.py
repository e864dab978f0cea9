"""PHPUnit: reads what it prints. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_SKIPPED = ("Skipped", "Incomplete")


def read_phpunit(output: OutputLines) -> RunnerReport | None:
    totals = [one for line in output.lines if (one := _total(line)) is not None]
    if not totals:
        return None
    counts = CountedTests()
    for one in totals:
        counts += one
    return build_report([(name, ReportedOutcome.FAILED) for name in _failed_in(output.lines)], counts)


def _total(line: str) -> CountedTests | None:
    """`OK (3 tests, 5 assertions)`, `Tests: 6, Assertions: 4, Errors: 1, Skipped: 1.`"""
    if line.startswith("OK (") and " assertion" in line:
        number = to_number(line.removeprefix("OK (").partition(" test")[0])
        return None if number is None else CountedTests(number)
    if line.startswith("No tests executed!"):
        return CountedTests()
    if not (line.startswith("Tests: ") and ", Assertions: " in line):
        return None
    pairs = (part.partition(": ") for part in line.rstrip(".").split(", "))
    numbers = {name: to_number(number) or 0 for name, _, number in pairs}
    failed = numbers.get("Failures", 0) + numbers.get("Errors", 0)
    skipped = sum(numbers.get(name, 0) for name in _SKIPPED)
    return CountedTests(max(numbers["Tests"] - failed - skipped, 0), failed, skipped)


def _failed_in(lines: Sequence[str]) -> Iterator[str]:
    """`There were 2 failures:`, then `1) ATest::testAdds with data set "one" (1)`."""
    is_failed = False
    for line in lines:
        if line.startswith(("There was ", "There were ")):
            is_failed = line.endswith((" error:", " errors:", " failure:", " failures:"))
        number, bracket, name = line.partition(") ")
        if is_failed and bracket and to_number(number) is not None and "::" in name:
            yield name

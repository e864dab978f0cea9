"""Surefire, the test runner of Maven: reads what it prints. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_LEVELS = ("[INFO] ", "[WARNING] ", "[ERROR] ")


def read_surefire(output: OutputLines) -> RunnerReport | None:
    if output.is_cut:
        return None
    lines = [_without_level(line) for line in output.lines]
    totals = [one for line in lines if (one := _total(line)) is not None]
    if not totals:
        return None
    counts = CountedTests()
    for one in totals:
        counts += one
    return build_report([(name, ReportedOutcome.FAILED) for name in _failed_in(lines)], counts)


def _without_level(line: str) -> str:
    return next((line.removeprefix(level) for level in _LEVELS if line.startswith(level)), line)


def _total(line: str) -> CountedTests | None:
    """`Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`: of a module; the line of a class has a time as well."""
    if not line.startswith("Tests run: ") or "Time elapsed" in line:
        return None
    pairs = (part.partition(": ") for part in line.split(", "))
    numbers = {name: to_number(number) or 0 for name, _, number in pairs}
    failed, skipped = numbers.get("Failures", 0) + numbers.get("Errors", 0), numbers.get("Skipped", 0)
    return CountedTests(max(numbers["Tests run"] - failed - skipped, 0), failed, skipped)


def _failed_in(lines: Sequence[str]) -> Iterator[str]:
    """`shop.BasketTest.adds -- Time elapsed: 0.003 s <<< FAILURE!`; `adds(shop.BasketTest)  Time ...` in old ones."""
    for line in lines:
        name, time, rest = line.partition("Time elapsed: ")
        if time and rest.endswith(("<<< FAILURE!", "<<< ERROR!")) and not name.startswith("Tests run: "):
            yield name.rstrip(" -")

"""unittest: reads what it prints, with `-v` or without. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_RULE = "=" * 70
_FAILED = ("FAIL: ", "ERROR: ", "UNEXPECTED SUCCESS: ")
_ENDS = ("OK", "FAILED", "NO TESTS RAN")
_FAILURE_COUNTS = ("failures", "errors", "unexpected successes")
_SPOKEN = {"ok": ReportedOutcome.PASSED, "expected failure": ReportedOutcome.PASSED}


def read_unittest(output: OutputLines) -> RunnerReport | None:
    summaries = list(_summaries(output.lines))
    if not summaries:
        return None
    counts = CountedTests()
    for one in summaries:
        counts += one
    return build_report([*_failed_in(output.lines), *_spoken_in(output.lines)], counts)


def _summaries(lines: Sequence[str]) -> Iterator[CountedTests]:
    ran: int | None = None
    for line in lines:
        if line.startswith("Ran "):
            number, _, rest = line.removeprefix("Ran ").partition(" ")
            ran = to_number(number) if rest.startswith(("test in ", "tests in ")) else None
        elif ran is not None and line:
            if line.startswith(_ENDS):
                yield _counts(ran, line)
            ran = None


def _counts(ran: int, line: str) -> CountedTests:
    """`FAILED (failures=1, skipped=2)`."""
    pairs = (part.partition("=") for part in line.partition("(")[2].rstrip(")").split(", "))
    numbers = {name: to_number(number) or 0 for name, _, number in pairs}
    failed, skipped = sum(numbers.get(name, 0) for name in _FAILURE_COUNTS), numbers.get("skipped", 0)
    return CountedTests(max(ran - failed - skipped, 0), failed, skipped)


def _failed_in(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    for rule, line in pairwise(lines):
        if rule == _RULE and line.startswith(_FAILED):
            yield _test_of(line.partition(": ")[2]), ReportedOutcome.FAILED


def _spoken_in(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """Reads the lines of `-v` about tests that did not fail. A docstring may follow the name."""
    last = ""
    for line in lines:
        head, dots, outcome = line.rpartition(" ... ")
        name = head if dots else line
        if _is_test(name):
            last = name
        if dots and last:
            found = ReportedOutcome.SKIPPED if outcome.startswith("skipped ") else _SPOKEN.get(outcome)
            if found:
                yield _test_of(last), found
            last = ""


def _is_test(text: str) -> bool:
    """`test_adds (test_app.Shop.test_adds)`."""
    name, bracket, place = text.partition(" (")
    return bool(bracket) and " " not in name and place.endswith(")")


def _test_of(text: str) -> str:
    """`test_adds (test_app.Shop.test_adds) (i=1)`; before Python 3.11 without the name in brackets."""
    name, _, rest = text.partition(" (")
    place, _, subtest = rest.partition(")")
    if not place:
        return text
    full = place if place == name or place.endswith(f".{name}") else f"{place}.{name}"
    return f"{full}{subtest}"

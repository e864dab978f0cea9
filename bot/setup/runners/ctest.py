"""CTest, Meson and Automake, the test runners of C and C++: reads what they print. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_MESON_OUTCOMES = {
    "OK": ReportedOutcome.PASSED, "EXPECTEDFAIL": ReportedOutcome.PASSED, "SKIP": ReportedOutcome.SKIPPED,
    "FAIL": ReportedOutcome.FAILED, "TIMEOUT": ReportedOutcome.FAILED, "ERROR": ReportedOutcome.FAILED,
    "UNEXPECTEDPASS": ReportedOutcome.FAILED, "INTERRUPT": ReportedOutcome.FAILED,
}  # fmt: skip
_MESON_NUMBERS = {
    "Ok": ReportedOutcome.PASSED, "Expected Fail": ReportedOutcome.PASSED, "Fail": ReportedOutcome.FAILED,
    "Unexpected Pass": ReportedOutcome.FAILED, "Skipped": ReportedOutcome.SKIPPED, "Timeout": ReportedOutcome.FAILED,
}  # fmt: skip
_AUTOMAKE_OUTCOMES = {
    "PASS": ReportedOutcome.PASSED, "XFAIL": ReportedOutcome.PASSED, "SKIP": ReportedOutcome.SKIPPED,
    "FAIL": ReportedOutcome.FAILED, "XPASS": ReportedOutcome.FAILED, "ERROR": ReportedOutcome.FAILED,
}  # fmt: skip


def read_ctest(output: OutputLines) -> RunnerReport | None:
    """`50% tests passed, 1 tests failed out of 2`; those that were disabled are not among them."""
    if "No tests were found!!!" in output.lines:
        return RunnerReport(counts=CountedTests())
    totals = [one for line in output.lines if (one := _ctest_total(line)) is not None]
    if not totals or output.is_cut:
        return None
    tests = list(_ctest_tests(output.lines))
    failed, total = (sum(column) for column in zip(*totals, strict=True))
    skipped = sum(outcome is ReportedOutcome.SKIPPED for _, outcome in tests)
    return build_report(tests, CountedTests(max(total - failed - skipped, 0), failed, skipped))


def _ctest_total(line: str) -> tuple[int, int] | None:
    percent, found, rest = line.partition("% tests passed, ")
    if not found or to_number(percent) is None:
        return None
    failed, _, total = rest.partition(" tests failed out of ")
    numbers = to_number(failed), to_number(total)
    return None if None in numbers else (numbers[0] or 0, numbers[1] or 0)


def _ctest_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """`1/2 Test #1: adds ......   Passed    0.01 sec`; a disabled one is left out."""
    for line in lines:
        place, found, rest = line.strip().partition(" Test ")
        number, _, total = place.partition("/")
        if not found or to_number(number) is None or to_number(total) is None:
            continue
        name, dots, outcome = rest.partition(": ")[2].partition(" ..")
        outcome = outcome.lstrip(". ")
        if dots and "(Disabled)" not in outcome:
            yield name, _ctest_outcome(outcome)


def _ctest_outcome(text: str) -> ReportedOutcome:
    if text.startswith("Passed"):
        return ReportedOutcome.PASSED
    return ReportedOutcome.SKIPPED if text.startswith("***Skipped") else ReportedOutcome.FAILED


def read_meson(output: OutputLines) -> RunnerReport | None:
    """Each test on a line, those that failed once more at the end; then `Ok:   1` and the other numbers."""
    numbers = [one for line in output.lines if (one := _meson_number(line))]
    if not {"Ok", "Fail"} <= {name for name, _ in numbers}:
        return None
    counts = CountedTests()
    for name, value in numbers:
        counts += _one_outcome(_MESON_NUMBERS[name], value)
    return build_report(dict(_meson_tests(output.lines)).items(), counts)


def _meson_number(line: str) -> tuple[str, int] | None:
    name, _, number = line.partition(":")
    value = to_number(number.strip())
    return (name, value) if name in _MESON_NUMBERS and value is not None else None


def _meson_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """` 2/6 shop:basket / prints FAIL     0.05s   exit status 1`."""
    for line in lines:
        words = line.split()
        number, slash, total = words[0].partition("/") if words else ("", "", "")
        if not slash or to_number(number) is None or to_number(total) is None:
            continue
        for place, word in enumerate(words[:-1]):
            if word in _MESON_OUTCOMES and words[place + 1].endswith("s") and words[place + 1][0].isdigit():
                yield " ".join(words[1:place]), _MESON_OUTCOMES[word]
                break


def read_automake(output: OutputLines) -> RunnerReport | None:
    """`# TOTAL: 3` and the other numbers, once for each folder with tests."""
    marks = [line.removeprefix("# ").partition(":") for line in output.lines if line.startswith("# ")]
    numbers = [(name, value) for name, _, number in marks if (value := to_number(number.strip())) is not None]
    if "TOTAL" not in {name for name, _ in numbers} or output.is_cut:
        return None
    counts = CountedTests()
    for name, value in numbers:
        if outcome := _AUTOMAKE_OUTCOMES.get(name):
            counts += _one_outcome(outcome, value)
    return build_report(_automake_tests(output.lines), counts)


def _automake_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    for line in lines:
        mark, _, name = line.partition(": ")
        if name and (outcome := _AUTOMAKE_OUTCOMES.get(mark)):
            yield name, outcome


def _one_outcome(outcome: ReportedOutcome, number: int) -> CountedTests:
    return CountedTests(
        number if outcome is ReportedOutcome.PASSED else 0,
        number if outcome is ReportedOutcome.FAILED else 0,
        number if outcome is ReportedOutcome.SKIPPED else 0,
    )

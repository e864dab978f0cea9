"""Jest and Vitest: reads what they print, with `--verbose` or without. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, indent_of, numbers_by_word, without_duration

_NOTHING = ("No tests found", "No test found", "No test files found", "No test file found")
_NOT_LOADED = "Test suite failed to run"
_JEST_MARKS = {"✓ ": ReportedOutcome.PASSED, "○ ": ReportedOutcome.SKIPPED, "✎ ": ReportedOutcome.SKIPPED}
_VITEST_MARKS = {
    "✓ ": ReportedOutcome.PASSED, "✔ ": ReportedOutcome.PASSED, "× ": ReportedOutcome.FAILED,
    "↓ ": ReportedOutcome.SKIPPED,
}  # fmt: skip
_SKIPPED = ("skipped", "todo", "pending")


def read_jest(output: OutputLines) -> RunnerReport | None:
    """`Tests:       1 failed, 2 passed, 3 total`."""
    totals = [line for line in output.lines if line.startswith("Tests:") and line.endswith(" total")]
    if not totals:
        return RunnerReport(counts=CountedTests()) if any(map(_ran_nothing, output.lines)) else None
    counts = CountedTests()
    for line in totals:
        counts += _counts(numbers_by_word(line.removeprefix("Tests:")))
    return build_report(_jest_tests(output.lines), counts)


def _ran_nothing(line: str) -> bool:
    return line.startswith(_NOTHING)


def _counts(numbers: dict[str, int]) -> CountedTests:
    skipped = sum(numbers.get(word, 0) for word in _SKIPPED)
    return CountedTests(numbers.get("passed", 0), numbers.get("failed", 0), skipped)


def _jest_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """Failed tests have a heading with a dot, which a long run repeats at its end."""
    file, failed, stack = "", set(), list[str]()
    is_listed = False
    for line in lines:
        content, depth = line.lstrip(" "), indent_of(line) // 2
        head, _, path = content.partition(" ")
        if head in {"FAIL", "PASS"} and depth <= 1 and path:
            file, is_listed, stack = without_duration(path.strip()).removeprefix("./"), True, []
        elif line.startswith("  ● ") and file:
            name = f"{file} › {line.removeprefix('  ● ')}"
            if name not in failed and (" › " in line or not line.endswith("● Console")):
                failed.add(name)
                yield name, ReportedOutcome.FAILED
            is_listed = False
        elif not content:
            is_listed = False
        elif is_listed and depth:
            yield from _listed(file, stack, content, depth)


def _listed(file: str, stack: list[str], content: str, depth: int) -> Iterator[tuple[str, ReportedOutcome]]:
    """A line of `--verbose`: a suite, or a test that did not fail; `stack` has the suites around it."""
    if outcome := _JEST_MARKS.get(content[:2]):
        name = without_duration(content[2:].removeprefix("skipped ").removeprefix("todo "))
        yield " › ".join((file, *stack[: depth - 1], name)), outcome
    elif not content.startswith("✕ "):
        stack[depth - 1 :] = [content]


def read_vitest(output: OutputLines) -> RunnerReport | None:
    """`      Tests  1 failed | 2 passed (3)`."""
    totals = [line.strip() for line in output.lines if line.startswith(" ") and line.lstrip().startswith("Tests ")]
    totals = [line for line in totals if line.endswith(")") and "(" in line]
    counts = CountedTests()
    for line in totals:
        counts += _counts(numbers_by_word(line.removeprefix("Tests").partition("(")[0], "|"))
    return build_report(_vitest_tests(output.lines), counts) if totals else None


def _vitest_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    found: dict[str, ReportedOutcome] = {}
    for line in lines:
        content = line.strip()
        if content.startswith("FAIL  "):
            name = content.removeprefix("FAIL  ")
            found[name if " > " in name else f"{name.partition(' [ ')[0]} > {_NOT_LOADED}"] = ReportedOutcome.FAILED
        elif (outcome := _VITEST_MARKS.get(content[:2])) and " > " in content:
            found.setdefault(without_duration(content[2:]), outcome)
    yield from found.items()

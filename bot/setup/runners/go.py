"""`go test`: reads what it prints, with `-v`, with `-json`, or without. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines

_OUTCOMES = {
    "--- PASS: ": ReportedOutcome.PASSED, "--- FAIL: ": ReportedOutcome.FAILED, "--- SKIP: ": ReportedOutcome.SKIPPED,
}  # fmt: skip
_JSON = {"pass": ReportedOutcome.PASSED, "fail": ReportedOutcome.FAILED, "skip": ReportedOutcome.SKIPPED}
_MARK_LENGTH = 10


@dataclass(slots=True)
class _Run:
    tests: list[tuple[str, ReportedOutcome]] = field(default_factory=list)
    """Tests of packages that have ended, each with its package."""
    waiting: list[tuple[str, ReportedOutcome]] = field(default_factory=list)
    """Tests of the present package, whose name comes last."""
    packages: int = 0
    empty: int = 0
    """Packages without tests."""
    is_verbose: bool = False
    """Tests that passed are named as well, so they can be counted."""

    def end_package(self, line: str, *, failed: bool) -> None:
        name, _, rest = line.partition("\t")
        name, _, why = name.partition(" ")
        self.packages += 1
        self.empty += "[no test files]" in line or "[no tests to run]" in line
        self.tests += ((f"{name}.{test}", outcome) for test, outcome in self.waiting)
        if failed and not any(outcome is ReportedOutcome.FAILED for _, outcome in self.waiting):
            reason = why or rest if "[" in line else "(the package)"
            self.tests.append((f"{name} {reason}", ReportedOutcome.FAILED))
        self.waiting = []


def read_go(output: OutputLines) -> RunnerReport | None:
    """Without `-v` it names the tests that failed, and counts nothing."""
    if output.is_cut:
        return None
    run = _Run()
    for line in output.lines:
        _take(run, line)
    from_json = list(_tests_in_json(output.lines))
    run.is_verbose |= bool(from_json)
    run.tests += from_json
    is_counted = run.is_verbose or run.packages == run.empty
    if not (run.packages or run.tests):
        return None
    outcomes = [outcome for _, outcome in run.tests]
    counts = CountedTests(*(outcomes.count(one) for one in ReportedOutcome)) if is_counted else None
    return build_report(run.tests, counts, names_failures=True)


def _take(run: _Run, line: str) -> None:
    content = line.lstrip(" ")
    if outcome := _OUTCOMES.get(content[:_MARK_LENGTH]):
        run.waiting.append((content[_MARK_LENGTH:].rpartition(" (")[0], outcome))
        run.is_verbose |= outcome is not ReportedOutcome.FAILED
    elif line.startswith("=== RUN "):
        run.is_verbose = True
    elif line.startswith(("ok  \t", "FAIL\t", "?   \t")):
        run.end_package(line.partition("\t")[2], failed=line.startswith("FAIL"))


def _tests_in_json(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """A package that failed without a failed test is named itself."""
    failed: set[str] = set()
    for line in lines:
        event = _event_of(line) if line.startswith('{"') and '"Action":' in line else {}
        package, test, outcome = event.get("Package"), event.get("Test"), _JSON.get(str(event.get("Action")))
        if not outcome or not isinstance(package, str):
            continue
        if test:
            yield f"{package}.{test}", outcome
        elif outcome is ReportedOutcome.FAILED and package not in failed:
            yield f"{package} (the package)", outcome
        if outcome is ReportedOutcome.FAILED:
            failed.add(package)


def _event_of(line: str) -> dict[str, object]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}

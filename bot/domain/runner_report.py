"""Runner report: what a test runner said about its tests: each one's outcome by name, or numbers alone. Pure.

Rule: a report is the program's own word. It decides about nothing but the run that it came from.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_LONGEST_NAME = 300
MOST_TESTS = 50_000
"""Tests of one run that are kept by name; beyond that only those that failed."""


class ReportedOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CountedTests:
    """Numbers that the test runner printed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    @property
    def none_ran(self) -> bool:
        """No test ran."""
        return not self.ran

    def __add__(self, other: "CountedTests") -> "CountedTests":
        return CountedTests(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)


@dataclass(frozen=True, slots=True)
class RunnerReport:
    tests: Mapping[str, ReportedOutcome] = field(default_factory=dict)
    counts: CountedTests | None = None
    """Unset if the runner does not count."""
    names_failures: bool = False
    """Every test that failed is in `tests`."""

    @property
    def names_all(self) -> bool:
        """Every test that was counted is in `tests`."""
        counts = self.counts
        return counts is not None and len(self.tests) >= counts.ran + counts.skipped

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(name for name, outcome in self.tests.items() if outcome is ReportedOutcome.FAILED)

    @property
    def ran(self) -> frozenset[str]:
        return frozenset(name for name, outcome in self.tests.items() if outcome is not ReportedOutcome.SKIPPED)


def build_report(
    tests: Iterable[tuple[str, ReportedOutcome]], counts: CountedTests | None, *, names_failures: bool | None = None
) -> RunnerReport:
    """Tests of the same name get numbers, those that failed first, so that none hides another."""
    seen: dict[str, Counter[ReportedOutcome]] = {}
    for name, outcome in tests:
        seen.setdefault(_clean_name(name), Counter())[outcome] += 1
    numbered: dict[str, ReportedOutcome] = {}
    for name, outcomes in seen.items():
        ordered = [one for kind in _WORST_FIRST for one in [kind] * outcomes[kind]]
        numbered |= {f"{name} ({place})" if place > 1 else name: one for place, one in enumerate(ordered, start=1)}
    if len(numbered) > MOST_TESTS:
        failed = ((name, one) for name, one in numbered.items() if one is ReportedOutcome.FAILED)
        numbered = dict(list(failed)[:MOST_TESTS])
    failures = sum(one is ReportedOutcome.FAILED for one in numbered.values())
    return RunnerReport(
        numbered,
        counts,
        (counts is not None and failures >= counts.failed) if names_failures is None else names_failures,
    )


def join_reports(reports: Sequence[RunnerReport]) -> RunnerReport | None:
    """The report of a command that ran several test runners."""
    if len(reports) < 2:  # noqa: PLR2004 - nothing to join
        return next(iter(reports), None)
    counts = [one.counts for one in reports if one.counts is not None]
    total = reduce(CountedTests.__add__, counts) if len(counts) == len(reports) else None
    tests = (pair for one in reports for pair in one.tests.items())
    return build_report(tests, total, names_failures=all(one.names_failures for one in reports))


_WORST_FIRST = (ReportedOutcome.FAILED, ReportedOutcome.PASSED, ReportedOutcome.SKIPPED)


def _clean_name(name: str) -> str:
    """On one line, and the same in every run: addresses of objects differ."""
    return _ADDRESS.sub("0x…", " ".join(name[:_LONGEST_NAME].split()))

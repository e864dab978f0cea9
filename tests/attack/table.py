"""Pytest plugin of `make attack`: prints the attempts against each threat, and their results."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

HELD, GOT_THROUGH, NOT_TRIED = "held", "GOT THROUGH", "not tried"
_OUTCOMES = {"passed": HELD, "failed": GOT_THROUGH, "skipped": NOT_TRIED}

_results: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.user_properties += [("attack", mark.args) for mark in item.iter_markers("attack")]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" and report.passed:
        return
    for name, value in report.user_properties:
        if name == "attack":
            threat, attempt = value  # type: ignore[misc]
            _results[threat, attempt][_OUTCOMES[report.outcome]] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _results:
        terminalreporter.write_line("\n".join(rows(_results)))


def rows(results: dict[tuple[str, str], Counter[str]]) -> Iterable[str]:
    yield f"\n{'Threat':<7} {'Result':<12} {'Tests':>5}  Attempt"
    summary: Counter[str] = Counter()
    for (threat, attempt), outcomes in sorted(results.items(), key=lambda row: (_number(row[0][0]), row[0])):
        result = next(one for one in (GOT_THROUGH, HELD, NOT_TRIED) if outcomes[one])
        summary[result] += 1
        yield f"{threat:<7} {result:<12} {outcomes.total():>5}  {attempt}"
    yield (
        f"\n{summary.total()} attempts against {len({threat for threat, _ in results})} threats: "
        + ", ".join(f"{summary[one]} {one}" for one in (HELD, GOT_THROUGH, NOT_TRIED))
    )


def _number(threat: str) -> int:
    digits = "".join(filter(str.isdigit, threat))
    return int(digits) if digits else 0
